// SPDX-License-Identifier: MIT
// The command line of `heapwood-view`: parses it, opens the window, turns every failure into
// one line and an exit code.
#pragma once

namespace heapwood::viewer {

// Returns the exit code (simt/error.hpp). Ctrl-C and SIGTERM close the window.
int run(int argc, char** argv);

}  // namespace heapwood::viewer
