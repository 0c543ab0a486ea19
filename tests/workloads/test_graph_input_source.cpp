// SPDX-License-Identifier: MIT
// Graphs by name: generators, files by extension and by content, notes and errors.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "simt/device.hpp"
#include "simt/error.hpp"
#include "workloads/graph/source.hpp"

namespace heapwood::workloads::graph {
namespace {

// A folder that is removed at the end of the test.
class GraphSourceTest : public ::testing::Test {
 protected:
  GraphSourceTest()
      : folder_(std::filesystem::temp_directory_path() /
                ("heapwood_graph_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~GraphSourceTest() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return (folder_ / name).string();
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

 private:
  std::filesystem::path folder_;
};

void expect_error(const std::string& text, Exit exit, const std::string& part) {
  try {
    load_graph(text);
    ADD_FAILURE() << "no error for " << text;
  } catch (const Error& error) {
    const std::string what = error.what();
    EXPECT_EQ(error.exit(), exit) << what;
    EXPECT_NE(what.find(part), what.npos) << what;
    EXPECT_EQ(what.find_first_of("\r\n"), what.npos) << what;
  }
}

constexpr const char* matrix =
    "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 2\n";

TEST_F(GraphSourceTest, TheSameGraphInAllFormatsHasTheSameDigest) {
  const std::string digest = load_graph(write("a.mtx", matrix)).digest;
  EXPECT_EQ(digest.size(), 16u);
  for (const std::string& path :
       {write("b.MTX", matrix), write("c.graph", "3 2\n2\n1 3\n2\n"),
        write("d.metis", "3 2\n2\n1 3\n2\n"), write("e.txt", "0 1\n1 2\n"),
        write("f.el", "5 7\n7 9\n"), write("g.tsv", "0\t1\n1\t2\n"), write("unknown", matrix),
        write("h.data", "# an edge list\n1 2\n2 3\n")}) {
    const GraphSource source = load_graph(path);
    EXPECT_EQ(source.digest, digest) << path;
    EXPECT_EQ(source.name, std::filesystem::path(path).stem().string());
    EXPECT_TRUE(source.is_symmetric);
    EXPECT_FALSE(source.triangles);
  }
  EXPECT_NE(load_graph(write("other.txt", "0 1\n1 2\n2 3\n")).digest, digest);
}

TEST_F(GraphSourceTest, CtrlCEndsReadingAndGenerating) {
  std::string lines;
  for (int i = 0; i < 70000; ++i) lines += "1 2\n";
  const std::string file = write("long.txt", lines);
  simt::interrupt();
  for (const std::string& text :
       {std::string("honeycomb:70k"), std::string("uniform:10k:16"), file})
    EXPECT_THROW(load_graph(text), simt::Stopped) << text;
  simt::clear_interrupt();
  EXPECT_EQ(load_graph(file).graph.edges(), 2u);
}

TEST_F(GraphSourceTest, NotesSayWhatWasChanged) {
  EXPECT_TRUE(load_graph("rgg:100").notes.empty());
  EXPECT_EQ(load_graph(write("a.txt", "1 2\n2 1\n7 7\n")).notes,
            (std::vector<std::string>{"1 of 3 entries are loops: dropped",
                                      "1 of 3 entries repeat an edge: merged",
                                      "ids are not consecutive: renumbered in their order"}));
  EXPECT_EQ(
      load_graph(write("a.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n"))
          .notes,
      std::vector<std::string>{"the graph is directed"});
}

TEST_F(GraphSourceTest, ErrorsSayWhatToDo) {
  expect_error("", Exit::usage, "unknown graph '': use a file");
  expect_error("rgb:1m", Exit::usage, "generator such as rgg:1m, ");
  expect_error(path("absent.xyz"), Exit::usage, "unknown graph");
  expect_error(path("absent.mtx"), Exit::scene, "absent.mtx: cannot be read: No such file");
  expect_error(write("bad.mtx", "x"), Exit::scene,
               "bad.mtx: line 1: a Matrix Market file starts with");
  expect_error(write("bad\n.txt", "x"), Exit::scene, "bad\\n.txt: line 1: the first id 'x'");
  expect_error(write("unknown", "1 2\n"), Exit::scene, "unknown file type; name it '.mtx'");
  expect_error(write("a.txt.gz", "\x1f\x8b"), Exit::scene, "the file is packed; unpack it first");
  std::filesystem::create_directory(path("folder.mtx"));
  expect_error(path("folder.mtx"), Exit::scene, "cannot be read: it is a directory");
  ASSERT_EQ(::mkfifo(path("pipe.mtx").c_str(), 0600), 0);
  expect_error(path("pipe.mtx"), Exit::scene, "cannot be read: it is not a regular file");
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
