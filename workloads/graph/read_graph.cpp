// SPDX-License-Identifier: MIT
#include "workloads/graph/source.hpp"

#include <algorithm>
#include <bit>

#include "scenes/file.hpp"
#include "simt/error.hpp"
#include "workloads/graph/builder.hpp"

namespace heapwood::workloads::graph {
namespace {

using scenes::lower, scenes::next_word, scenes::printable;

// Whether a word consists of the characters of a decimal number. For values that are not used.
bool looks_like_number(std::string_view word) {
  if (word.find_first_not_of("0123456789+-.eEdD") == word.npos)
    return word.find_first_of("0123456789") != word.npos;
  if (word.starts_with('-') || word.starts_with('+')) word.remove_prefix(1);
  return word == "nan" || word == "NaN" || word == "inf" || word == "Inf";
}

// Reads lines, which end in LF or CRLF; the last one may have no end. Skips a byte order mark.
class LineReader {
 public:
  LineReader(std::string_view text, const std::string& name)
      : rest_(scenes::without_byte_order_mark(text)), name_(name) {}

  // Reads the next line. Returns false at the end of the text.
  bool next(std::string_view& line) {
    if (rest_.empty()) return false;
    const std::size_t end = rest_.find('\n');
    line = rest_.substr(0, end);
    rest_.remove_prefix(end == rest_.npos ? rest_.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    check_interruption(++number_);
    return true;
  }

  // The number of the line that next() returned last; 0 before the first.
  std::uint64_t number() const { return number_; }

  // An upper bound of the number of lines that follow.
  std::uint64_t count_remaining_lines() const {
    return static_cast<std::uint64_t>(std::ranges::count(rest_, '\n')) + 1;
  }

  // Throws Error{Exit::scene}: `FILE:LINE: what`, with the current line.
  [[noreturn]] void fail(const std::string& what) const { fail_at(number_, what); }
  [[noreturn]] void fail_at(std::uint64_t line, const std::string& what) const {
    throw Error(Exit::scene,
                printable(name_, name_.size()) + ": line " + std::to_string(line) + ": " + what);
  }

  // Reads the next word of the line as a number or throws; messages call it `what`.
  std::uint64_t require_unsigned(std::string_view& line, const char* what) const {
    const std::string_view word = next_word(line);
    if (word.empty()) fail(std::string(what) + " is missing");
    std::uint64_t value = 0;
    if (!scenes::parse_number(word, value))
      fail(std::string(what) + " '" + printable(word) +
           "' is not a whole number from 0 to 2^64 - 1");
    return value;
  }
  // Checks that `count` numbers follow on the line and skips them.
  void skip_numbers(std::string_view& line, std::uint64_t count, const char* what) const {
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::string_view word = next_word(line);
      if (word.empty()) fail(std::string(what) + " is missing");
      if (!looks_like_number(word))
        fail(std::string(what) + " '" + printable(word) + "' is not a number");
    }
  }
  void require_end(std::string_view line) const {
    const std::string_view word = next_word(line);
    if (!word.empty()) fail("'" + printable(word) + "': nothing may follow on this line");
  }

