// SPDX-License-Identifier: MIT
// Readers of graph files: what they accept, what they drop, and the errors of malformed files.
#include <gtest/gtest.h>

#include "simt/error.hpp"
#include "tests/workloads/graph_input.hpp"
#include "workloads/graph/read_graph.hpp"

namespace heapwood::workloads::graph {
namespace {

using Rows = std::vector<std::vector<std::uint32_t>>;
using Parse = GraphInput (*)(std::string_view, const std::string&);

Rows rows_of(const GraphInput& input) {
  EXPECT_EQ(testing::find_fault(input.graph), "");
  EXPECT_EQ(testing::is_symmetric(input.graph), input.is_symmetric);
  Rows rows;
  for (std::uint32_t v = 0; v < input.graph.vertices(); ++v) {
    const auto row = input.graph.neighbours(v);
    rows.emplace_back(row.begin(), row.end());
  }
  return rows;
}

GraphInput parse(Parse reader, std::string_view text) {
  try {
    return reader(text, "file");
  } catch (const Error& error) {
    ADD_FAILURE() << error.what() << "\nfor\n" << text;
    return {};
  }
}

Rows rows_of(Parse reader, std::string_view text) { return rows_of(parse(reader, text)); }

// `what` must be the whole message behind "file: line ".
void expect_error(Parse reader, std::string_view text, const std::string& what) {
  try {
    reader(text, "file");
    ADD_FAILURE() << "no error for\n" << text;
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::scene);
    EXPECT_EQ(error.what(), "file: line " + what);
  }
}

constexpr const char* head = "%%MatrixMarket matrix coordinate ";
std::string mtx(const std::string& rest) { return head + rest; }

TEST(MatrixMarket, SymmetricEntriesGiveBothDirections) {
  const GraphInput input =
      parse(parse_matrix_market,
            mtx("pattern symmetric\n% a comment\n\n4 4 5\n2 1\n3 1\n3 3\n% another\n4 3\n2 1\n"));
  EXPECT_EQ(rows_of(input), (Rows{{1, 2}, {0}, {0, 3}, {2}}));
  EXPECT_EQ(input.counts, (InputCounts{5, 1, 1}));
  // Both triangles of a symmetric matrix: not as the format has it, but clear.
  EXPECT_EQ(rows_of(parse_matrix_market, mtx("pattern symmetric\n2 2 2\n1 2\n2 1\n")),
            (Rows{{1}, {0}}));
}

TEST(MatrixMarket, GeneralEntriesGiveOneDirection) {
  const GraphInput input =
      parse(parse_matrix_market, mtx("integer general\n3 3 3\n3 1 7\n1 2 -1\n2 3 0\n"));
  EXPECT_EQ(rows_of(input), (Rows{{1}, {2}, {0}}));
  EXPECT_FALSE(input.is_symmetric);
  const GraphInput both =
      parse(parse_matrix_market, mtx("pattern general\n2 2 3\n1 2\n2 1\n1 2\n"));
  EXPECT_TRUE(both.is_symmetric);
  EXPECT_EQ(both.counts, (InputCounts{3, 0, 1}));
}

TEST(MatrixMarket, ReadsAllFieldsAndSymmetries) {
  const Rows pair{{1}, {0}};
  for (const char* field : {"real", "integer", "double", "REAL"}) {
    EXPECT_EQ(rows_of(parse_matrix_market,
                      mtx(std::string(field) + " skew-symmetric\n2 2 1\n2 1 -1.5E+3\n")),
              pair);
  }
  EXPECT_EQ(rows_of(parse_matrix_market, mtx("complex hermitian\n2 2 1\n2 1 1e-9 nan\n")), pair);
  EXPECT_EQ(rows_of(parse_matrix_market,
                    "%%matrixmarket MATRIX Coordinate Pattern Symmetric\n2 2 1\n2 1"),
            pair);
  EXPECT_EQ(rows_of(parse_matrix_market, mtx("pattern general\n3 3 0\n")), Rows(3));
}

TEST(MatrixMarket, ReadsAnyLineEndsAndBlanks) {
  const Rows pair{{1}, {0}};
  const std::string text = mtx("pattern symmetric\n2 2 1\n 2\t 1 \n");
  std::string windows = "\xef\xbb\xbf";
  for (const char c : text) windows += c == '\n' ? std::string("\r\n") : std::string(1, c);
  EXPECT_EQ(rows_of(parse_matrix_market, windows), pair);
  EXPECT_EQ(rows_of(parse_matrix_market, text + "\n\n% end"), pair);
  EXPECT_EQ(rows_of(parse_matrix_market, mtx("pattern symmetric\n%" + std::string(100'000, 'x') +
                                             "\n2 2 1\n2" + std::string(100'000, ' ') + "1")),
            pair);
}

TEST(MatrixMarket, ErrorsNameTheLine) {
  const auto refuse = [](std::string_view text, const std::string& what) {
    expect_error(parse_matrix_market, text, what);
  };
  refuse("", "1: the file is empty");
  refuse("1 2\n", "1: a Matrix Market file starts with '%%MatrixMarket matrix'");
  refuse("%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n",
         "1: format 'array': only 'coordinate' describes a graph");
  refuse(mtx("float general\n"), "1: field 'float' is not real, integer, complex or pattern");
  refuse(mtx("real triangular\n"),
         "1: symmetry 'triangular' is not general, symmetric, skew-symmetric or hermitian");
  refuse(mtx("real general x\n"), "1: 'x': nothing may follow on this line");
  refuse(mtx("real general\n% only\n"), "2: the file ends before the line 'ROWS COLUMNS ENTRIES'");
  refuse(mtx("real general\n3 3\n"), "2: the number of entries is missing");
  refuse(mtx("real general\n3 4 1\n1 1 1\n"),
         "2: the matrix has 3 rows and 4 columns; a graph needs as many of both");
  refuse(mtx("real general\n0 0 0\n"), "2: the matrix has no rows: a graph needs a vertex");
  refuse(mtx("real general\n-3 3 1\n"),
         "2: the number of rows '-3' is not a whole number from 0 to 2^64 - 1");
  refuse(mtx("real general\n4294967295 4294967295 1\n"),
         "2: 4294967295 rows are more vertices than 32 bits can number");
  refuse(mtx("pattern general\n3 3 2\n1 2\n"), "3: the file ends after 1 of 2 entries");
  refuse(mtx("pattern general\n3 3 1\n1 2\n\n2 3\n"),
         "5: more entries than the 1 of the size line");
  refuse(mtx("pattern general\n3 3 1\n0 2\n"), "3: the row 0 is not from 1 to 3");
  refuse(mtx("pattern general\n3 3 1\n1 4\n"), "3: the column 4 is not from 1 to 3");
  refuse(mtx("pattern general\n3 3 1\n1 99999999999999999999\n"),
         "3: the column '99999999999999999999' is not a whole number from 0 to 2^64 - 1");
  refuse(mtx("pattern general\n3 3 1\n1\n"), "3: the column is missing");
  refuse(mtx("pattern general\n3 3 1\n1 2 1.0\n"), "3: '1.0': nothing may follow on this line");
  refuse(mtx("real general\n3 3 1\n1 2\n"), "3: the value is missing");
  refuse(mtx("complex general\n3 3 1\n1 2 1\n"), "3: the value is missing");
  refuse(mtx("real general\n3 3 1\n1 2 \x01"
             "one\n"),
         "3: the value '\\x01one' is not a number");
}

TEST(Metis, ReadsNeighboursAndSkipsWeights) {
  const Rows path{{1}, {0, 2}, {1}, {}};
  const GraphInput plain = parse(parse_metis, "% a path\n4 2\n2\n%\n3 1\n2\n\n");
  EXPECT_EQ(rows_of(plain), path);
  EXPECT_EQ(plain.counts, (InputCounts{4, 0, 0}));
  // The last vertex has no line of its own: its newline is missing.
  EXPECT_EQ(rows_of(parse_metis, "4 2\n2\n3 1\n2\n"), path);
  EXPECT_EQ(rows_of(parse_metis, "4 2 1\r\n2 9\r\n1 9 3 8\r\n2 8\r\n\r\n\r\n"), path);
  EXPECT_EQ(rows_of(parse_metis, "4 2 011 2\n7 7 2 9\n7 7 1 9 3 8\n7 7 2 8\n7 7\n"), path);
  EXPECT_EQ(rows_of(parse_metis, "4 2 100\n5 2\n5 1 3\n5 2\n5"), path);
  EXPECT_EQ(rows_of(parse_metis, "4 2 0\n2\n1 3\n2\n\n"), path);
  EXPECT_EQ(rows_of(parse_metis, "1 0\n"), Rows(1));
}

TEST(Metis, DropsLoopsAndMergesDuplicates) {
  const GraphInput input = parse(parse_metis, "2 3\n1 2 2\n1 1 2\n");
  EXPECT_EQ(rows_of(input), (Rows{{1}, {0}}));
  EXPECT_EQ(input.counts, (InputCounts{6, 2, 2}));
}

TEST(Metis, ErrorsNameTheLine) {
  const auto refuse = [](std::string_view text, const std::string& what) {
    expect_error(parse_metis, text, what);
  };
  refuse("", "1: the file ends before the line 'VERTICES EDGES'");
  refuse("% x\n\n", "2: the file ends before the line 'VERTICES EDGES'");
  refuse("4\n", "1: the number of edges is missing");
  refuse("x 1\n", "1: the number of vertices 'x' is not a whole number from 0 to 2^64 - 1");
  refuse("0 0\n", "1: the graph has no vertices");
  refuse("2 1 12\n2\n1\n", "1: format '12' is not up to three digits 0 or 1");
  refuse("2 1 0000\n2\n1\n", "1: format '0000' is not up to three digits 0 or 1");
  refuse("2 1 1 1 1\n2\n1\n", "1: '1': nothing may follow on this line");
  refuse("4294967295 1\n2\n1\n", "1: 4294967295 vertices are more than 32 bits can number");
  refuse("1099511627776 0\n", "1: 1099511627776 vertices are more than 32 bits can number");
  refuse("1000000 1\n2\n1\n", "1: 1000000 vertices, but fewer lines follow");
  refuse("3 1\n2\n1", "1: 3 vertices, but fewer lines follow");
  refuse("3 1\n%\n2\n1", "4: the file ends after 2 of 3 vertices");
  refuse("2 1 010\n1 2\n", "2: the last vertex is missing");
  refuse("2 1\n2\n3\n", "3: the neighbour 3 is not from 1 to 2");
  refuse("2 1\n0\n1\n", "2: the neighbour 0 is not from 1 to 2");
  refuse("2 1\n2\n-1\n", "3: the neighbour '-1' is not a whole number from 0 to 2^64 - 1");
  refuse("2 1 1\n2 1\n1\n", "3: the weight of an edge is missing");
  refuse("2 1 10\n1 2\nx 1\n", "3: a size or weight of the vertex 'x' is not a number");
  refuse("2 1\n2\n1\n\n1\n", "5: '1': nothing may follow on this line");
  refuse("%\n3 5\n%\n2\n1 3\n2\n",
         "2: each of the 5 edges should be listed twice, but there are 4 neighbours");
  refuse("3 2\n2 3\n%\n1\n2\n", "2: vertex 1 lists 3 as a neighbour, but not vice versa");
  refuse("3 1\n\n%\n3 1\n\n", "4: vertex 2 lists 1 as a neighbour, but not vice versa");
}

TEST(EdgeList, RenumbersIdsInTheirOrder) {
  const GraphInput input = parse(parse_edge_list,
                                 "# FromNodeId\tToNodeId\n1000\t7\n7 18446744073709551615\n\n"
                                 "# more\n 1000 1000\n7\t1000\n");
  EXPECT_EQ(rows_of(input), (Rows{{1, 2}, {0}, {0}}));
  EXPECT_EQ(input.counts, (InputCounts{4, 1, 1}));
  EXPECT_TRUE(input.is_renumbered);
  // Ids of about the size of the file are renumbered by a table, larger ones by a search.
  for (const std::uint64_t step : {1u, 2u, 63u, 64u, 65u, 1'000'003u}) {
    std::string text;
    Rows expected(200);
    for (std::uint32_t v = 0; v < 200; ++v) {
      const std::uint32_t next = (v + 1) % 200;
      text += std::to_string(next * step) + " " + std::to_string(v * step) + "\n";
      expected[v] = {std::min(next, (v + 199) % 200), std::max(next, (v + 199) % 200)};
    }
    const GraphInput ring = parse(parse_edge_list, text);
    EXPECT_EQ(rows_of(ring), expected) << step;
    EXPECT_EQ(ring.is_renumbered, step != 1);
  }
}

TEST(EdgeList, IgnoresFurtherColumnsAndLineEnds) {
  const Rows pair{{1}, {0}};
  EXPECT_EQ(rows_of(parse_edge_list,
                    "\xef\xbb\xbf"
                    "0 1 1082040961 -0.5\r\n"),
            pair);
  EXPECT_EQ(rows_of(parse_edge_list, "0 1"), pair);
  EXPECT_EQ(rows_of(parse_edge_list, "5 5\n"), Rows(1));
}

TEST(EdgeList, ErrorsNameTheLine) {
  const auto refuse = [](std::string_view text, const std::string& what) {
    expect_error(parse_edge_list, text, what);
  };
  refuse("", "1: the file has no edges");
  refuse("# nothing\n#\n", "2: the file has no edges");
  refuse("1 2\n3\n", "2: the second id is missing");
  refuse("1 2\n\na b\n", "3: the first id 'a' is not a whole number from 0 to 2^64 - 1");
  refuse("1 -2\n", "1: the second id '-2' is not a whole number from 0 to 2^64 - 1");
  refuse("1 18446744073709551616\n",
         "1: the second id '18446744073709551616' is not a whole number from 0 to 2^64 - 1");
  refuse("1 2 new\n", "1: a column 'new' is not a number");
}

// A header may claim anything; memory is bounded by the size of the text.
TEST(GraphFiles, ClaimsDoNotAllocate) {
  expect_error(parse_matrix_market, mtx("pattern general\n9 9 1099511627776\n1 2\n"),
               "3: the file ends after 1 of 1099511627776 entries");
  expect_error(parse_matrix_market, mtx("pattern general\n4294967294 4294967294 1\n1 2\n"),
               "2: 4294967294 rows in a file of 77 bytes: nearly all vertices would have no edge");
  expect_error(
      parse_metis, "2 1099511627776\n2\n1\n",
      "1: each of the 1099511627776 edges should be listed twice, but there are 2 neighbours");
  expect_error(parse_metis, "2 18446744073709551615\n2\n1\n",
               "1: each of the 18446744073709551615 edges should be listed twice, but there are 2 "
               "neighbours");
  expect_error(parse_metis, "2 1 010 18446744073709551615\n2\n1\n",
               "2: a size or weight of the vertex is missing");
}

}  // namespace
}  // namespace heapwood::workloads::graph
