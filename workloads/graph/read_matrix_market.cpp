// SPDX-License-Identifier: MIT
#include <algorithm>
#include <string>
#include <vector>

#include "workloads/graph/builder.hpp"
#include "workloads/graph/read_graph.hpp"

namespace heapwood::workloads::graph {
namespace {

struct Header {
  bool is_mirrored = false;  // one entry stands for both directions
  std::uint64_t values = 0;  // numbers per entry after its row and column
};

// `%%MatrixMarket matrix coordinate FIELD SYMMETRY`, in upper or lower case.
Header parse_banner(LineReader& lines) {
  std::string_view line;
  if (!lines.next(line)) lines.fail_at(1, "the file is empty");
  const std::string banner = lower(next_word(line)), object = lower(next_word(line)),
                    format = lower(next_word(line)), field = lower(next_word(line)),
                    symmetry = lower(next_word(line));
  if (banner != "%%matrixmarket" || object != "matrix")
    lines.fail("a Matrix Market file starts with '%%MatrixMarket matrix'");
  if (format != "coordinate")
    lines.fail("format '" + printable(format) + "': only 'coordinate' describes a graph");
  Header header;
  if (field == "real" || field == "integer" || field == "double") {
    header.values = 1;
  } else if (field == "complex") {
    header.values = 2;
  } else if (field != "pattern") {
    lines.fail("field '" + printable(field) + "' is not real, integer, complex or pattern");
  }
  header.is_mirrored =
      symmetry == "symmetric" || symmetry == "skew-symmetric" || symmetry == "hermitian";
  if (!header.is_mirrored && symmetry != "general") {
    lines.fail("symmetry '" + printable(symmetry) +
               "' is not general, symmetric, skew-symmetric or hermitian");
  }
  lines.require_end(line);
  return header;
}

// Comment lines may occur anywhere.
bool next_content_line(LineReader& lines, std::string_view& line) {
  while (lines.next(line)) {
    std::string_view rest = line;
    const std::string_view word = next_word(rest);
    if (!word.empty() && !word.starts_with('%')) return true;
  }
  return false;
}

}  // namespace

GraphInput parse_matrix_market(std::string_view text, const std::string& name) {
  LineReader lines(text, name);
  const Header header = parse_banner(lines);
  std::string_view line;
  if (!next_content_line(lines, line))
    lines.fail("the file ends before the line 'ROWS COLUMNS ENTRIES'");
  const std::uint64_t rows = lines.require_unsigned(line, "the number of rows");
  const std::uint64_t columns = lines.require_unsigned(line, "the number of columns");
  const std::uint64_t count = lines.require_unsigned(line, "the number of entries");
  lines.require_end(line);
  if (rows != columns) {
    lines.fail("the matrix has " + std::to_string(rows) + " rows and " + std::to_string(columns) +
               " columns; a graph needs as many of both");
  }
  if (rows == 0) lines.fail("the matrix has no rows: a graph needs a vertex");
  if (rows > max_vertices)
    lines.fail(std::to_string(rows) + " rows are more vertices than 32 bits can number");
  if (rows > std::max<std::uint64_t>(text.size(), 1 << 20)) {
    lines.fail(std::to_string(rows) + " rows in a file of " + std::to_string(text.size()) +
               " bytes: nearly all vertices would have no edge");
  }

  std::vector<Edge> entries;
  entries.reserve(std::min(count, lines.count_remaining_lines()));
  while (next_content_line(lines, line)) {
    if (entries.size() == count)
      lines.fail("more entries than the " + std::to_string(count) + " of the size line");
    const auto index = [&](const char* what) {
      const std::uint64_t one_based = lines.require_unsigned(line, what);
      if (one_based == 0 || one_based > rows) {
        lines.fail(std::string(what) + " " + std::to_string(one_based) + " is not from 1 to " +
                   std::to_string(rows));
      }
      return static_cast<std::uint32_t>(one_based - 1);
    };
    const std::uint32_t row = index("the row");
    entries.push_back({row, index("the column")});
    lines.skip_numbers(line, header.values, "the value");
    lines.require_end(line);
  }
  if (entries.size() < count) {
    lines.fail("the file ends after " + std::to_string(entries.size()) + " of " +
               std::to_string(count) + " entries");
  }
  GraphInput input = build_graph(rows, header.is_mirrored, [&](auto&& visit) {
    for (const Edge& edge : entries) visit(edge);
  });
  if (!header.is_mirrored) input.is_symmetric = !find_one_way_edge(input.graph);
  return input;
}

}  // namespace heapwood::workloads::graph
