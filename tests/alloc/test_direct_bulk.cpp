// SPDX-License-Identifier: MIT
// Properties that the conformance suite cannot require of every allocator: TBuddy refuses a request
// only if no block is free, and merges all blocks; blocks of UAlloc are never mistaken for pages,
// tails are used, and all memory becomes free again.
#include <gtest/gtest.h>

#include <set>

#include "alloc/allocators/bulk.hpp"
#include "tests/alloc/conformance.hpp"
#include "tests/alloc/exercise_erased.hpp"

namespace heapwood::alloc {
namespace {

using namespace test;

// TBuddy as an allocator of its own, with pages of 256 bytes.
struct Tree {
  static constexpr AllocatorTraits traits{.id = "tree", .label = "Tree", .paper = "none"};
  TBuddy pages;
  const std::byte* base = nullptr;
  template <class Device>
  static Tree create(Pool pool, const AllocatorOptions&, const Device& device) {
    return {TBuddy::create(pool.base, pool.bytes, 8, device), pool.base};
  }
  template <class Thread>
  void* allocate(Thread& thread, std::size_t bytes) const {
    return pages.allocate(thread, bytes);
  }
  template <class Thread>
  void deallocate(Thread&, void* block) const {
    if (block != nullptr) pages.deallocate(block);
  }
  template <class Visitor>
  void walk(const HostView& host, Visitor visit) const {
    pages.walk(host, base, [&](const Region& region, std::uint32_t, bool) { visit(region); });
  }
};

std::vector<std::size_t> free_sizes(const std::vector<Region>& regions) {
  std::vector<std::size_t> sizes;
  for (const Region& r : regions) {
    if (r.state == Region::State::free) sizes.push_back(r.bytes);
  }
  return sizes;
}

// The size of the smallest pool in which the tree has `pages` pages.
std::size_t pool_of(std::uint32_t pages) {
  const simt::Cpu device;
  for (std::size_t bytes = pages * 256;; bytes += 16) {
    const simt::Memory memory({}, bytes);
    if (TBuddy::create(memory.data(), bytes, 8, device).pages() == pages) return bytes;
  }
}

// A script that allocates and frees n times.
Script pairs(unsigned n, std::uint32_t slot, std::uint64_t bytes) {
  Script ops;
  for (; n > 0; --n) ops.insert(ops.end(), {{Kind::allocate, slot, bytes}, {Kind::free, slot}});
  return ops;
}

template <class Device>
struct Bulks : testing::Test {
  static constexpr unsigned lanes = std::is_same_v<Device, simt::Cpu> ? 1 : 4;
  static constexpr unsigned scripts = 4 * lanes;
  static ExerciseJob job(std::size_t pool, std::uint32_t slots) {
    ExerciseJob j = job_of(pool, 4, slots);
    j.lanes = lanes;
    return j;
  }
};
using Devices = testing::Types<simt::Cpu, simt::Lockstep<4>>;
TYPED_TEST_SUITE(Bulks, Devices);

// As many threads as there are blocks of the size repeatedly allocate and free one: blocks are
// split and merged all the time, and no request may be refused.
TYPED_TEST(Bulks, TreeRefusesNothingThatIsFree) {
  for (const std::uint32_t n : {1u, 2u, 8u}) {
    const std::uint32_t pages = n * TestFixture::scripts;
    ExerciseJob j = TestFixture::job(pool_of(pages), TestFixture::scripts);
    j.phases.resize(2);
    for (std::uint32_t s = 0; s < TestFixture::scripts; ++s)
      j.phases[0].scripts.push_back(pairs(300, s, n * 256));
    // The tree is one block again when a request needs it.
    j.phases[1].scripts = {{{Kind::allocate, 0, pages * 256}, {Kind::free, 0}}};
    const ExerciseResult result = test::exercise<Tree, TypeParam>(j);
    EXPECT_EQ(result.failures, 0u) << n << " pages a block";
    EXPECT_EQ(free_sizes(result.phases[1].regions), free_sizes(result.initial))
        << n << " pages a block";
  }
}

// Some threads request three of the four pages and often fail; the request for a single page may
// never fail.
TYPED_TEST(Bulks, TreeNeverRefusesAPageBehindABlock) {
  ExerciseJob j = TestFixture::job(pool_of(4), TestFixture::scripts);
  j.phases.resize(1);
  for (std::uint32_t s = 0; s < TestFixture::scripts; ++s)
    j.phases[0].scripts.push_back(pairs(400, s, s == 0 ? 256 : 768));
  const ExerciseResult result = test::exercise<Tree, TypeParam>(j);
  for (const OpResult& r : result.phases[0].ops[0]) EXPECT_NE(r.offset, OpResult::failed);
}

// Random sizes. At the end the blocks are merged as at the start, if need be by the request for the
// largest one.
TYPED_TEST(Bulks, TreeMergesAllBlocksInTheEnd) {
  constexpr std::uint32_t slots = 40;
  for (std::uint32_t seed = 1; seed <= 3; ++seed) {
    ExerciseJob j = TestFixture::job(pool_of(100), slots);
    j.phases = {exchange_at_random(TestFixture::scripts, slots, 300, seed * 100,
                                   [](Random& random) { return 1 + random(256 << random(5)); }),
                free_all(TestFixture::scripts, slots),
                {}};
    j.phases[2].scripts = {{{Kind::allocate, 0, 64 * 256}, {Kind::free, 0}}};
    const ExerciseResult result = test::exercise<Tree, TypeParam>(j);
    EXPECT_NE(result.phases[2].ops[0][0].offset, OpResult::failed);
    EXPECT_EQ(free_sizes(result.phases[2].regions), free_sizes(result.initial));
  }
}

// Fills a pool with blocks of one size.
TYPED_TEST(Bulks, SmallBlocksNeverLookLikePages) {
  constexpr std::size_t pool = TestFixture::lanes == 1 ? 1 << 20 : 1 << 16,
                        page = pool / 256 < 512 ? 512 : 4096;
  for (std::uint32_t bytes = 16; bytes <= page / 4; bytes *= 4) {
    const std::uint32_t each = pool / 16 * 15 / bytes / TestFixture::scripts;
    ExerciseJob j = TestFixture::job(pool, each * TestFixture::scripts);
    std::uint64_t largest = 0;
    const ExerciseResult before = test::exercise<Bulk, TypeParam>(TestFixture::job(pool, 1));
    for (const std::size_t size : free_sizes(before.initial))
      largest = std::max<std::uint64_t>(largest, size);
    // The largest block can be allocated again.
    j.phases = {of_shares(TestFixture::scripts, each, Kind::exchange, bytes),
                of_shares(TestFixture::scripts, each, Kind::free),
                {{{{Kind::allocate, 0, largest}, {Kind::free, 0}}}}};
    const ExerciseResult result = test::exercise<Bulk, TypeParam>(j);
    EXPECT_NE(result.phases[2].ops[0][0].offset, OpResult::failed) << bytes;

    const std::size_t memory =
        result.initial[0].bytes + result.initial[1].bytes;  // metadata; pages follow it
    std::size_t served = 0, pages = 0;
    std::set<std::uint64_t> seen;
    for (const auto& ops : result.phases[0].ops) {
      for (const OpResult& r : ops) {
        if (r.offset == OpResult::failed) continue;
        ++served;
        pages += (r.offset - memory) % page == 0;
        EXPECT_TRUE(seen.insert(r.offset).second);
      }
    }
    // Only the rest of the pool that does not fill a chunk is given out as pages.
    constexpr std::size_t in_chunk = page / 128;
    EXPECT_LT(pages, in_chunk) << bytes;
    // A chunk loses a page to headers and tails; above 128 bytes a page loses its tail and the
    // space after its last block.
    const std::size_t in_bin = bytes <= 128 ? page / bytes : (page - 128) / bytes;
    const std::size_t chunks = (pool - memory) / page / in_chunk;
    EXPECT_GE(served, chunks * (in_chunk - 1) * in_bin) << bytes;
  }
}

}  // namespace
}  // namespace heapwood::alloc
