// SPDX-License-Identifier: MIT
// Whole files in and out, and text from them that is safe in a message of one line.
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

// Throws Error{Exit::scene} with the system's reason. Regular files only: a device or a pipe may never end.
FileBytes read_file(const std::string& path);

// Writes the parts one behind the other. Throws Error{Exit::failed}; what is written so far then stays.
void write_file(const std::string& path, std::initializer_list<std::span<const std::byte>> parts);

// The text on one line, cut after `limit` bytes: control characters, separators of lines, marks that change the
// direction of writing, and bytes that are not UTF-8 are shown escaped, `\n` or `\x1b`.
std::string printable(std::string_view text, std::size_t limit = 40);

// A text without the UTF-8 byte order mark that editors on Windows begin files with.
std::string_view without_byte_order_mark(std::string_view text);

// "dir/Bunny.ply" -> "Bunny"; "dir/Bunny.PLY" -> ".ply"; "ABC" -> "abc".
std::string stem_of(const std::string& path);
std::string extension_of(const std::string& path);
std::string lower(std::string_view text);

}  // namespace heapwood::scenes
