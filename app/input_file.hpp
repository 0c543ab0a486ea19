// SPDX-License-Identifier: MIT
// Text files that a command reads beside its scenes: results to go on with, cameras, recorded requests.
#pragma once

#include <optional>
#include <string>

#include "simt/error.hpp"

namespace heapwood::app {

// The content of a file; nothing where there is no file. Throws Error with this exit code for what cannot be read, and for
// what is no regular file: a pipe or a device may never begin, or never end.
std::optional<std::string> read_text(const std::string& path, Exit exit);

}  // namespace heapwood::app
