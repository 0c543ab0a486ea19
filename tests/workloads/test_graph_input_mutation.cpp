// SPDX-License-Identifier: MIT
// Thousands of seeded mutations of valid files: each must give a valid graph or a one-line error.
// tests/fuzz/fuzz_graph.cpp searches further.
#include <gtest/gtest.h>

#include <algorithm>

#include "simt/error.hpp"
#include "tests/workloads/graph_input.hpp"
#include "workloads/graph/integers.hpp"
#include "workloads/graph/read_graph.hpp"

namespace heapwood::workloads::graph {
namespace {

using Parse = GraphInput (*)(std::string_view, const std::string&);

class Mutations {
 public:
  Mutations(std::uint64_t seed, std::vector<std::string> words)
      : draws_(seed), words_(std::move(words)) {}

  std::string mutate(std::string text) {
    for (std::size_t changes = 1 + draw(4); changes > 0 && !text.empty(); --changes) {
      const std::size_t at = draw(text.size()), length = std::min(draw(12), text.size() - at);
      const std::string& word = words_[draw(words_.size())];
      switch (draw(7)) {
        case 0:
          text[at] = static_cast<char>(text[at] ^ 1 << draw(8));
          break;
        case 1:
          text[at] = static_cast<char>(draw(256));
          break;
        case 2:
          text.erase(at, length);
          break;
        case 3:
          text.insert(at, text.substr(draw(text.size()), length));
          break;
        case 4:
          text.resize(at);
          break;
        case 5:
          text.replace(at, length, word);
          break;
        default:
          text.insert(at, word);
          break;
      }
    }
    return text;
  }

 private:
  std::size_t draw(std::size_t n) {
    return below(draws_.bits(next_++), static_cast<std::uint32_t>(n));
  }

  Draws draws_;
  std::uint64_t next_ = 0;
  std::vector<std::string> words_;
};

void expect_survival(Parse parse, const std::vector<std::string>& seeds) {
  Mutations mutations(2020, {"4294967294",
                             "4294967296",
                             "18446744073709551615",
                             "-1",
                             "0",
                             "1",
                             "2",
                             "nan",
                             "1e9",
                             "%",
                             "#",
                             "\n",
                             "\n\n",
                             "\r\n",
                             " ",
                             "%\n",
                             "3 3 3\n",
                             "1 2\n",
                             "\xef\xbb\xbf",
                             std::string(1, '\0')});
  unsigned good = 0, refused = 0;
  for (const std::string& seed : seeds) {
    ASSERT_NO_THROW(parse(seed, "file"));
    for (unsigned i = 0; i < 3000; ++i) {
      const std::string text = mutations.mutate(seed);
      try {
        EXPECT_EQ(testing::find_fault(parse(text, "file"), text.size()), "") << text;
        ++good;
      } catch (const Error& error) {
        EXPECT_EQ(error.exit(), Exit::scene) << error.what();
        EXPECT_TRUE(testing::is_well_formed(error.what())) << error.what();
        ++refused;
      }
    }
  }
  // Both outcomes must be frequent for the test to be useful.
  EXPECT_GT(good, seeds.size() * 40);
  EXPECT_GT(refused, seeds.size() * 400);
}

TEST(GraphMutations, OfMatrixMarketFiles) {
  const std::string head = "%%MatrixMarket matrix coordinate ";
  expect_survival(
      parse_matrix_market,
      {head + "pattern symmetric\n% c\n5 5 6\n2 1\n3 1\n4 4\n5 1\n5 2\n2 1\n",
       head + "real general\r\n4 4 5\r\n1 2 0.5\r\n2 1 -1e3\r\n3 4 +1\r\n4 1 .5\r\n1 3 7",
       head + "complex hermitian\n3 3 2\n2 1 1 2\n3 2 0.5 nan\n"});
}

TEST(GraphMutations, OfMetisFiles) {
  expect_survival(parse_metis, {"% c\n5 5\n2 3\n1 3 4\n1 2\n2 5\n4\n",
                                "3 3 011\n7 2 1 3 1\n7 1 1 3 2\n7 1 1 2 2\n",
                                "4 2 100\r\n1 2\r\n1 1\r\n9 4\r\n9 3\r\n"});
}

TEST(GraphMutations, OfEdgeLists) {
  expect_survival(parse_edge_list,
                  {"# c\n1 2\n2 3\n3 1\n2 2\n1 2\n", "7\t123456789\r\n123456789\t8\r\n8 7 0.5",
                   "0 1 5\n1 0 6\n# x\n\n18446744073709551615 0 7\n"});
}

}  // namespace
}  // namespace heapwood::workloads::graph
