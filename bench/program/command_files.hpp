// SPDX-License-Identifier: MIT
// The files that a command reads and writes, registered before any of them is opened.
#pragma once

#include <string>
#include <vector>

namespace heapwood::bench {

class CommandFiles {
 public:
  // "" is no file; the name of a procedural scene does no harm.
  void reads(const std::string& path);
  void writes(const std::string& path);

  // Throws Error{Exit::usage} if the command would write to a file that it also reads, or that
  // another option writes or its output is redirected to, whatever the paths to the file; or to an
  // existing scene or material file.
  void check() const;

 private:
  std::vector<std::string> read_, written_;
};

}  // namespace heapwood::bench
