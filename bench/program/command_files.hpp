// SPDX-License-Identifier: MIT
// The files that a command reads and writes, registered before any of them is opened.
#pragma once

#include <string>
#include <vector>

namespace heapwood::bench {

class CommandFiles {
 public:
  // "" is no file.
  void reads(const std::string& path);
  // A scene file with the camera beside it and all files that it names, also those that the command
  // does not read. Does no harm for the name of a procedural scene.
  void reads_scene(const std::string& name_or_path);
  void writes(const std::string& path);
  // A picture or video, which is not written to standard output.
  void writes_picture(const std::string& path);

  // Throws Error{Exit::usage} if the command would write to a file that it also reads, or that
  // another option writes or its output is redirected to, whatever the paths to the file; or to an
  // existing scene or material file. Reads the scene files only if an output file exists.
  void check() const;

 private:
  std::vector<std::string> read_, scenes_, written_;
};

}  // namespace heapwood::bench
