#include <tern/train/trace.h>

#include <tern/core/error.h>
#include <tern/distributed/environment.h>
#include <tern/train/profiler.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

namespace tern::train {
namespace {

Profiler* profiler = nullptr;  // never destroyed: threads may still run at the very end

void write_trace() {
  try {
    profiler->stop();
    profiler->export_chrome_trace(trace_path(*distributed::process_variable("TERN_TRACE")));
    if (profiler->dropped() > 0)
      std::fprintf(stderr, "TERN_TRACE: %lld scopes beyond the first million are not there\n",
                   static_cast<long long>(profiler->dropped()));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "TERN_TRACE: %s\n", error.what());
  }
}

}  // namespace

std::string trace_path(const std::string& path) {
  int rank = 0, world = 1;
  try {
    const distributed::Environment environment =
        distributed::read_environment(distributed::process_variable, false);
    rank = environment.rank, world = environment.world_size;
  } catch (const Error&) {  // nobody says that this is a rank
  }
  if (world == 1) return path;
  std::filesystem::path file(path);
  const std::string extension = file.extension().string();
  return file.replace_extension(".rank" + std::to_string(rank) + extension).string();
}

namespace detail {

bool start_trace() {
  if (!distributed::process_variable("TERN_TRACE")) return false;
  profiler = new Profiler;
  return std::atexit(write_trace) == 0;
}

}  // namespace detail
}  // namespace tern::train
