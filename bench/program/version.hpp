// SPDX-License-Identifier: MIT
// The version of the source. The build generates heapwood_git.hpp
// (bench/program/git_version.cmake); without it, or outside a git repository, the commit is
// "unknown".
#pragma once

#include <optional>
#include <string>

namespace heapwood::bench {

std::string version();            // "0.1.0"
std::string git_sha();            // 12 hex digits or "unknown"
std::optional<bool> git_dirty();  // absent if unknown
std::string git_text();           // "0123456789ab", "0123456789ab+changes", "unknown"
std::string compilers();          // "GNU 12.2.0, nvcc 13.0.48"
std::string version_line();       // "heapwood 0.1.0 (0123456789ab)"

}  // namespace heapwood::bench
