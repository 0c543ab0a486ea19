// SPDX-License-Identifier: MIT
// Readers of graph files. Each takes the whole text and the name to use in errors, and throws
// Error{Exit::scene} `NAME:LINE: what` for a malformed file. Loops are dropped and duplicates
// merged; InputCounts has their numbers.
//
// Memory in addition to the text is bounded by the text, whatever its numbers: at most 24 bytes per
// byte of the text and 12 MiB, the graph included. Typical files take 1 to 3 bytes per byte.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "scenes/file.hpp"
#include "workloads/graph/host_graph.hpp"

namespace heapwood::workloads::graph {

// Matrix Market, `coordinate` only: a square matrix; each entry, whatever its value, is an edge
// from its row to its column, and if the matrix is symmetric, skew-symmetric or Hermitian also the
// opposite one. A `general` matrix gives a directed graph, which may still be symmetric. Refuses
// matrices that have both more than 2^20 rows and more rows than the text has bytes: nearly all
// their vertices would have no edge.
GraphInput parse_matrix_market(std::string_view text, const std::string& name);

// METIS and the 10th DIMACS challenge: a line per vertex with its neighbours, counted from 1.
// Weights and sizes are skipped. An edge must be in the lists of both its vertices.
GraphInput parse_metis(std::string_view text, const std::string& name);

// SNAP: two ids below 2^64 per line, `#` before comments. The ids in use are renumbered in
// ascending order. Further columns, which must be numbers, are ignored. All edges are undirected:
// the format does not say whether they are, and the comments that do are not reliable.
GraphInput parse_edge_list(std::string_view text, const std::string& name);

// ---- what the readers share: lines, words, numbers ----------------------------------------------

using scenes::lower, scenes::next_word, scenes::printable;

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

  // The number of the line that next() returned; 0 before the first.
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

// An edge whose opposite is not in the graph; none if the graph is symmetric. Takes linear time and
// 4 bytes per vertex.
std::optional<Edge> find_one_way_edge(const HostGraph& graph);

}  // namespace heapwood::workloads::graph
