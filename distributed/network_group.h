// The process group of ranks on several hosts.
//
// Everything is made of exchanges: each rank sends parts of its memory, and receives others, at the same
// time. Reductions are computed as in shared memory, in the order of ranks: the bits are the same.
#pragma once

#include <tern/distributed/mesh.h>
#include <tern/distributed/queued_group.h>
#include <tern/distributed/wire_call.h>

namespace tern::distributed {

class NetworkGroup final : public QueuedGroup {
 public:
  /// `store` is where ranks tell each other of failures. Options as checked by make_process_group().
  NetworkGroup(std::unique_ptr<Mesh> mesh, std::shared_ptr<Store> store, int rank, int size,
               const ProcessGroupOptions& options)
      : QueuedGroup(rank, size, options), mesh_(std::move(mesh)), store_(std::move(store)) {}
  ~NetworkGroup() override { stop(); }

  std::string_view transport() const override { return "gloo"; }
  void all_reduce(const Call& call, const Tensor& x) override;
  void reduce(const Call& call, const Tensor& x) override;
  void broadcast(const Call& call, const Tensor& x) override;
  void all_gather(const Call& call, const Tensor& out, const Tensor& x) override;
  void gather(const Call& call, const Tensor& out, const Tensor& x) override;
  void scatter(const Call& call, const Tensor& x, const Tensor& rows) override;
  void reduce_scatter(const Call& call, const Tensor& x, const Tensor& rows) override;
  void all_to_all(const Call& call, const Tensor& out, const Counts& out_counts, const Tensor& x,
                  const Counts& in_counts) override;
  void send(const Call& call, const Tensor& x) override;
  void recv(const Call& call, const Tensor& x) override;

 private:
  /// One call under way.
  struct Turn {
    const Call& call;
    WireCall wire;
    Mesh::Deadline deadline;
    int phase = 0;
  };

  std::string spread_failure(const Call& call, const std::string& message) override;
  void interrupt() override { mesh_->interrupt(); }

  Turn begin(const Call& call);
  /// Exchanges under labels that belong to this turn and phase; parts come without.
  void exchange(Turn& turn, Parts out, Parts in);
  std::unique_ptr<Mesh::Exchange> start_exchange(Turn& turn, Parts out, Parts in);
  void finish(const Turn& turn, std::unique_ptr<Mesh::Exchange>& exchange);
  void compare(Turn& turn);
  void reduce_directly(Turn& turn, const Tensor& x);
  void reduce_in_sections(Turn& turn, const Tensor& x);
  std::string explain(const Call& call, const MeshError& error);
  std::string message_for(const Call& call, const std::string& start, const MeshError& error);

  /// The same bytes for each other rank; a row of `rows` for each other rank.
  Parts to_all(char* data, size_t bytes) const;
  Parts rows_of_all(char* rows, size_t row_bytes) const;
  /// The section of each other rank.
  Parts sections(char* data, size_t total, size_t section) const;
  Part section_of(int r, char* data, size_t total, size_t section) const;
  /// out = the reduction of the rows, of which `own` is this rank's.
  void reduce_rows(const Call& call, DType dtype, char* rows, char* own, char* out, size_t bytes) const;

  std::unique_ptr<Mesh> mesh_;
  std::shared_ptr<Store> store_;
};

}  // namespace tern::distributed
