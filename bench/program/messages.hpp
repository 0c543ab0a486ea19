// SPDX-License-Identifier: MIT
// Notes and warnings for the user.
#pragma once

#include <string>

namespace heapwood::bench {

// One line on standard error: "heapwood: note: ..." or "heapwood: warning: ...".
void note(const std::string& text);
void warning(const std::string& text);

// Replaces line breaks, which messages of libraries and file names may contain.
std::string one_line(std::string text);

}  // namespace heapwood::bench
