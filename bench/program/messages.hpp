// SPDX-License-Identifier: MIT
// Notes and warnings for the user.
#pragma once

#include <exception>
#include <string>

namespace heapwood::bench {

// One line on standard error: "heapwood: note: ..." or "heapwood: warning: ...".
void note(const std::string& text);
void warning(const std::string& text);

// What an exception says, in words of the command line where a library's are not.
std::string error_text(const std::exception& error);

// The same without an allocator's id at its start: for the reason of a result, which names it.
std::string reason_text(const std::exception& error);

// Escapes line breaks and what else may control a terminal, which messages of libraries and file
// names may contain.
std::string one_line(const std::string& text);

}  // namespace heapwood::bench
