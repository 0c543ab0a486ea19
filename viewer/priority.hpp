// SPDX-License-Identifier: MIT
// The priority of background threads, lower than the window's so that it stays smooth.
#pragma once

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace heapwood::viewer {

// Builds, which are timed, have priority over rays.
inline constexpr int nice_build = 5, nice_picture = 10;

// Cleared before the first thread starts in unattended runs, which keep their priority.
inline bool window_is_watched = true;

// Of the calling thread: Linux keeps a nice value per thread. A failure only makes the window less
// smooth.
inline void lower_priority(int nice) {
  if (window_is_watched) setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), nice);
}

}  // namespace heapwood::viewer
