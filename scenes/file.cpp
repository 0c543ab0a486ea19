// SPDX-License-Identifier: MIT
#include "scenes/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <new>
#include <utility>

#include "simt/device.hpp"
#include "simt/error.hpp"

namespace heapwood::scenes {
namespace {

constexpr std::string_view blanks = " \t\v\f\r";
constexpr std::size_t max_piece = std::size_t{1} << 24;  // bytes read between checks for Ctrl-C

// A path for a message of one line: paths may contain any characters.
std::string shown(const std::string& path) { return printable(path, path.size()); }

[[noreturn]] void unreadable(const std::string& path, const std::string& reason) {
  throw Error(Exit::scene, shown(path) + ": cannot be read: " + reason);
}

// The length in bytes of the first character; 0 if the text does not begin with valid UTF-8.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xc2 && first < 0xe0   ? 2
                             : first >= 0xe0 && first < 0xf0 ? 3
                                                             : 4;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // Refuses overlong encodings, surrogates, and values beyond U+10FFFF.
  const unsigned second = byte(1);
  const bool refused = (first == 0xe0 && second < 0xa0) || (first == 0xed && second >= 0xa0) ||
                       (first == 0xf0 && second < 0x90) || (first == 0xf4 && second >= 0x90);
  return refused ? 0 : length;
}

// Whether a character controls the output: C0, DEL, C1 (U+0080 to U+009F), U+2028 to U+202E (lines,
// paragraphs, direction), U+2066 to U+2069.
bool is_control(std::string_view character) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(character[i]); };
  if (character.size() == 1) return byte(0) < 0x20 || byte(0) == 0x7f;
  if (character.size() == 2) return byte(0) == 0xc2 && byte(1) < 0xa0;
  if (character.size() != 3 || byte(0) != 0xe2) return false;
  return (byte(1) == 0x80 && byte(2) >= 0xa8 && byte(2) <= 0xae) ||
         (byte(1) == 0x81 && byte(2) >= 0xa6 && byte(2) <= 0xa9);
}

void append_escaped(std::string& text, char c) {
  constexpr std::string_view named = "\n\r\t\v\f", letters = "nrtvf";
  text += '\\';
  if (const std::size_t i = named.find(c); i != named.npos) {
    text += letters[i];
    return;
  }
  constexpr const char* digits = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  text.append({'x', digits[byte / 16], digits[byte % 16]});
}

std::string escaped(std::string_view text, std::size_t limit, bool with_controls) {
  std::string result;
  std::size_t index = 0;
  while (index < text.size()) {
    const std::size_t length = utf8_length(text.substr(index)),
                      bytes = std::max<std::size_t>(length, 1);
    if (index + bytes > limit) break;
    const std::string_view character = text.substr(index, bytes);
    if (length == 0 || (with_controls && is_control(character))) {
      for (const char c : character) append_escaped(result, c);
    } else {
      result += character;
    }
    index += bytes;
  }
  if (index < text.size()) result += "...";
  return result;
}

}  // namespace

void check_interruption() {
  if (simt::interrupted())
    throw simt::Stopped(simt::Stopped::Reason::interrupted, "interrupted while reading a file");
}

FileBytes read_file(const std::string& path) {
  // Non-blocking, because opening a pipe must not wait for its writer.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) unreadable(path, std::strerror(errno));
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0) unreadable(path, std::strerror(errno));
  if (S_ISDIR(status.st_mode)) unreadable(path, "it is a directory");
  if (!S_ISREG(status.st_mode)) unreadable(path, "it is not a regular file");

  FileBytes result;
  const auto size = static_cast<std::size_t>(status.st_size);
  try {
    result.data = std::make_unique_for_overwrite<std::byte[]>(size);
  } catch (const std::bad_alloc&) {
    unreadable(path, "its " + std::to_string(size) + " bytes do not fit in memory");
  }
  while (result.size < size) {
    check_interruption();
    const std::size_t piece = std::min(size - result.size, max_piece);
    const ::ssize_t got = ::read(file.get(), result.data.get() + result.size, piece);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) unreadable(path, std::strerror(errno));
    if (got == 0) break;
    result.size += static_cast<std::size_t>(got);
  }
  return result;
}

CompanionFiles::CompanionFiles(const std::string& scene_path) {
  std::error_code ignored;
  directory_ = std::filesystem::canonical(
                   std::filesystem::absolute(scene_path, ignored).parent_path(), ignored)
                   .string();
}

