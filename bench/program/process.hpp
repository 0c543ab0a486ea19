// SPDX-License-Identifier: MIT
// The process, for `heapwood` and the viewer: standard streams, signals, lack of host memory, and
// locks that keep two processes of one machine from writing the same file or measuring on the same
// GPU.
#pragma once

#include <string>

#include "scenes/file.hpp"

namespace heapwood::bench {

// Opens standard streams that are closed when the program starts. Otherwise a file opened later
// would get the descriptor of such a stream, and what the program prints.
void hold_standard_streams();

// Makes a write fail that would raise SIGPIPE (the reader of a pipe has ended) or SIGXFSZ (ulimit
// -f), so that a command can still store its results.
void ignore_write_signals();
// If standard output is a pipe whose reader has ended, ends the process by SIGPIPE, as is usual in
// a pipe, although writes ignore that signal. Returns if the parent process ignores it as well.
void end_if_pipe_is_broken();

// Writes to standard error. Ignores failures: they would replace the first error's exit code.
void write_error(const std::string& text);

// SIGINT, SIGTERM and SIGHUP (unless ignored, as by nohup) call `handler`. A second signal ends the
// process, unless it comes within `min_seconds` of the first: timeout(1) sends its signal both to
// the process and to its group.
void install_signal_handlers(void (*handler)(int), double min_seconds = 1);

// Reserves memory, to be released when an allocation fails for the first time. Where std::bad_alloc
// cannot be caught, the process then ends with a message instead of an abort.
void prepare_for_lack_of_memory();

// Prints the message without allocating; returns the exit code.
int out_of_memory();

// In the scope of such an object, lack of memory ends the process immediately. For values of the
// JSON library, which crashes if an allocation fails while it makes one.
class LackOfMemoryEnds {
 public:
  LackOfMemoryEnds();
  ~LackOfMemoryEnds();
  LackOfMemoryEnds(const LackOfMemoryEnds&) = delete;
  LackOfMemoryEnds& operator=(const LackOfMemoryEnds&) = delete;
};

using scenes::Descriptor;

// A lock that is a name in Linux's abstract socket namespace: it leaves no file, and the kernel
// releases it however the process ends.
class ProcessLock {
 public:
  // survives_execv: a process that execv() replaces keeps the lock, and its first such object there
  // takes it over.
  explicit ProcessLock(const std::string& name, bool survives_execv = false);

  // False if another process, or another object of this one, has the name. Always true if the
  // system has no such sockets.
  bool is_held() const { return is_held_; }

 private:
  Descriptor socket_;
  bool is_held_ = true;
};

// Throws Error{Exit::failed} if another process is writing the file, which need not exist.
ProcessLock lock_file(const std::string& path);

// Locks a GPU. `gpu` is its name in messages, `id` identifies it. If another process measures on
// it, waits for that if `waits`, until simt::interrupted(); otherwise throws Error{Exit::device}.
ProcessLock lock_gpu(const std::string& gpu, const std::string& id, bool waits);

}  // namespace heapwood::bench
