// ProcessGroup: ranks that call collectives together.
//
// Users call the functions of distributed/collectives.h, which check their arguments, straighten strided
// tensors and hand dense ones to a group. This header is what makes a group, what a group tells about itself,
// and what a backend (shared memory, gloo) has to do.
//
// Every rank of a group calls the same collectives in the same order. Each call counts as the next in
// sequence, from 0. It ends within the group's timeout: done, or with a DistributedError that names the
// collective, its sequence number, dtype and shape, and the ranks that had not arrived. From then on the
// group is broken: whatever is called later, on any of its ranks, throws the first error at once. A call that
// is refused because of its arguments (tern::Error) has sent nothing and breaks nothing.
//
// Variables of the environment, read where a group is made:
//   TERN_DISTRIBUTED_SHARED_MEMORY=0   gloo's network path although all ranks are on one host
//   TERN_DISTRIBUTED_DEBUG=detail      compare calls before each collective (see compare_calls())
//   TERN_DISTRIBUTED_INTERFACE=name    the network interface to listen on (GLOO_SOCKET_IFNAME does as well)
#pragma once

#include <tern/core/tensor.h>
#include <tern/distributed/store.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tern::distributed {

/// How the ranks' elements become one. `avg` is the sum divided by the number of ranks, for floating-point
/// tensors only. Of bools min is "and", max is "or", product is "and"; they have no sum. A NaN wins every min
/// and max. float16 and bfloat16 are summed in float32 and rounded once; integers wrap around. Sums are taken
/// in the order of ranks, so all ranks get the same bits, on whatever path.
enum class ReduceOp : uint8_t { sum, avg, min, max, product };

std::string_view name(ReduceOp op);
std::ostream& operator<<(std::ostream& out, ReduceOp op);

/// A collective that was started. Until wait() returns, its tensors must neither be written nor, where they
/// are its result, be read. Work whose
/// handle is dropped goes on; when its group goes, it ends with an error.
class Work {
 public:
  virtual ~Work() = default;
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  /// Returns when the result is there; throws what the collective failed with (DistributedError for anything
  /// between ranks), each time it is called. Any thread.
  virtual void wait() = 0;
  /// Whether wait() would return or throw at once.
  virtual bool is_completed() const = 0;

 protected:
  Work() = default;
};

/// What one rank brings to a collective: what errors tell, and what must be equal on all ranks (sizes of
/// all_to_all_single apart, which may differ).
struct Call {
  const char* operation;  ///< "all_reduce": the name users know, a literal
  DType dtype = float32;
  Shape shape = {};  ///< of the tensor that all ranks bring alike
  std::optional<ReduceOp> op = {};
  int root = -1;             ///< the root's rank in the group, or the peer's of send and recv; -1: none
  bool is_compared = false;  ///< given by the group: compare_calls() as it was when the call was made
  int64_t sequence = -1;     ///< given by the group; messages between two ranks have a count of their own
};

/// "all_reduce (sequence 3, float32, [2, 3], sum)".
std::ostream& operator<<(std::ostream& out, const Call& call);

enum class CallState : uint8_t { queued, running, completed, failed };

/// A line of the recorder.
struct CallRecord {
  Call call;
  CallState state;
  std::chrono::system_clock::time_point start, end;  ///< each of the epoch until it came
};

/// Elements per rank.
using Counts = std::vector<int64_t>;

/// How long a collective may take, unless said otherwise.
inline constexpr Duration default_timeout = std::chrono::minutes(10);

struct ProcessGroupOptions {
  Duration timeout = default_timeout;
  /// Errors and keys in the store begin with it. Groups over one store need different names (or a
  /// prefix_store each), and a name can't be used again.
  std::string name = "group";
  /// The job's rank of each member, in the order of the group's ranks; empty: 0 to size - 1.
  std::vector<int> ranks = {};
  /// False: the network although all ranks are on one host. One rank that says so is enough.
  bool shared_memory = true;
  /// A host that the ranks can reach: the network path listens on the address that leads there. Empty:
  /// MASTER_ADDR of the environment.
  std::string reachable_host = {};
};

/// A group as one of its ranks sees it. Ranks are counted within the group: 0 to size() - 1; ranks() tells
/// which ranks of the job these are. Safe to use from several threads, if all ranks then still call in one
/// order.
class ProcessGroup {
 public:
  virtual ~ProcessGroup() = default;
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  const std::string& name() const { return name_; }
  Duration timeout() const { return timeout_; }
  /// The job's rank of each member.
  const std::vector<int>& ranks() const { return ranks_; }
  /// Throws Error for a rank, a size, ranks or a timeout that make no sense.
  static void check_arguments(int rank, int size, const ProcessGroupOptions& options);
  /// This group's rank of the job's rank `rank`. Throws Error, beginning with `operation`, when it is no
  /// member.
  int rank_of(int rank, const char* operation) const;
  /// What carries the bytes: "shared memory", "gloo", "none" (a group of one).
  virtual std::string_view transport() const = 0;
  /// Whether tensors of `device` are served.
  virtual bool serves(Device device) const = 0;

