// SPDX-License-Identifier: MIT
// Standard streams and signals of the process, for `heapwood` and the viewer.
#pragma once

#include <string>

namespace heapwood::bench {

// Opens standard streams that are closed at the start of the program. Otherwise a file opened later
// would get such a descriptor and receive what the program prints.
void hold_standard_streams();

// A write that would raise SIGPIPE (the reader of a pipe has ended) or SIGXFSZ (ulimit -f) fails
// instead, so that a command can still store its results.
void ignore_write_signals();
// If standard output is a pipe whose reader has ended, ends the process by the SIGPIPE that was
// ignored, as is usual in a pipe. Returns if the parent process ignores it, too.
void end_if_pipe_is_broken();

// Writes to standard error and ignores failures: reporting them would hide the first error's exit
// code.
void write_error(const std::string& text);

// SIGINT, SIGTERM and SIGHUP (unless ignored, as by nohup) call `handler`; a second signal ends the
// process, unless it comes within `min_seconds` of the first: timeout(1) sends its signal to the
// process and to its group.
void install_signal_handlers(void (*handler)(int), double min_seconds = 1);

}  // namespace heapwood::bench
