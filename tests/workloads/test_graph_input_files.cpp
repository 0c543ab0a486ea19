// SPDX-License-Identifier: MIT
// Readers of graph files: what they accept, what they drop, and the errors of malformed files;
// graphs by name.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <functional>
#include <string>

#include "simt/device.hpp"
#include "simt/error.hpp"
#include "tests/errors.hpp"
#include "tests/folder.hpp"
#include "tests/workloads/graph_input.hpp"
#include "workloads/graph/source.hpp"

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
  const auto refuse = std::bind_front(expect_error, parse_matrix_market);
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
  const auto refuse = std::bind_front(expect_error, parse_metis);
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
  // Comments as in KONECT's files, and commas.
  EXPECT_EQ(rows_of(parse_edge_list, "% sym\n% 1 2 2\n0,1\n1, 0,7\n"), pair);
  EXPECT_EQ(rows_of(parse_edge_list, "5 5\n"), Rows(1));
}

TEST(EdgeList, ErrorsNameTheLine) {
  const auto refuse = std::bind_front(expect_error, parse_edge_list);
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

// ---- graphs by name: generators, files by extension and by content, notes and errors

class GraphSources : public ::testing::Test {
 protected:
  const tests::Folder folder_;
};

void expect_error(const std::string& text, Exit exit, const std::string& part) {
  tests::expect_error(exit, {part}, [&] { load_graph(text); });
}

constexpr const char* matrix =
    "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 2\n";

TEST_F(GraphSources, TheSameGraphInAllFormatsHasTheSameDigest) {
  const std::string digest = load_graph(folder_.write("a.mtx", matrix)).digest;
  EXPECT_EQ(digest.size(), 16u);
  for (const std::string& path :
       {folder_.write("b.MTX", matrix), folder_.write("c.graph", "3 2\n2\n1 3\n2\n"),
        folder_.write("d.metis", "3 2\n2\n1 3\n2\n"), folder_.write("e.txt", "0 1\n1 2\n"),
        folder_.write("f.el", "5 7\n7 9\n"), folder_.write("g.tsv", "0\t1\n1\t2\n"),
        folder_.write("unknown", matrix), folder_.write("h.data", "# an edge list\n1 2\n2 3\n")}) {
    const GraphSource source = load_graph(path);
    EXPECT_EQ(source.digest, digest) << path;
    EXPECT_EQ(source.name, std::filesystem::path(path).stem().string());
    EXPECT_TRUE(source.is_symmetric);
    EXPECT_FALSE(source.triangles);
  }
  EXPECT_NE(load_graph(folder_.write("other.txt", "0 1\n1 2\n2 3\n")).digest, digest);
}

TEST_F(GraphSources, CtrlCEndsReadingAndGenerating) {
  std::string lines;
  for (int i = 0; i < 70000; ++i) lines += "1 2\n";
  const std::string file = folder_.write("long.txt", lines);
  simt::interrupt();
  for (const std::string& text :
       {std::string("honeycomb:70k"), std::string("uniform:10k:16"), file})
    EXPECT_THROW(load_graph(text), simt::Stopped) << text;
  simt::clear_interrupt();
  EXPECT_EQ(load_graph(file).graph.edges(), 2u);
}

TEST_F(GraphSources, NotesSayWhatWasChanged) {
  EXPECT_TRUE(load_graph("rgg:100").notes.empty());
  EXPECT_EQ(load_graph(folder_.write("a.txt", "1 2\n2 1\n7 7\n")).notes,
            (std::vector<std::string>{"1 of 3 entries are loops: dropped",
                                      "1 of 3 entries repeat an edge: merged",
                                      "ids are not consecutive: renumbered in their order"}));
  EXPECT_EQ(
      load_graph(
          folder_.write("a.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n"))
          .notes,
      std::vector<std::string>{"the graph is directed"});
}

TEST_F(GraphSources, ErrorsSayWhatToDo) {
  expect_error("", Exit::usage, "unknown graph '': use a file");
  expect_error("rgb:1m", Exit::usage, "generator such as rgg:1m, ");
  expect_error(folder_ / "absent.xyz", Exit::usage, "unknown graph");
  expect_error(folder_ / "absent.mtx", Exit::scene, "absent.mtx: cannot be read: No such file");
  expect_error(folder_.write("bad.mtx", "x"), Exit::scene,
               "bad.mtx: line 1: a Matrix Market file starts with");
  expect_error(folder_.write("bad\n.txt", "x"), Exit::scene,
               "bad\\n.txt: line 1: the first id 'x'");
  expect_error(folder_.write("unknown", "1 2\n"), Exit::scene, "unknown file type; name it '.mtx'");
  expect_error(folder_.write("a.txt.gz", "\x1f\x8b"), Exit::scene,
               "the file is packed; unpack it first");
  std::filesystem::create_directory(folder_ / "folder.mtx");
  expect_error(folder_ / "folder.mtx", Exit::scene, "cannot be read: it is a directory");
  ASSERT_EQ(::mkfifo((folder_ / "pipe.mtx").c_str(), 0600), 0);
  expect_error(folder_ / "pipe.mtx", Exit::scene, "cannot be read: it is not a regular file");
}

TEST(GraphNames, HaveSizesParametersAndSeeds) {
  const auto request = [](const char* text) { return parse_generator(text).value().request; };
  EXPECT_EQ(request("rgg:1500").size, 1500u);
  EXPECT_EQ(request("RGG:20K").size, 20'000u);
  EXPECT_EQ(request("rgg:7.5m").size, 7'500'000u);
  EXPECT_EQ(request("rgg:1.0485760m").size, 1'048'576u);
  EXPECT_EQ(request("rgg:.5k").size, 500u);
  EXPECT_EQ(request("rgg").size, 1'000'000u);
  EXPECT_EQ(request("rgg:1k").seed, 1u);
  EXPECT_EQ(request("rgg:1k:9").seed, 9u);
  EXPECT_EQ(request("rgg::18446744073709551615").seed, ~std::uint64_t{0});
  EXPECT_EQ(request("grid3d:1k").parameter, 1u);
  EXPECT_EQ(request("grid3d:1k:3:5").parameter, 3u);
  EXPECT_EQ(request("grid3d:1k:3:5").seed, 5u);
  EXPECT_EQ(request("rmat:14::5").parameter, 16u);
  EXPECT_EQ(request("rmat:14::5").seed, 5u);
  EXPECT_FALSE(parse_generator("rggs:1m"));
  EXPECT_FALSE(parse_generator("a.mtx"));
  EXPECT_FALSE(parse_generator(""));
}

TEST(GraphNames, OutOfRangeAreUsageErrors) {
  for (const auto& [text, part] : std::vector<std::pair<const char*, const char*>>{
           {"rgg:0", "VERTICES must be 1 to 200000000"},
           {"rgg:200000001", "VERTICES must be 1 to"},
           {"rgg:99999999999999999999999", "is not a whole number"},
           {"rgg:1.5", "is not a whole number"},
           {"rgg:1.0005k", "is not a whole number"},
           {"rgg:1..5k", "is not a whole number"},
           {"rgg:.", "is not a whole number"},
           {"rgg:k", "is not a whole number"},
           {"rgg:-5", "is not a whole number"},
           {"rgg:1g", "is not a whole number"},
           {"rgg:1k:x", "SEED 'x'"},
           {"rgg:1k:-1", "SEED '-1'"},
           {"rgg:1k:1:1", "'1' is one argument too many; write rgg:VERTICES[:SEED]"},
           {"road:99", "VERTICES must be 100 to"},
           {"grid3d:1k:9", "UNKNOWNS must be 1 to 8"},
           {"grid3d:100m:8", "more than 4000000000 directed edges"},
           {"rmat:28", "SCALE must be 1 to 27"},
           {"rmat:27:16", "more than 4000000000 directed edges"},
           {"uniform:1k:0", "DEGREE must be 1 to 1000"},
           {"rgg:1\n", "graph 'rgg:1\\n'"}}) {
    expect_error(text, Exit::usage, part);
  }
}

TEST(GraphNames, EveryGeneratorIsListedWithAnExample) {
  const auto infos = generators();
  EXPECT_EQ(infos.size(), 8u);
  for (const GeneratorInfo& info : infos) {
    const auto call = parse_generator(info.example);
    ASSERT_TRUE(call) << info.example;
    EXPECT_EQ(call->id, info.id);
    EXPECT_TRUE(parse_generator(info.id)) << "without a size";
    EXPECT_NE(info.arguments.find("[:SEED]"), info.arguments.npos);
    EXPECT_FALSE(info.description.empty());
  }
}

}  // namespace
}  // namespace heapwood::workloads::graph
