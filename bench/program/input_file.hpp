// SPDX-License-Identifier: MIT
// Text files that a command reads besides its scenes: earlier results, cameras, recorded requests.
#pragma once

#include <optional>
#include <string>

#include "simt/error.hpp"

namespace heapwood::bench {

// The content of a file; nullopt if it does not exist. Throws Error with this exit code if it
// cannot be read or is not a regular file: reading a pipe or a device may never start or never end.
std::optional<std::string> read_text(const std::string& path, Exit exit);

}  // namespace heapwood::bench
