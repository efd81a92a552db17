// Making sure that all ranks have the same, and giving them rank 0's.
#pragma once

#include <tern/distributed/collectives.h>

#include <string>
#include <vector>

namespace tern::distributed {

/// Throws Error, the same on every rank, naming the first rank and line that differ from rank 0's: "DDP: the
/// ranks' models differ: rank 1 has a, rank 0 has b" for `what` = "DDP: the ranks' models differ".
void check_same_lines(const std::vector<std::string>& lines, const std::string& what, const Group& group);

/// The text of the group's rank `root`.
std::string broadcast_text(const std::string& own, int root, const Group& group);

/// Overwrites tensors by those of the group's rank `root`: one message per dtype, for many small tensors.
/// Memory is kept between calls.
class FlatBroadcast {
 public:
  explicit FlatBroadcast(const std::vector<Tensor>& tensors = {});
  void run(int root, const Group& group) const;

 private:
  struct Part {
    Tensor flat;
    std::vector<std::pair<Tensor, Tensor>> pairs;  // a tensor, and its place in flat
  };
  std::vector<Part> parts_;
};

/// The same, one message per tensor: for large ones.
void broadcast_all(const std::vector<Tensor>& tensors, int root, const Group& group);

}  // namespace tern::distributed
