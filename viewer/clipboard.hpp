// SPDX-License-Identifier: MIT
// Copies pictures to the desktop's clipboard. GLFW copies text only, so this uses the desktop's own
// programs.
#pragma once

#include <string>

namespace heapwood::viewer {

// Returns why the PNG was not copied, or "".
std::string copy_png(const std::string& png);

}  // namespace heapwood::viewer
