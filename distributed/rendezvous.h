// Where ranks meet over a store: each tells who it is, and gets to know all the others, or why the job can't
// start. Not part of the public interface.
#pragma once

#include <tern/distributed/store.h>

#include <memory>
#include <string>
#include <vector>

namespace tern::distributed {

/// What a rank tells about itself.
struct Participant {
  int rank = 0, world_size = 1;
  std::string backend;
  std::string host = {};     ///< equal for ranks of one host, and only for those
  std::string process = {};  ///< for messages: "host (pid 123)"
};

/// Says that `me` is there and waits for all others. Returns all participants, by rank. DistributedError,
/// with the same text on all ranks that are there, when two processes claim one rank, when world sizes or
/// backends differ, and when ranks are missing at the timeout of the first one that came.
std::vector<Participant> meet(Store& store, const Participant& me, Duration timeout);

/// Tells this host from others.
std::string host_identity();

}  // namespace tern::distributed
