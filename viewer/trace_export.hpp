// SPDX-License-Identifier: MIT
// Recordings as JSON in Chrome's trace event format, which Perfetto and chrome://tracing open: the
// curves of the heap map as counters, and the lives of the largest blocks as slices.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "viewer/recording.hpp"

namespace heapwood::viewer {

// Time is counted in events: one event is one microsecond. Each recording is a process. Slices that
// overlap in time are on different tracks.
std::string chrome_trace(const std::vector<std::shared_ptr<const Recording>>& recordings);

inline constexpr std::size_t max_exported_blocks = 20000, max_exported_tracks = 64;

}  // namespace heapwood::viewer
