// SPDX-License-Identifier: MIT
// The command line of `heapwood`: parses it, runs one command, and reports a failure by one line
// and an exit code.
#pragma once

namespace heapwood::app {

// Returns the exit code (simt/error.hpp). Ctrl-C and SIGTERM make running launches stop; a second
// signal ends the process.
int run(int argc, char** argv);

// As run(), but ends before the command's action: for tests of the command line itself.
int check(int argc, char** argv);

}  // namespace heapwood::app