  /// Whether ranks compare operation, dtype, shape and options before each collective, so that a mismatch
  /// raises on every rank, before any tensor is touched, an error that lists what each rank brought. Shared
  /// memory always does; elsewhere it costs a short message, and is off unless TERN_DISTRIBUTED_DEBUG=detail.
  /// Without it a mismatch ends at the timeout, with the same list. All ranks switch at the same place.
  void compare_calls(bool on) { compares_calls_ = on; }
  bool compares_calls() const { return compares_calls_; }

  /// The last 1000 calls, oldest first: what to look at after a failure.
  virtual std::vector<CallRecord> recent_calls() const = 0;

  /// Gives `call` its sequence number and runs `body(call)` after all that was started before: at once, on
  /// this thread, unless `async` or something is still queued. Failures of an asynchronous body come out of
  /// the Work's wait(), others here. Never null.
  virtual std::shared_ptr<Work> start(Call call, bool async, std::function<void(const Call&)> body) = 0;

  // What a backend does. Called from the body given to start(): tensors are defined, dense, on a device that
  // is served, of sizes that fit; blocks until done. With B bytes and n ranks:
  /// x = the reduction of all ranks' x.
  virtual void all_reduce(const Call& call, const Tensor& x) = 0;
  /// The same on call.root; elsewhere x stays as it is.
  virtual void reduce(const Call& call, const Tensor& x) = 0;
  /// x = the root's x.
  virtual void broadcast(const Call& call, const Tensor& x) = 0;
  /// Row r of `out` ([n, ...]) = rank r's x.
  virtual void all_gather(const Call& call, const Tensor& out, const Tensor& x) = 0;
  /// The same on call.root; elsewhere `out` is undefined.
  virtual void gather(const Call& call, const Tensor& out, const Tensor& x) = 0;
  /// x = row r of the root's `rows` ([n, ...]), r this rank; elsewhere `rows` is undefined.
  virtual void scatter(const Call& call, const Tensor& x, const Tensor& rows) = 0;
  /// x = the reduction of row r of all ranks' `rows` ([n, ...]), r this rank.
  virtual void reduce_scatter(const Call& call, const Tensor& x, const Tensor& rows) = 0;
  /// Both are one-dimensional. The first in_counts[0] elements of x go to rank 0, the next in_counts[1] to
  /// rank 1, …; what comes from rank r are out_counts[r] elements of `out`.
  virtual void all_to_all(const Call& call, const Tensor& out, const Counts& out_counts, const Tensor& x,
                          const Counts& in_counts) = 0;
  /// x goes to rank call.root, which receives it. Messages from one rank to another arrive in the order of
  /// the calls.
  virtual void send(const Call& call, const Tensor& x) = 0;
  virtual void recv(const Call& call, const Tensor& x) = 0;

 protected:
  /// Arguments as check_arguments() wants them.
  ProcessGroup(int rank, int size, const ProcessGroupOptions& options);

 private:
  int rank_, size_;
  std::string name_;
  Duration timeout_;
  std::vector<int> ranks_;
  std::atomic<bool> compares_calls_;
};

/// Makes this rank's end of a group of `size` ranks, which all call this, and find each other over `store`.
/// `backend` is "gloo": CPU tensors, through shared memory where all ranks are on one host (as processes or
/// as threads of one), over TCP by the library gloo otherwise. "nccl" throws Error: this build has no CUDA. A
/// group of one rank needs no store (null); its collectives copy. Throws Error for any other backend, and for
/// a rank, a size, ranks or a timeout that make no sense; DistributedError, naming the ranks that are
/// missing, when not all have come by the timeout.
std::shared_ptr<ProcessGroup> make_process_group(const std::string& backend, std::shared_ptr<Store> store,
                                                 int rank, int size, const ProcessGroupOptions& options = {});

/// The group that collectives use when none is given. Throws Error while there is none: "init_process_group
/// was not called".
std::shared_ptr<ProcessGroup> default_group();
bool has_default_group();
/// Replaces it; null takes it away. For init_process_group and destroy_process_group.
void set_default_group(std::shared_ptr<ProcessGroup> group);

}  // namespace tern::distributed
