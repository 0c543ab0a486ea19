// SPDX-License-Identifier: MIT
// What the readers of graph files share: the whole text of a file, lines, words, numbers, and
// errors `FILE:LINE: what`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace heapwood::workloads::graph {

// Throws Error{Exit::scene} with the system's reason. Regular files only: reading a device or a
// pipe may never end.
std::string read_text(const std::string& path);

// The text on one line, truncated to `limit` bytes; control characters become `?`, and so do, in
// text that is not a path, all characters that are not ASCII.
std::string printable(std::string_view text, std::size_t limit = 40);
std::string printable_path(std::string_view path);

std::string lower(std::string_view text);  // ASCII only

// Removes and returns the first word of the line; empty if there is none. Words are separated by
// blanks and tabs.
std::string_view next_word(std::string_view& line);

// A decimal number without a sign below 2^64; nullopt for any other word.
std::optional<std::uint64_t> parse_unsigned(std::string_view word);

// A word made of the characters of a decimal number: for values that are not used.
bool looks_like_number(std::string_view word);

// Lines end in LF or CRLF; the last one may lack it. Skips a byte order mark.
class LineReader {
 public:
  LineReader(std::string_view text, const std::string& name);

  // False at the end of the text.
  bool next(std::string_view& line);

  // Of the line that next() returned; 0 before the first.
  std::uint64_t number() const { return number_; }

  // An upper bound of the number of lines that follow.
  std::uint64_t count_remaining_lines() const;

  // Throws Error{Exit::scene}: `FILE:LINE: what`, with the current line.
  [[noreturn]] void fail(const std::string& what) const { fail_at(number_, what); }
  [[noreturn]] void fail_at(std::uint64_t line, const std::string& what) const;

  // The next word of the line as a number of `what`, which must be there.
  std::uint64_t require_unsigned(std::string_view& line, const char* what) const;
  // Checks that `count` numbers follow on the line and skips them.
  void skip_numbers(std::string_view& line, std::uint64_t count, const char* what) const;
  void require_end(std::string_view line) const;

 private:
  std::string_view rest_;
  const std::string& name_;
  std::uint64_t number_ = 0;
};

}  // namespace heapwood::workloads::graph
