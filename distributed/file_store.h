// A store in a file that all ranks can reach: on one machine, or in a shared file system with working locks.
//
// The file is a log of what was set; ranks append to it and read what others appended, one at a time under a
// lock. A second lock says who is there: each process that has the store open holds the lock of a byte of its
// own, far behind the file's end. The system takes a lock from a process that ends, however it ends, so the
// locks tell the living from the dead, also across machines and containers (process numbers would not).
//
// From that follows what happens to the file of an earlier run:
// - The store lives while somebody has it open. Whoever comes when nobody has, starts with an empty one: what
// a
//   crashed or killed run left is never read. The last one to leave removes the file.
// - Whoever comes when as many processes as the job has (`world_size`) came before, or when one of those that
//   came is gone again, waits for the others to go too: a run that is ending, or broken, is not joined. An
//   error after the timeout says who is still there.
// - Whoever comes for another job (`job`, `world_size`) than those that are there gets an error at once.
// Two runs at the same time at one path can be told apart by their `job` only; give it, or use two paths.
//
// Locks are Linux's open file description locks (fcntl, F_OFD_SETLK). A file system that has none is refused.
#pragma once

#include <tern/distributed/store.h>

#include <memory>
#include <string>

namespace tern::distributed {

struct FileStoreOptions {
  /// How long to wait for an earlier run to end, and for the file's lock.
  Duration timeout = std::chrono::minutes(5);
  /// Which job this is: any text.
  std::string job = {};
};

/// The store at `path`, whose folder exists, for the `world_size` processes of a job. Errors are
/// DistributedError and name the path.
std::shared_ptr<Store> file_store(const std::string& path, int64_t world_size,
                                  const FileStoreOptions& options = {});

}  // namespace tern::distributed
