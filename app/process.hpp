// SPDX-License-Identifier: MIT
// What a program of ours asks of its process: standard streams and signals. Used by `heapwood` and by the viewer.
#pragma once

#include <string>

namespace heapwood::app {

// Where the program was started without one of its standard streams, a file opened later would get its number, and be written
// into by whoever prints: such a number is taken first.
void hold_standard_streams();

// To standard error. What cannot be written there is lost: an error about an error would hide the first one's exit code.
void write_error(const std::string& text);

// Ctrl-C, SIGTERM, and a terminal that goes away (unless that is ignored, as by nohup) call `handler`; the second such signal
// ends the process at once.
void install_signal_handlers(void (*handler)(int));

}  // namespace heapwood::app
