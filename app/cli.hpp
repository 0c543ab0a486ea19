// SPDX-License-Identifier: MIT
// The command line of `heapwood`: parses, runs one command, turns every failure into one line and an exit code.
#pragma once

namespace heapwood::app {

// Returns the exit code (simt/error.hpp). Ctrl-C and SIGTERM ask running launches to stop; a second one ends the
// process.
int run(int argc, char** argv);

}  // namespace heapwood::app
