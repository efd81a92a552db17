// Ranks as threads of the test, and as processes.
//
//   run_ranks(4, [](const Group& group) {
//     const Tensor x = full({3}, group->rank());
//     all_reduce(x, {.group = group});
//     CHECK(…);
//   });
#pragma once

#include <tern/distributed/collectives.h>

#include <functional>

namespace tern::tests {

/// Runs body(group) on `size` threads, each with its own end of one group over a store in memory. Groups end
/// with their body. Rethrows the exception of the first rank (in time) that threw one, when all have ended.
/// No default group is set: a process has one, and here it would be all ranks'.
void run_ranks(int size, const std::function<void(const distributed::Group&)>& body,
               const distributed::ProcessGroupOptions& options = {});

/// Runs body(store, rank) on `size` threads; otherwise the same. For tests that make their groups themselves.
void run_threads(int size, const std::function<void(const std::shared_ptr<distributed::Store>&, int)>& body);

/// run_ranks over each transport that ranks on one host can use, both at the same time.
void run_both(int size, const std::function<void(const distributed::Group&)>& body);
void run_both(int size, distributed::Duration timeout,
              const std::function<void(const distributed::Group&)>& body);

/// Runs body once for each transport that ranks on one host can use, with options that ask for it.
void for_each_transport(const std::function<void(const distributed::ProcessGroupOptions&)>& body);

}  // namespace tern::tests
