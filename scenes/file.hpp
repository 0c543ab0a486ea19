// SPDX-License-Identifier: MIT
// Reads whole files, parses words and numbers, and escapes text from files for one-line messages.
#pragma once

#include <unistd.h>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace heapwood::scenes {

struct FileBytes {
  std::unique_ptr<std::byte[]> data;
  std::size_t size = 0;

  std::span<const std::byte> bytes() const { return {data.get(), size}; }
  std::string_view text() const { return {reinterpret_cast<const char*>(data.get()), size}; }
};

// Reads a regular file (a device or pipe may never end). Throws Error{Exit::scene} with the reason.
FileBytes read_file(const std::string& path);

// A file descriptor with one owner.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() { close(); }

  explicit operator bool() const { return fd_ >= 0; }
  int get() const { return fd_; }
  // Returns false, with errno, if it fails: network file systems may report a full disk only here.
  bool close() { return fd_ < 0 || ::close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_;
};

// Finds the files that a scene file names, relative to its own directory. Files outside that
// directory are not read, not even through links.
class CompanionFiles {
 public:
  explicit CompanionFiles(const std::string& scene_path);

  // The path of a regular file; a backslash also separates folders. Throws Error{Exit::scene}.
  std::string find(std::string_view name) const;
  // Like find(), but if there is no such file, returns the file of that name in the directory
  // itself: scene files often keep paths of the machine that wrote them.
  std::string find_anywhere(std::string_view name) const;

 private:
  std::string directory_;
};

// Throws simt::Stopped after Ctrl-C. Called for every vertex and face, as reading may take minutes.
void check_interruption();

// The text on one line, truncated to `limit` bytes. Control characters, line separators, marks of
// the writing direction and invalid UTF-8 are escaped, as in `\n` or `\x1b`.
std::string printable(std::string_view text, std::size_t limit = 40);

// Joins texts and numbers into one text.
template <class... Parts>
std::string concat(const Parts&... parts) {
  std::string result;
  const auto append = [&](const auto& part) {
    if constexpr (std::is_arithmetic_v<std::remove_cvref_t<decltype(part)>>) {
      result += std::to_string(part);
    } else {
      result += part;
    }
  };
  (append(parts), ...);
  return result;
}

// Joins texts, those that text_of gives of the list's items: "a, b, c".
template <class List, class TextOf = std::identity>
std::string joined(const List& list, const std::string& separator = ", ", TextOf text_of = {}) {
  std::string text;
  for (const auto& one : list) text += (text.empty() ? "" : separator) + std::invoke(text_of, one);
  return text;
}

// The text for JSON: invalid UTF-8 is escaped as in printable().
std::string utf8_text(std::string_view text);

// The text without a UTF-8 byte order mark, which editors on Windows add.
std::string_view without_byte_order_mark(std::string_view text);

// stem_of: "dir/Bunny.ply" -> "Bunny". extension_of: "dir/Bunny.PLY" -> ".ply"; "ABC" -> "abc".
std::string stem_of(const std::string& path);
std::string extension_of(const std::string& path);
std::string lower(std::string_view text);

inline bool is_gltf(const std::string& extension) {
  return extension == ".gltf" || extension == ".glb";
}
// Whether load() of scenes/scene.hpp reads files with this extension, in lower case.
inline bool is_readable(const std::string& extension) {
  return extension == ".ply" || extension == ".obj" || is_gltf(extension);
}

// Removes the first word of a line and returns it; "" if there is none. Words are separated by
// blanks: all white space except \n.
std::string_view next_word(std::string_view& line);
std::vector<std::string_view> words_of(std::string_view line);
// The text without blanks at both ends.
std::string_view trimmed(std::string_view text);

// Reads a number that is the whole text; otherwise false. `format` is that of std::from_chars.
template <class T, class... Format>
bool parse_number(std::string_view text, T& value, Format... format) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, format...);
  return error == std::errc() && stop == end;
}
// The number without a leading `+`, which std::from_chars refuses. `+-1` stays, to be refused.
std::string_view without_plus(std::string_view number);
// Parses a number, finite or not, that is the whole text. One too small for a double is 0.
bool parse_double(std::string_view text, double& value);

// Removes the part before the first colon, and the colon, from NAME:COUNT:SEED. Returns that part.
std::string_view next_part(std::string_view& text);
// Parses a count below 10^18: `1500`, `20k`, `1m` or `7.5m`. A fraction needs a unit.
bool parse_count(std::string_view text, double& count);

// The nesting depth of objects and arrays in JSON, which may be invalid. Does not use the parser:
// with a callback that checks the depth, that takes quadratic time for long lists.
std::size_t json_nesting(std::string_view text);

// Converts a share from 0 to 1 to steps of 1/255; clamps others, and converts NaN to 0.
std::uint32_t byte_of(double share);

// Describes a file that is not a scene file, by its first bytes, and says what to do ("it is
// UTF-16, ..."); nullptr if its kind is unknown.
const char* foreign_kind(std::string_view file);

// The FNV-1a hash of the bytes, continued from `hash`.
std::uint64_t fnv1a(std::string_view bytes, std::uint64_t hash = 0xcbf29ce484222325u);
// The value as 16 hexadecimal digits.
std::string hex_digits(std::uint64_t value);

}  // namespace heapwood::scenes
