// A trace of any program, without changing it:
//
//   TERN_TRACE=trace.json ./train
//
// records every scope from the start to the end of a program that includes this header, as <tern/tern.h>
// does, and then writes the Chrome trace of train/profiler.h. Ranks of a job of several write
// trace.rank0.json, trace.rank1.json, … A program that has its own Profiler can't be traced this way; one
// that is ended by a signal or by _exit() leaves no trace.
#pragma once

#include <string>

namespace tern::train {

/// The file of this process for TERN_TRACE=`path`: with the rank before the extension where the environment
/// says that there are several.
std::string trace_path(const std::string& path);

namespace detail {
/// Starts the recording if the environment asks for one.
bool start_trace();
inline const bool is_traced = start_trace();
}  // namespace detail

}  // namespace tern::train
