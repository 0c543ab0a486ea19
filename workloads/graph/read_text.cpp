// SPDX-License-Identifier: MIT
#include "workloads/graph/read_graph.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <vector>

#include "simt/error.hpp"
#include "workloads/graph/builder.hpp"

namespace heapwood::workloads::graph {
namespace {

constexpr std::string_view blanks = " \t\v\f";

}  // namespace

std::string printable(std::string_view text, std::size_t limit) {
  std::string shown;
  for (const char c : text.substr(0, limit)) shown += c >= 0x20 && c < 0x7f ? c : '?';
  return text.size() > limit ? shown + "..." : shown;
}

std::string printable_path(std::string_view path) {
  std::string shown;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    shown += byte >= 0x20 && byte != 0x7f ? c : '?';
  }
  return shown;
}

std::string read_text(const std::string& path) {
  const auto fail = [&](const std::string& reason) {
    throw Error(Exit::scene, printable_path(path) + ": cannot be read: " + reason);
  };
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (error) fail(error.message());
  if (std::filesystem::is_directory(status)) fail("it is a directory");
  if (!std::filesystem::is_regular_file(status)) fail("it is not a regular file");
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error) fail(error.message());

  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             std::fclose);
  if (file == nullptr) fail(std::strerror(errno));
  std::string text;
  try {
    text.resize(size);
  } catch (const std::exception&) {
    fail("its " + std::to_string(size) + " bytes do not fit in memory");
  }
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (std::ferror(file.get()) != 0) fail(std::strerror(errno));
  return text;
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

std::string_view next_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(blanks), line.size()));
  const std::string_view word = line.substr(0, std::min(line.find_first_of(blanks), line.size()));
  line.remove_prefix(word.size());
  return word;
}

std::optional<std::uint64_t> parse_unsigned(std::string_view word) {
  std::uint64_t value = 0;
  const char* const end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, value);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

bool looks_like_number(std::string_view word) {
  if (word.find_first_not_of("0123456789+-.eEdD") == word.npos)
    return word.find_first_of("0123456789") != word.npos;
  if (word.starts_with('-') || word.starts_with('+')) word.remove_prefix(1);
  return word == "nan" || word == "NaN" || word == "inf" || word == "Inf";
}

LineReader::LineReader(std::string_view text, const std::string& name) : rest_(text), name_(name) {
  if (rest_.starts_with("\xef\xbb\xbf")) rest_.remove_prefix(3);
}

bool LineReader::next(std::string_view& line) {
  if (rest_.empty()) return false;
  const std::size_t end = rest_.find('\n');
  line = rest_.substr(0, end);
  rest_.remove_prefix(end == rest_.npos ? rest_.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  check_interruption(++number_);
  return true;
}

std::uint64_t LineReader::count_remaining_lines() const {
  return static_cast<std::uint64_t>(std::count(rest_.begin(), rest_.end(), '\n')) + 1;
}

void LineReader::fail_at(std::uint64_t line, const std::string& what) const {
  throw Error(Exit::scene, printable_path(name_) + ": line " + std::to_string(line) + ": " + what);
}

std::uint64_t LineReader::require_unsigned(std::string_view& line, const char* what) const {
  const std::string_view word = next_word(line);
  if (word.empty()) fail(std::string(what) + " is missing");
  const auto value = parse_unsigned(word);
  if (!value)
    fail(std::string(what) + " '" + printable(word) + "' is not a whole number from 0 to 2^64 - 1");
  return *value;
}

void LineReader::skip_numbers(std::string_view& line, std::uint64_t count, const char* what) const {
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::string_view word = next_word(line);
    if (word.empty()) fail(std::string(what) + " is missing");
    if (!looks_like_number(word))
      fail(std::string(what) + " '" + printable(word) + "' is not a number");
  }
}

void LineReader::require_end(std::string_view line) const {
  const std::string_view word = next_word(line);
  if (!word.empty()) fail("'" + printable(word) + "': nothing may follow on this line");
}

// Vertices are visited in ascending order, so that the sources of the edges to a vertex v appear in
// ascending order. In a symmetric graph they are v's neighbours, in the same order: `matched[v]` of
// them have been seen.
std::optional<Edge> find_one_way_edge(const HostGraph& graph) {
  std::vector<std::uint32_t> matched(graph.vertices(), 0);
  for (std::uint32_t u = 0; u < graph.vertices(); ++u) {
    for (const std::uint32_t v : graph.neighbours(u)) {
      if (matched[v] == graph.degree(v)) return Edge{u, v};
      const std::uint32_t expected = graph.neighbours(v)[matched[v]];
      // v's edge to a vertex before u, which has been visited and did not lead to v.
      if (expected < u) return Edge{v, expected};
      if (expected > u) return Edge{u, v};
      ++matched[v];
    }
  }
  for (std::uint32_t v = 0; v < graph.vertices(); ++v) {
    if (matched[v] < graph.degree(v)) return Edge{v, graph.neighbours(v)[matched[v]]};
  }
  return std::nullopt;
}

}  // namespace heapwood::workloads::graph
