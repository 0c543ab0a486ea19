// SPDX-License-Identifier: MIT
#include <algorithm>
#include <string>

#include "workloads/graph/builder.hpp"
#include "workloads/graph/read_graph.hpp"

namespace heapwood::workloads::graph {
namespace {

struct MetisHeader {
  std::uint64_t vertices = 0, edges = 0;
  std::uint64_t numbers_before = 0;  // the vertex's size and weights
  bool has_edge_weights = false;
};

// Blank lines are vertices without neighbours.
bool next_line(LineReader& lines, std::string_view& line) {
  while (lines.next(line)) {
    if (!line.starts_with('%')) return true;
  }
  return false;
}

// `VERTICES EDGES [FORMAT [WEIGHTS]]`. The digits of the format, 0 or 1 each, say whether there are
// vertex sizes, vertex weights and edge weights.
MetisHeader parse_header(LineReader& lines) {
  std::string_view line, word;
  MetisHeader header;
  do {
    if (!next_line(lines, line))
      lines.fail_at(std::max<std::uint64_t>(lines.number(), 1),
                    "the file ends before the line 'VERTICES EDGES'");
  } while (next_word(word = line).empty());
  header.vertices = lines.require_unsigned(line, "the number of vertices");
  header.edges = lines.require_unsigned(line, "the number of edges");
  const std::string_view format = next_word(line);
  if (format.size() > 3 || format.find_first_not_of("01") != format.npos)
    lines.fail("format '" + printable(format) + "' is not up to three digits 0 or 1");
  const auto digit = [&](std::size_t from_end) {
    return format.size() >= from_end && format[format.size() - from_end] == '1';
  };
  header.has_edge_weights = digit(1);
  std::uint64_t weights = 1;
  if (std::string_view rest = line; !next_word(rest).empty())
    weights = lines.require_unsigned(line, "the number of weights per vertex");
  header.numbers_before = (digit(3) ? 1 : 0) + (digit(2) ? weights : 0);
  lines.require_end(line);
  if (header.vertices == 0) lines.fail("the graph has no vertices");
  if (header.vertices > max_vertices) {
    lines.fail(std::to_string(header.vertices) + " vertices are more than 32 bits can number");
  }
  if (header.vertices > lines.count_remaining_lines()) {
    lines.fail(std::to_string(header.vertices) + " vertices, but fewer lines follow");
  }
  return header;
}

class MetisParser {
 public:
  MetisParser(std::string_view text, const std::string& name)
      : text_(text),
        name_(name),
        lines_(text, name),
        header_(parse_header(lines_)),
        header_line_(lines_.number()) {}

  GraphInput run() {
    std::vector<std::uint64_t>& offsets = input_.graph.offsets;
    offsets.reserve(header_.vertices + 1);
    // A destination takes at least two bytes of the text.
    input_.graph.destinations.reserve(std::min<std::uint64_t>(header_.edges, text_.size() / 4 + 1) *
                                      2);
    std::string_view line;
    while (offsets.size() <= header_.vertices) {
      // A last line that is blank and ends with the file is not seen as a line.
      if (!next_line(lines_, line)) {
        if (offsets.size() < header_.vertices || !text_.ends_with('\n')) {
          lines_.fail("the file ends after " + std::to_string(offsets.size() - 1) + " of " +
                      std::to_string(header_.vertices) + " vertices");
        }
        line = {};
        if (header_.numbers_before > 0) lines_.fail("the last vertex is missing");
      }
      add_vertex(line);
    }
    while (next_line(lines_, line)) lines_.require_end(line);
    if (input_.counts.entries % 2 != 0 || input_.counts.entries / 2 != header_.edges) {
      lines_.fail_at(header_line_, "each of the " + std::to_string(header_.edges) +
                                       " edges should be listed twice, but there are " +
                                       std::to_string(input_.counts.entries) + " neighbours");
    }
    if (const auto edge = find_one_way_edge(input_.graph)) {
      lines_.fail_at(vertex_line(edge->source), "vertex " + std::to_string(edge->source + 1) +
                                                    " lists " +
                                                    std::to_string(edge->destination + 1) +
                                                    " as a neighbour, but not vice versa");
    }
    return std::move(input_);
  }

 private:
  void add_vertex(std::string_view line) {
    std::vector<std::uint32_t>& destinations = input_.graph.destinations;
    const auto vertex = static_cast<std::uint32_t>(input_.graph.offsets.size() - 1);
    lines_.skip_numbers(line, header_.numbers_before, "a size or weight of the vertex");
    const auto begin = static_cast<std::ptrdiff_t>(destinations.size());
    for (std::string_view rest = line; !next_word(rest).empty(); rest = line) {
      const std::uint64_t neighbour = lines_.require_unsigned(line, "the neighbour");
      if (neighbour == 0 || neighbour > header_.vertices) {
        lines_.fail("the neighbour " + std::to_string(neighbour) + " is not from 1 to " +
                    std::to_string(header_.vertices));
      }
      if (header_.has_edge_weights) lines_.skip_numbers(line, 1, "the weight of an edge");
      ++input_.counts.entries;
      if (neighbour - 1 == vertex) {
        ++input_.counts.loops;
      } else {
        destinations.push_back(static_cast<std::uint32_t>(neighbour - 1));
      }
    }
    const auto row = destinations.begin() + begin;
    if (!std::is_sorted(row, destinations.end())) std::sort(row, destinations.end());
    const auto end = std::unique(row, destinations.end());
    input_.counts.duplicates += static_cast<std::uint64_t>(destinations.end() - end);
    destinations.erase(end, destinations.end());
    input_.graph.offsets.push_back(destinations.size());
  }

  // For messages: looked up in a second pass.
  std::uint64_t vertex_line(std::uint32_t vertex) const {
    LineReader lines(text_, name_);
    parse_header(lines);
    std::string_view line;
    for (std::uint64_t i = 0; i <= vertex; ++i) next_line(lines, line);
    return lines.number();
  }

  std::string_view text_;
  const std::string& name_;
  LineReader lines_;
  MetisHeader header_;
  std::uint64_t header_line_;
  GraphInput input_;
};

}  // namespace

GraphInput parse_metis(std::string_view text, const std::string& name) {
  return MetisParser(text, name).run();
}

}  // namespace heapwood::workloads::graph
