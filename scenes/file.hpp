// SPDX-License-Identifier: MIT
// Reads and writes whole files; escapes text from files for messages of one line.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace heapwood::scenes {

struct FileBytes {
  std::unique_ptr<std::byte[]> data;
  std::size_t size = 0;

  std::span<const std::byte> bytes() const { return {data.get(), size}; }
  std::string_view text() const { return {reinterpret_cast<const char*>(data.get()), size}; }
};

// Throws Error{Exit::scene} with the system's reason. Regular files only: reading a device or a
// pipe may never end.
FileBytes read_file(const std::string& path);

// Files that a scene file names, relative to its own directory. Nothing outside that directory is
// read, also not through links.
class CompanionFiles {
 public:
  explicit CompanionFiles(const std::string& scene_path);

  // The path of a regular file. Throws Error{Exit::scene}: "name: reason". Backslashes separate
  // folders, too.
  std::string find(std::string_view name) const;
  // If there is none, the file of that name in the directory itself: scene files often keep paths
  // of the machine that wrote them.
  std::string find_anywhere(std::string_view name) const;

 private:
  std::string directory_;
};

// Throws simt::Stopped after Ctrl-C. Called for every vertex and face while a file is read, which
// may take minutes.
void check_interruption();

// Writes the parts in sequence. Throws Error{Exit::failed}; the partial file then remains.
void write_file(const std::string& path, std::initializer_list<std::span<const std::byte>> parts);

// The text on one line, truncated to `limit` bytes. Control characters, line separators, marks of
// the writing direction and invalid UTF-8 are escaped: `\n`, `\x1b`.
std::string printable(std::string_view text, std::size_t limit = 40);

// The text with invalid UTF-8 escaped as by printable(): for JSON.
std::string utf8_text(std::string_view text);

// The text without a UTF-8 byte order mark, which editors on Windows add.
std::string_view without_byte_order_mark(std::string_view text);

// "dir/Bunny.ply" -> "Bunny"; "dir/Bunny.PLY" -> ".ply"; "ABC" -> "abc".
std::string stem_of(const std::string& path);
std::string extension_of(const std::string& path);
std::string lower(std::string_view text);

}  // namespace heapwood::scenes
