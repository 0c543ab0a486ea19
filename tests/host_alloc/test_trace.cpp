// SPDX-License-Identifier: MIT
// Traces as text: parsing, the message for each kind of wrong line, and several thousand seeded
// mutations.
#include "host_alloc/trace.hpp"
#include "tests/host_alloc/support.hpp"

namespace heapwood::host_alloc {
namespace {

using namespace testing;

const std::string good =
    "op,id,bytes\nallocate,7,1024\r\nallocate,8,0\nfree,7,\nallocate,7,4096\n\nfree,8\nallocate,9,"
    "1";

TEST(HostTrace, IsReadAndWritten) {
  const HostTrace trace = parse_host_trace(good, "t.csv");
  EXPECT_EQ(trace.slots, 2u);
  const std::vector<HostTraceOp> expected{{0, true, 1024}, {1, true, 0},  {0, false, 0},
                                          {0, true, 4096}, {1, false, 0}, {1, true, 1}};
  EXPECT_EQ(trace.ops, expected);
  EXPECT_EQ(parse_host_trace(host_trace_text(trace), "t.csv").ops, trace.ops);
}

TEST(HostTrace, SaysWhatIsWrong) {
  const struct {
    const char *text, *error;
  } cases[] = {
      {"malloc,1,2", "t.csv:1: 'malloc': expected allocate,ID,BYTES or free,ID"},
      {"op,id,bytes\nallocate,x,2", "t.csv:2: id 'x': expected a number"},
      {"allocate,-1,2", "t.csv:1: id '-1': expected a number"},
      {"allocate,1,2k", "t.csv:1: bytes '2k': expected a number up to 281474976710656"},
      {"allocate,1,", "t.csv:1: bytes '': expected a number up to 281474976710656"},
      {"allocate,1,99999999999999999999",
       "t.csv:1: bytes '99999999999999999999': expected a number up to"},
      {"allocate,1,2,3", "t.csv:1: '3': nothing may follow the bytes"},
      {"free,1,", "t.csv:1: id 1: is not live; allocate it first"},
      {"allocate,1,5\nallocate,1,5", "t.csv:2: id 1: is live already; free it first"},
      {"allocate,1,5\nfree,1,5", "t.csv:2: bytes '5': a free has none"},
      {"op,id,bytes\n", "t.csv: no requests in it"},
      {"", "t.csv: no requests in it"},
  };
  for (const auto& c : cases) {
    const std::string error = error_of([&] { parse_host_trace(c.text, "t.csv"); });
    EXPECT_EQ(error.rfind(c.error, 0), 0u) << error;
  }
}

TEST(HostTrace, DamagedTracesHaveTheExitCodeOfDamagedFiles) {
  for (const char* text : {"", "free,1,"}) {
    try {
      parse_host_trace(text, "t.csv");
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.exit(), Exit::scene);
    }
  }
}

TEST(HostTrace, SurvivesMutations) {
  std::mt19937_64 random(2022);
  const std::string words[] = {
      "allocate,", "free,", "7", "18446744073709551616", "\n", ",", std::string(1, '\0'), "-"};
  unsigned read = 0, refused = 0;
  for (int i = 0; i < 6000; ++i) {
    std::string text = good;
    for (std::size_t changes = 1 + below(random, 4); changes > 0; --changes) {
      const std::size_t at = below(random, text.size() + 1);
      switch (below(random, 4)) {
        case 0:
          text.insert(at, words[below(random, std::size(words))]);
          break;
        case 1:
          text.erase(at, below(random, 6));
          break;
        case 2:
          if (at < text.size()) text[at] = static_cast<char>(random());
          break;
        default:
          text.resize(at);
          break;
      }
    }
    try {
      const HostTrace trace = parse_host_trace(text, "t.csv");
      for (const HostTraceOp& op : trace.ops) ASSERT_LT(op.slot, trace.slots);
      EXPECT_EQ(parse_host_trace(host_trace_text(trace), "again").ops, trace.ops);
      ++read;
    } catch (const Error& error) {
      const std::string what = error.what();
      EXPECT_EQ(what.rfind("t.csv:", 0), 0u) << what;
      EXPECT_LT(what.size(), 200u);
      for (const char c : what) EXPECT_TRUE(c >= 0x20 && c < 0x7f) << what;
      ++refused;
    }
  }
  EXPECT_GT(read, 300u);
  EXPECT_GT(refused, 300u);
}

}  // namespace
}  // namespace heapwood::host_alloc
