// SPDX-License-Identifier: MIT
// Work that must not make the window stutter: the calling thread, and those that it starts from here on, give way to the
// threads that draw. Linux keeps a nice value for each thread, and a new thread inherits it.
#pragma once

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace heapwood::viewer {

// Rays give way to builds, whose time is measured; both give way to the window.
inline constexpr int nice_build = 5, nice_picture = 10;
// Cleared before the first thread starts where nobody looks at the window.
inline bool window_is_watched = true;

inline void give_way(int nice) {
  if (!window_is_watched) return;
  // Where it is refused everything still works, less smoothly.
  setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), nice);
}

}  // namespace heapwood::viewer