 private:
  std::string_view rest_;
  const std::string& name_;
  std::uint64_t number_ = 0;
};

// Returns an edge whose opposite is not in the graph, or nothing if the graph is symmetric. Takes
// linear time and 4 bytes per vertex.
//
// Vertices are visited in ascending order, so that the sources of the edges to a vertex v appear in
// ascending order. In a symmetric graph they are v's neighbours, in the same order: `matched[v]` of
// them have been seen.
std::optional<Edge> find_one_way_edge(const HostGraph& graph) {
  std::vector<std::uint32_t> matched(graph.vertices(), 0);
  for (std::uint32_t u = 0; u < graph.vertices(); ++u) {
    for (const std::uint32_t v : graph.neighbours(u)) {
      if (matched[v] == graph.degree(v)) return Edge{u, v};
      const std::uint32_t expected = graph.neighbours(v)[matched[v]];
      // v has an edge to `expected`, which has been visited and did not lead to v.
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

// ---- Matrix Market

struct MatrixHeader {
  bool is_mirrored = false;  // an entry stands for both directions
  std::uint64_t values = 0;  // numbers per entry after its row and column
};

// `%%MatrixMarket matrix coordinate FIELD SYMMETRY`, in upper or lower case.
MatrixHeader parse_banner(LineReader& lines) {
  std::string_view line;
  if (!lines.next(line)) lines.fail_at(1, "the file is empty");
  const std::string banner = lower(next_word(line)), object = lower(next_word(line)),
                    format = lower(next_word(line)), field = lower(next_word(line)),
                    symmetry = lower(next_word(line));
  if (banner != "%%matrixmarket" || object != "matrix")
    lines.fail("a Matrix Market file starts with '%%MatrixMarket matrix'");
  if (format != "coordinate")
    lines.fail("format '" + printable(format) + "': only 'coordinate' describes a graph");
  MatrixHeader header;
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

// Reads the next line that is not a comment; comments may occur anywhere.
bool next_content_line(LineReader& lines, std::string_view& line) {
  while (lines.next(line)) {
    std::string_view rest = line;
    const std::string_view word = next_word(rest);
    if (!word.empty() && !word.starts_with('%')) return true;
  }
  return false;
}

// ---- edge lists

struct IdPair {
  std::uint64_t source, destination;
};

// Columns are separated by blanks or commas; comments begin with # (SNAP) or % (KONECT).
std::vector<IdPair> parse_pairs(LineReader& lines) {
  std::vector<IdPair> pairs;
  pairs.reserve(lines.count_remaining_lines());
  std::string blanks;
  for (std::string_view line; lines.next(line);) {
    std::string_view rest = line;
    const std::string_view word = next_word(rest);
    if (word.empty() || word.starts_with('#') || word.starts_with('%')) continue;
    if (line.find(',') != line.npos) {
      blanks = line;
      std::ranges::replace(blanks, ',', ' ');
      line = blanks;
    }
    const std::uint64_t source = lines.require_unsigned(line, "the first id");
    pairs.push_back({source, lines.require_unsigned(line, "the second id")});
    while (!next_word(rest = line).empty()) lines.skip_numbers(line, 1, "a column");
  }
  if (pairs.empty())
    lines.fail_at(std::max<std::uint64_t>(lines.number(), 1), "the file has no edges");
  return pairs;
}

// Numbers the ids that occur in ascending order. Has a bit per id, and for each word of 64 the
// number of bits before it.
class DenseIds {
 public:
  DenseIds(const std::vector<IdPair>& pairs, std::uint64_t max_id)
      : used_(max_id / 64 + 1), before_(used_.size()) {
    for (const IdPair& pair : pairs) {
      for (const std::uint64_t id : {pair.source, pair.destination})
        used_[id / 64] |= std::uint64_t{1} << id % 64;
    }
    for (std::size_t i = 0; i < used_.size(); ++i) {
      before_[i] = count_;
      count_ += static_cast<std::uint64_t>(std::popcount(used_[i]));
    }
  }
  std::uint64_t count() const { return count_; }
  std::uint64_t number(std::uint64_t id) const {
    const std::uint64_t lower = used_[id / 64] & ((std::uint64_t{1} << id % 64) - 1);
    return before_[id / 64] + static_cast<std::uint64_t>(std::popcount(lower));
  }

 private:
  std::uint64_t count_ = 0;
  std::vector<std::uint64_t> used_, before_;
};

// Numbers arbitrary ids, by binary search in a sorted list.
class SparseIds {
 public:
  explicit SparseIds(const std::vector<IdPair>& pairs) {
    ids_.reserve(pairs.size() * 2);
    for (const IdPair& pair : pairs) ids_.insert(ids_.end(), {pair.source, pair.destination});
    std::ranges::sort(ids_);
    ids_.erase(std::unique(ids_.begin(), ids_.end()), ids_.end());
  }
  std::uint64_t count() const { return ids_.size(); }
  std::uint64_t number(std::uint64_t id) const {
    return static_cast<std::uint64_t>(std::ranges::lower_bound(ids_, id) - ids_.begin());
  }

 private:
  std::vector<std::uint64_t> ids_;
};

// Replaces ids by their numbers and returns the number of distinct ids.
template <class Ids>
std::uint64_t renumber(const Ids& ids, std::vector<IdPair>& pairs) {
  for (IdPair& pair : pairs) pair = {ids.number(pair.source), ids.number(pair.destination)};
  return ids.count();
}

// ---- METIS

struct MetisHeader {
  std::uint64_t vertices = 0, edges = 0;
  // Numbers on a line before its edges: the vertex's size and weights.
  std::uint64_t numbers_before = 0;
  bool has_edge_weights = false;
};

// Reads the next line that is not a comment. A blank line stands for a vertex without neighbours.
bool next_metis_line(LineReader& lines, std::string_view& line) {
  while (lines.next(line)) {
    if (!line.starts_with('%')) return true;
  }
  return false;
}

// `VERTICES EDGES [FORMAT [WEIGHTS]]`. The digits of the format, 0 or 1 each, say whether there are
// vertex sizes, vertex weights and edge weights.
MetisHeader parse_metis_header(LineReader& lines) {
  std::string_view line, word;
  MetisHeader header;
  do {
    if (!next_metis_line(lines, line))
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
        header_(parse_metis_header(lines_)),
        header_line_(lines_.number()) {}

  GraphInput run() {
    std::vector<std::uint64_t>& offsets = input_.graph.offsets;
    offsets.reserve(header_.vertices + 1);
    // Each destination takes at least two bytes of the text, which bounds the reservation.
    input_.graph.destinations.reserve(std::min<std::uint64_t>(header_.edges, text_.size() / 4 + 1) *
                                      2);
    std::string_view line;
    while (offsets.size() <= header_.vertices) {
      // LineReader does not return a last line that is blank and ends with the file.
      if (!next_metis_line(lines_, line)) {
        if (offsets.size() < header_.vertices || !text_.ends_with('\n')) {
          lines_.fail("the file ends after " + std::to_string(offsets.size() - 1) + " of " +
                      std::to_string(header_.vertices) + " vertices");
        }
        line = {};
        if (header_.numbers_before > 0) lines_.fail("the last vertex is missing");
      }
      add_vertex(line);
    }
    while (next_metis_line(lines_, line)) lines_.require_end(line);
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

  // The line of a vertex, for messages. Found in a second pass over the text.
  std::uint64_t vertex_line(std::uint32_t vertex) const {
    LineReader lines(text_, name_);
    parse_metis_header(lines);
    std::string_view line;
    for (std::uint64_t i = 0; i <= vertex; ++i) next_metis_line(lines, line);
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

GraphInput parse_matrix_market(std::string_view text, const std::string& name) {
  LineReader lines(text, name);
  const MatrixHeader header = parse_banner(lines);
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

GraphInput parse_edge_list(std::string_view text, const std::string& name) {
  LineReader lines(text, name);
  std::vector<IdPair> pairs = parse_pairs(lines);
  std::uint64_t max_id = 0;
  for (const IdPair& pair : pairs) max_id = std::max({max_id, pair.source, pair.destination});
  // DenseIds needs two words per 64 ids: here at most two bytes per byte of the text.
  const std::uint64_t vertices = max_id / 8 < text.size() ? renumber(DenseIds(pairs, max_id), pairs)
                                                          : renumber(SparseIds(pairs), pairs);
  if (vertices > max_vertices) lines.fail("more vertices than 32 bits can number");
  GraphInput input = build_graph(vertices, true, [&](auto&& visit) {
    for (const IdPair& pair : pairs) {
      visit(Edge{static_cast<std::uint32_t>(pair.source),
                 static_cast<std::uint32_t>(pair.destination)});
    }
  });
  input.is_renumbered = vertices != max_id + 1;
  return input;
}

GraphInput parse_metis(std::string_view text, const std::string& name) {
  return MetisParser(text, name).run();
}

}  // namespace heapwood::workloads::graph
