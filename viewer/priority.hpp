// SPDX-License-Identifier: MIT
// Background threads run at lower priority, so that the window stays smooth. Linux keeps a nice
// value per thread, and a new thread inherits it.
#pragma once

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace heapwood::viewer {

// Builds, which are timed, have priority over rays; the window has priority over both.
inline constexpr int nice_build = 5, nice_picture = 10;
// Cleared before the first thread starts in unattended runs.
inline bool window_is_watched = true;

inline void lower_priority(int nice) {
  if (!window_is_watched) return;
  // A failure only makes the window less smooth.
  setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), nice);
}

}  // namespace heapwood::viewer