std::string CompanionFiles::find(std::string_view name) const {
  std::string relative(name);
  std::ranges::replace(relative, '\\', '/');
  const auto fail = [&](const std::string& reason) {
    throw Error(Exit::scene, printable(name, 200) + ": " + reason);
  };
  if (relative.empty() || relative.find('\0') != relative.npos) fail("it is not a file name");
  const std::filesystem::path path(relative);
  if (path.is_absolute()) fail("it is outside of the scene file's directory");
  std::error_code error;
  const std::filesystem::path found = std::filesystem::canonical(directory_ / path, error);
  if (error) fail(error.message());
  const std::filesystem::path directory(directory_);
  const auto [outside, inside] =
      std::mismatch(directory.begin(), directory.end(), found.begin(), found.end());
  if (directory_.empty() || outside != directory.end())
    fail("it is outside of the scene file's directory");
  if (!std::filesystem::is_regular_file(found, error)) fail("it is not a regular file");
  return found.string();
}

std::string CompanionFiles::find_anywhere(std::string_view name) const {
  try {
    return find(name);
  } catch (const Error&) {
    const std::size_t separator = name.find_last_of("/\\");
    if (separator == name.npos) throw;
    try {
      return find(name.substr(separator + 1));
    } catch (const Error&) {
    }
    throw;
  }
}

std::string printable(std::string_view text, std::size_t limit) {
  return escaped(text, limit, true);
}

std::string utf8_text(std::string_view text) { return escaped(text, text.size(), false); }

std::string_view without_byte_order_mark(std::string_view text) {
  return text.starts_with("\xef\xbb\xbf") ? text.substr(3) : text;
}

std::string stem_of(const std::string& path) { return std::filesystem::path(path).stem().string(); }
std::string extension_of(const std::string& path) {
  return lower(std::filesystem::path(path).extension().string());
}

std::string_view next_word(std::string_view& line) {
  line = trimmed(line);
  const std::string_view word = line.substr(0, std::min(line.find_first_of(blanks), line.size()));
  line.remove_prefix(word.size());
  return word;
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (std::string_view word = next_word(line); !word.empty(); word = next_word(line))
    words.push_back(word);
  return words;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(blanks), text.size());
  return text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
}

std::string_view without_plus(std::string_view number) {
  const bool has_plus = number.starts_with('+') && !number.substr(1).starts_with('-');
  return number.substr(has_plus ? 1 : 0);
}

bool parse_double(std::string_view text, double& value) {
  const std::string_view digits = without_plus(text);
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value);
  // from_chars leaves the value unset if it is out of range: too small is 0, too large is infinite.
  if (error == std::errc::result_out_of_range)
    value = std::strtod(std::string(digits).c_str(), nullptr);
  return stop == end && error != std::errc::invalid_argument;
}

std::string_view next_part(std::string_view& text) {
  const std::string_view part = text.substr(0, text.find(':'));
  text.remove_prefix(std::min(part.size() + 1, text.size()));
  return part;
}

bool parse_count(std::string_view text, double& count) {
  const double unit = text.ends_with('k') ? 1e3 : text.ends_with('m') ? 1e6 : 1;
  if (unit > 1) text.remove_suffix(1);
  if (!parse_number(text, count, std::chars_format::fixed) || !(count >= 0 && count < 1e12))
    return false;
  count *= unit;
  return unit > 1 || count == std::floor(count);
}

std::size_t json_nesting(std::string_view text) {
  std::size_t depth = 0, max_depth = 0;
  bool is_in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_in_string && c == '\\') {
      ++i;  // an escaped quote does not end a string
    } else if (c == '"') {
      is_in_string = !is_in_string;
    } else if (!is_in_string && (c == '{' || c == '[')) {
      max_depth = std::max(max_depth, ++depth);
    } else if (!is_in_string && (c == '}' || c == ']') && depth > 0) {
      --depth;
    }
  }
  return max_depth;
}

std::uint32_t byte_of(double share) {
  return share > 0 ? static_cast<std::uint32_t>(std::min(share, 1.0) * 255 + 0.5) : 0;
}

const char* foreign_kind(std::string_view file) {
  constexpr const char *utf16 = "it is UTF-16 text, as PowerShell writes it; save it as UTF-8",
                       *html = "it is a web page: the download has failed";
  constexpr std::pair<std::string_view, const char*> kinds[] = {
      {"\xff\xfe", utf16},
      {"\xfe\xff", utf16},
      {"\x1f\x8b", "it is compressed by gzip; unpack it first"},
      {"pk\x03\x04", "it is a ZIP archive; unpack it first"},
      {"version https://git-lfs", "it is a pointer of Git LFS; `git lfs pull` fetches the file"},
      {"<!doctype html", html},
      {"<html", html}};
  for (const auto& [beginning, kind] : kinds) {
    if (lower(file.substr(0, beginning.size())) == beginning) return kind;
  }
  return nullptr;
}

std::uint64_t fnv1a(std::string_view bytes, std::uint64_t hash) {
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

std::string hex_digits(std::uint64_t value) {
  char digits[17];
  std::snprintf(digits, sizeof(digits), "%016llx", static_cast<unsigned long long>(value));
  return digits;
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

}  // namespace heapwood::scenes
