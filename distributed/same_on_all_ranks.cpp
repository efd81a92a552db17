#include <tern/distributed/same_on_all_ranks.h>

#include <tern/core/error.h>
#include <tern/kernels/copy.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace tern::distributed {
namespace {

int job_rank(const Group& group, int rank) { return group->ranks()[static_cast<size_t>(rank)]; }

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + '\n';
  return text;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t start = 0; start < text.size();) {
    const size_t end = text.find('\n', start);
    lines.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return lines;
}

// The first difference of two lists, or "".
std::string difference(const std::vector<std::string>& own, const std::vector<std::string>& first, int rank,
                       int first_rank) {
  const auto line = [](const std::vector<std::string>& list, size_t i) {
    return i < list.size() ? list[i] : "nothing more";
  };
  for (size_t i = 0; i < std::max(own.size(), first.size()); ++i) {
    if (line(own, i) == line(first, i)) continue;
    return "rank " + std::to_string(rank) + " has " + line(own, i) + ", rank " + std::to_string(first_rank) +
           " has " + line(first, i);
  }
  return "";
}

}  // namespace

std::string broadcast_text(const std::string& own, int root, const Group& group) {
  const Tensor length = empty({1}, int64);
  *length.data<int64_t>() = static_cast<int64_t>(own.size());
  broadcast(length, job_rank(group, root), {.group = group});
  const Tensor bytes = empty({*length.data<int64_t>()}, uint8);
  if (group->rank() == root) std::memcpy(bytes.data(), own.data(), own.size());
  broadcast(bytes, job_rank(group, root), {.group = group});
  return std::string(static_cast<const char*>(bytes.data()), static_cast<size_t>(bytes.numel()));
}

void check_same_lines(const std::vector<std::string>& lines, const std::string& what, const Group& group) {
  const std::string first = broadcast_text(joined(lines), 0, group);
  const std::string own = difference(lines, split(first), job_rank(group, group->rank()), job_rank(group, 0));
  constexpr int64_t width = 500;
  const Tensor row = empty({1, width}, uint8), rows = empty({group->size(), width}, uint8);
  std::memset(row.data(), 0, width);
  std::memcpy(row.data(), own.data(), std::min<size_t>(own.size(), width - 1));
  all_gather_into_tensor(rows, row, {.group = group});
  for (int r = 0; r < group->size(); ++r) {
    const auto* const text = reinterpret_cast<const char*>(rows.data<uint8_t>() + r * width);
    check(*text == 0, what, ": ", text);
  }
}

FlatBroadcast::FlatBroadcast(const std::vector<Tensor>& tensors) {
  std::vector<std::vector<Tensor>> kinds;
  for (const Tensor& tensor : tensors) {
    auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const auto& known) {
      return known[0].dtype() == tensor.dtype() && known[0].device() == tensor.device();
    });
    if (kind == kinds.end()) kind = kinds.insert(kind, std::vector<Tensor>());
    kind->push_back(tensor);
  }
  for (const auto& kind : kinds) {
    int64_t count = 0;
    for (const Tensor& tensor : kind) count += tensor.numel();
    Part part{empty({count}, kind[0].dtype(), kind[0].device()), {}};
    int64_t offset = 0;
    for (const Tensor& tensor : kind) {
      part.pairs.emplace_back(
          tensor, part.flat.with_layout(Layout(tensor.shape(), dense_strides(tensor.shape()), offset)));
      offset += tensor.numel();
    }
    parts_.push_back(std::move(part));
  }
}

void FlatBroadcast::run(int root, const Group& group) const {
  const bool is_root = group->rank() == root;
  for (const Part& part : parts_) {
    for (const auto& [tensor, place] : part.pairs)
      if (is_root) kernels::copy(tensor.detach(), place);
    broadcast(part.flat, job_rank(group, root), {.group = group});
    for (const auto& [tensor, place] : part.pairs)
      if (!is_root) kernels::copy(place, tensor.detach());
  }
}

void broadcast_all(const std::vector<Tensor>& tensors, int root, const Group& group) {
  for (const Tensor& tensor : tensors) broadcast(tensor.detach(), job_rank(group, root), {.group = group});
}

}  // namespace tern::distributed
