// SPDX-License-Identifier: MIT
#include "workloads/graph/read_graph.hpp"

#include <algorithm>
#include <vector>

#include "simt/error.hpp"
#include "workloads/graph/builder.hpp"

namespace heapwood::workloads::graph {

std::optional<std::uint64_t> parse_unsigned(std::string_view word) {
  std::uint64_t value = 0;
  if (!scenes::parse_number(word, value)) return std::nullopt;
  return value;
}

bool looks_like_number(std::string_view word) {
  if (word.find_first_not_of("0123456789+-.eEdD") == word.npos)
    return word.find_first_of("0123456789") != word.npos;
  if (word.starts_with('-') || word.starts_with('+')) word.remove_prefix(1);
  return word == "nan" || word == "NaN" || word == "inf" || word == "Inf";
}

LineReader::LineReader(std::string_view text, const std::string& name)
    : rest_(scenes::without_byte_order_mark(text)), name_(name) {}

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
  throw Error(Exit::scene,
              printable(name_, name_.size()) + ": line " + std::to_string(line) + ": " + what);
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
