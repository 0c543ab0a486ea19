// SPDX-License-Identifier: MIT
// What the conformance suite does not reach of FlatterScatter: bitmaps of two levels, pages that
// change their size, and requests of several pages.
#include <gtest/gtest.h>

#include <set>

#include "alloc/allocators/flatter_scatter.hpp"
#include "tests/alloc/conformance.hpp"
#include "tests/alloc/exercise_erased.hpp"

namespace heapwood::alloc {
namespace {

using namespace test;

ExerciseResult run(const ExerciseJob& j) { return test::exercise<FlatterScatter, simt::Cpu>(j); }

// One thread fills a page before it walks on. Its freed chunks are found again, in words that were
// marked as full.
TEST(FlatterScatterTest, FindsEveryFreeChunkOfAPage) {
  struct Case {
    std::size_t pool, page;
  };
  for (const Case& c : {Case{64 << 10, 256}, Case{1 << 20, 2048}, Case{64 << 20, 128 << 10}}) {
    const auto n = static_cast<std::uint32_t>((c.page - 32) * 8 / 129);
    ExerciseJob j = job_of(c.pool, 1, n);
    j.phases = {{{of_slots(Kind::allocate, 0, n, 16)}},
                {{of_slots(Kind::free, 0, n, 0, 3)}},
                {{of_slots(Kind::allocate, 0, n, 16, 3)}},
                {{of_slots(Kind::free, 0, n)}}};
    const ExerciseResult result = run(j);
    EXPECT_EQ(result.failures, 0u);
    std::set<std::uint64_t> first, again;
    for (std::uint32_t slot = 0; slot < n; slot += 3) {
      first.insert(result.phases[0].ops[0][slot].offset);
      again.insert(result.phases[2].ops[0][slot / 3].offset);
    }
    EXPECT_EQ(*first.rbegin() / c.page,
              *first.begin() / c.page + (*first.rbegin() % c.page < *first.begin() % c.page));
    EXPECT_TRUE(std::all_of(
        again.begin(), again.end(),
        [&](std::uint64_t offset) { return first.contains(offset) || offset > *first.rbegin(); }))
        << "a page of " << c.page << " bytes has free chunks that were not found";
    expect_all_freed(result.phases[3].regions);
  }
}

// Pages get bitmaps of one or two words where other chunks, or whole pages, had their contents.
TEST(FlatterScatterTest, PagesChangeTheirSize) {
  constexpr std::size_t pool = 1 << 20, page = 2048;
  constexpr std::uint32_t scripts = 4, each = 300;
  ExerciseJob j = job_of(pool, scripts, scripts * each);
  for (const std::uint64_t bytes :
       {page, std::size_t{16}, page, std::size_t{48}, std::size_t{400}}) {
    j.phases.push_back(of_shares(scripts, each, Kind::allocate, bytes));
    j.phases.push_back(of_shares(scripts, each, Kind::free, 0, 1));
  }
  const ExerciseResult result = run(j);
  for (std::size_t p = 0; p < j.phases.size(); p += 2) {
    const bool is_small = j.phases[p].scripts[0][0].bytes < page;
    EXPECT_TRUE(is_small ? served(result.phases[p]) == scripts * each
                         : largest_free(result.phases[p].regions) == 0);
    expect_disjoint(j.phases[p], result.phases[p]);
    expect_all_freed(result.phases[p + 1].regions);
  }
}

TEST(FlatterScatterTest, ServesAnAccessBlockAndNoMore) {
  ExerciseJob j = job_of(64 << 10, 1, 5);
  const std::size_t most = largest_free(run(j).initial);
  EXPECT_GT(most, j.pool_bytes / 5);
  Script all{{Kind::allocate, 4, most + 1}};
  for (std::uint32_t slot = 0; slot < 3; ++slot) all.push_back({Kind::allocate, slot, most});
  j.phases = {{{all}}, {{of_slots(Kind::free, 0, 3)}}};
  const ExerciseResult result = run(j);
  EXPECT_EQ(result.failures, 1u) << "an access block has " << most << " bytes";
  EXPECT_EQ(result.phases[0].ops[0][0].offset, OpResult::failed);
  EXPECT_EQ(result.phases[1].regions.size(), result.initial.size());
}

// No page has chunks of 48 bytes, and none is empty.
TEST(FlatterScatterTest, TakesAChunkOfUpToTwiceTheSizeIfTheRestIsFull) {
  ExerciseJob j = job_of(8 << 10, 1, 200);
  j.phases = {
      {{of_slots(Kind::allocate, 0, 190, 80)}},
      {{{{Kind::free, 0}}}},
      {{{{Kind::allocate, 190, 32}, {Kind::allocate, 191, 48}, {Kind::allocate, 192, 48}}}}};
  const ExerciseResult result = run(j);
  EXPECT_EQ(result.phases[0].ops[0].back().offset, OpResult::failed) << "the pool is not full";
  const auto& last = result.phases[2].ops[0];
  EXPECT_EQ(last[0].offset, OpResult::failed);
  EXPECT_EQ(last[1].offset, result.phases[0].ops[0][0].offset);
  EXPECT_EQ(last[2].offset, OpResult::failed);
}

}  // namespace
}  // namespace heapwood::alloc
