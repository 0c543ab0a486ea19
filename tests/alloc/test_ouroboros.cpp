// SPDX-License-Identifier: MIT
// Properties of the Ouroboros variants: no page and no chunk is lost, queues wrap many times,
// chunks change their class (C), and nearly all of the pool can be allocated.
#include <gtest/gtest.h>

#include <algorithm>

#include "alloc/allocators/ouroboros.hpp"
#include "simt/memory.hpp"
#include "tests/alloc/conformance.hpp"
#include "tests/alloc/exercise_erased.hpp"
#include "tests/alloc/launch.hpp"

namespace heapwood::alloc::test {

namespace {

std::size_t free_bytes(const std::vector<Region>& regions) {
  return bytes_in(regions, Region::State::free);
}

// From the first block in use to the end of the last one.
std::size_t span_of_used(const std::vector<Region>& regions) {
  std::size_t first = ~std::size_t{0}, end = 0;
  for (const Region& region : regions) {
    if (region.state != Region::State::used) continue;
    first = std::min(first, region.offset);
    end = std::max(end, region.offset + region.bytes);
  }
  return end == 0 ? 0 : end - first;
}

// The regions of an unused pool.
template <class A>
std::vector<Region> fresh(std::size_t pool) {
  const ExerciseJob j = job_of(pool, 1, 0, {{{{}}}});
  return test::exercise<A, simt::Cpu>(j).initial;
}

// Threads allocate blocks of up to `largest` bytes concurrently; everything is freed; one thread
// allocates blocks of `bytes` until a request is refused; everything is freed.
template <class A>
ExerciseResult race_and_fill(std::size_t pool, std::uint32_t largest, std::uint64_t bytes) {
  constexpr std::uint32_t warps = 4, slots = 300;
  const auto count = static_cast<std::uint32_t>(pool / bytes);
  return test::exercise<A, simt::Cpu>(
      job_of(pool, warps, std::max(slots, count),
             {exchange_at_random(warps, slots, 4000, bytes * 10,
                                 [&](Random& random) { return random(largest + 1); }),
              free_all(warps, slots), of_shares(1, count, Kind::exchange, bytes),
              of_shares(1, count, Kind::free)}));
}

template <class A>
void expect_every_page_again(std::uint32_t largest, std::uint64_t bytes) {
  constexpr std::size_t pool = 64 << 10, chunk = 256;
  const ExerciseResult r = race_and_fill<A>(pool, largest, bytes);
  EXPECT_EQ(used_bytes(r.phases[1]), 0u);
  EXPECT_EQ(r.phases[2].ops[0].back().offset, OpResult::failed)
      << "the pool is too large for this test";
  // The last chunk may get no memory for its entry in the queue.
  EXPECT_LE(free_bytes(r.phases[2].regions), chunk) << bytes;
  EXPECT_EQ(used_bytes(r.phases[3]), 0u);
}

}  // namespace

template <class A>
class OuroborosVariants : public testing::Test {};
using All = testing::Types<OuroborosPS, OuroborosPVA, OuroborosPVL, OuroborosCS, OuroborosCVA,
                           OuroborosCVL>;
TYPED_TEST_SUITE(OuroborosVariants, All);

// All requests are of one class, whose pages pass through the queue several times its length.
TYPED_TEST(OuroborosVariants, EveryPageOfAClassCanBeAllocatedAgain) {
  expect_every_page_again<TypeParam>(16, 16);
}

template <class A>
class OuroborosChunks : public testing::Test {};
using ChunkVariants = testing::Types<OuroborosCS, OuroborosCVA, OuroborosCVL>;
TYPED_TEST_SUITE(OuroborosChunks, ChunkVariants);

TYPED_TEST(OuroborosChunks, ChunksServeOtherClassesWhenTheyAreEmpty) {
  for (const std::uint64_t bytes : {16u, 64u, 256u}) expect_every_page_again<TypeParam>(256, bytes);
}

// More than 90% of any pool, and 98% of a large one, is free for the smallest blocks: queues
// reserve little memory and large requests none.
TYPED_TEST(OuroborosVariants, ServeMostOfThePool) {
  for (std::size_t pool = 2 << 20; pool < 8 << 20; pool = pool / 8 * 9 / 4096 * 4096) {
    EXPECT_GT(free_bytes(fresh<TypeParam>(pool)), pool * 9 / 10) << pool;
  }
  constexpr std::size_t pool = 256 << 20;
  EXPECT_GT(free_bytes(fresh<TypeParam>(pool)), pool / 1000 * 983);
}

// Small requests take chunks from the buddy allocator when all others are used, and large requests
// get them back.
TYPED_TEST(OuroborosVariants, SmallAndLargeRequestsShareThePool) {
  constexpr std::size_t pool = 4 << 20, half_chunk = 4096, large = 64 << 10;
  constexpr std::uint32_t small_blocks = pool / half_chunk, large_blocks = pool / large;
  ExerciseJob j = job_of(pool, 1, small_blocks);
  j.phases = {of_shares(1, small_blocks, Kind::exchange, half_chunk),
              of_shares(1, small_blocks, Kind::free),
              of_shares(1, large_blocks, Kind::exchange, large)};
  ExerciseResult r = test::exercise<TypeParam, simt::Cpu>(j);
  EXPECT_GT(served(r.phases[0]) * half_chunk, pool * 85 / 100);
  // In the variants whose chunks leave their classes.
  if (TypeParam::traits.id[10] == 'c') {
    EXPECT_GE(served(r.phases[2]) * large, pool * 3 / 4);
  }
  j.phases.erase(j.phases.begin(), j.phases.begin() + 2);
  r = test::exercise<TypeParam, simt::Cpu>(j);
  EXPECT_GE(served(r.phases[0]) * large, pool * 3 / 4);
}

// Few chunks in a pool that is much larger, as in pools above 32 GiB.
template <class A>
struct FewChunks : A {
  static constexpr std::uint32_t chunks = 640;

  template <class Device>
  static FewChunks create(Pool pool, const AllocatorOptions& options, const Device& device) {
    FewChunks a;
    a.lay_out(A::traits, pool, options, device, chunks);
    return a;
  }
};

TYPED_TEST(OuroborosVariants, ServeTheChunksOfAPoolThatHasMoreMemory) {
  using A = FewChunks<TypeParam>;
  constexpr std::size_t pool = 1 << 20, chunk = 256, large = 4096;
  constexpr std::uint32_t of_chunks = A::chunks, of_rest = (pool - of_chunks * chunk) / large;
  ExerciseJob j = job_of(pool, 1, of_chunks + of_rest + pool / large, {}, {.chunk_bytes = chunk});
  const Script pages = of_slots(Kind::exchange, 0, of_chunks, chunk),
               empty = of_slots(Kind::free, 0, j.slots);
  Script blocks = of_slots(Kind::exchange, of_chunks, j.slots, large);
  // Pages before and after large blocks, which take the memory beyond the chunks first.
  for (const bool pages_first : {true, false}) {
    j.phases = {{{pages}}, {{blocks}}, {{empty}}};
    if (!pages_first) {
      blocks.resize(of_rest * 9 / 10);
      j.phases = {{{blocks}}, {{pages}}, {{empty}}};
    }
    const ExerciseResult r = test::exercise<A, simt::Cpu>(j);
    EXPECT_GE(served(r.phases[pages_first ? 0 : 1]), of_chunks * 9 / 10);
    EXPECT_GE(served(r.phases[pages_first ? 1 : 0]), of_rest * 9 / 10);
    EXPECT_EQ(used_bytes(r.phases[2]), 0u);
    std::size_t covered = 0;
    for (const Region& region : r.initial) covered += region.bytes;
    EXPECT_EQ(covered, pool);
  }
}

// A loop instead of memset(): ThreadSanitizer does not see the stores that GCC generates for
// memset().
void write(void* block, std::size_t bytes, std::uint32_t value) {
  for (std::size_t i = 0; i < bytes / sizeof(value); ++i)
    static_cast<std::uint32_t*>(block)[i] = value;
}

// Three threads take turns. The first one writes and frees large blocks. The second one allocates
// pages until two are in chunks that were part of such a block. The third one writes to the next
// page. The turns are relaxed, so only the allocator orders the two writes, and ThreadSanitizer
// checks that it does.
TYPED_TEST(OuroborosVariants, PagesOfLargeBlocksAreOrderedAfterTheirLastOwner) {
  using Word = simt::atomic_ref<std::uint32_t>;
  constexpr std::size_t pool = 64 << 10, large = 512, small = 16, chunk = 256;
  const simt::Cpu device(four_threads);
  const OwnPool<TypeParam> own(pool, {}, device);
  std::uint32_t turn = 0, is_reused = 0;
  std::vector<std::uint32_t> was_large(pool / chunk);  // one entry per chunk of the pool
  const auto mark_of = [&](void* block) {
    return Word(was_large[static_cast<std::size_t>(static_cast<std::byte*>(block) - own.pool.base) /
                          chunk]);
  };
  launch(device, 3, [&](auto& warp) {
    const Word now(turn);
    TypeParam a = own.heap;
    if (!simt::wait_until(warp, [&] { return now.load(simt::relaxed) == warp.worker(); })) return;
    if (warp.worker() == 0) {
      std::vector<void*> blocks;
      for (void* b; (b = a.allocate(warp, large)) != nullptr; blocks.push_back(b)) {
        write(b, large, 1);
        mark_of(b).store(1, simt::relaxed);
      }
      for (void* b : blocks) a.deallocate(warp, b);
    } else if (warp.worker() == 1) {
      // The second such page comes from the chunk in which the third thread finds the next one.
      for (std::uint32_t found = 0; found < 2;) {
        void* b = a.allocate(warp, small);
        if (b == nullptr) break;
        found += mark_of(b).load(simt::relaxed);
      }
    } else if (void* b = a.allocate(warp, small)) {
      write(b, small, 2);
      is_reused = mark_of(b).load(simt::relaxed);
    }
    now.fetch_add(1, simt::relaxed);
  });
  EXPECT_EQ(is_reused, 1u);
}

// Each class by itself up to the largest page, and larger requests.
TYPED_TEST(OuroborosVariants, ServeEverySize) {
  Script ops;
  for (std::uint32_t i = 0; i < 16; ++i) {
    ops.push_back({Kind::exchange, 2 * i, std::uint64_t{16} << i});
    ops.push_back({Kind::exchange, 2 * i + 1, (std::uint64_t{16} << i) - 1});
  }
  const ExerciseJob j = job_of(4 << 20, 1, 32, {{{ops}}});
  const ExerciseResult r = test::exercise<TypeParam, simt::Cpu>(j);
  EXPECT_EQ(r.failures, 0u);
}

// The whole pool is served with any size of chunks and any length of queues: pages without a slot
// are kept elsewhere.
TYPED_TEST(OuroborosVariants, ServesThePoolWithChosenSizes) {
  constexpr std::size_t pool = 1 << 20;
  std::size_t tables[2] = {};
  for (const std::size_t slots : {std::size_t{32}, std::size_t{4096}}) {
    constexpr std::uint32_t all = 8000;
    const ExercisePhase fill = of_shares(1, all, Kind::exchange, 64);
    const ExerciseJob j = job_of(pool, 1, all, {fill, of_shares(1, all, Kind::free), fill},
                                 {.chunk_bytes = 1024, .queue_slots = slots});
    const ExerciseResult r = test::exercise<TypeParam, simt::Cpu>(j);
    EXPECT_EQ(r.failures, 0u);
    EXPECT_EQ(used_bytes(r.phases[1]), 0u);
    EXPECT_EQ(used_bytes(r.phases[2]), 64u * j.slots);
    tables[slots > 32] = bytes_in(r.initial, Region::State::metadata);
  }
  if constexpr (std::is_same_v<TypeParam, OuroborosPS>) {
    EXPECT_GT(tables[1], 2 * tables[0]);
  }
}

// With ChunkSearch::lowest the addresses in use span little more than the blocks, also after
// everything has been freed once; with ChunkSearch::spread they span most of the pool.
TYPED_TEST(OuroborosVariants, AddressesSpanWhatIsUsedWithTheLowestChunkFirst) {
  using Search = AllocatorOptions::ChunkSearch;
  constexpr std::uint32_t workers = 4, blocks = 200;
  constexpr std::size_t bytes = 512, asked = workers * blocks * bytes;
  for (const Search search : {Search::spread, Search::lowest}) {
    const ExercisePhase fill = of_shares(workers, blocks, Kind::exchange, bytes);
    const ExerciseJob j = job_of(64 * asked, workers, workers * blocks,
                                 {fill, of_shares(workers, blocks, Kind::free), fill},
                                 {.chunk_bytes = 1024, .chunk_search = search});
    const ExerciseResult r = test::exercise<TypeParam, simt::Cpu>(j);
    EXPECT_EQ(r.failures, 0u);
    const std::size_t span = span_of_used(r.phases[2].regions);
    if (search == Search::lowest) {
      EXPECT_LE(span, 2 * asked);
    } else {
      EXPECT_GT(span, 8 * asked);
    }
  }
}

template <class A>
class OuroborosPieces : public testing::Test {};
using PieceVariants = testing::Types<OuroborosPVA, OuroborosPVL>;
TYPED_TEST_SUITE(OuroborosPieces, PieceVariants);

// A queue of pages grows when pages are freed, and releases its pieces as they are taken again,
// also while other threads change the same queue.
TYPED_TEST(OuroborosPieces, AreReleasedWhenTheQueueIsShort) {
  constexpr std::uint32_t workers = 4, blocks = 4000;
  constexpr std::size_t chunk = 256;
  const ExercisePhase other = exchange_at_random(
      workers, workers * blocks, blocks, 1, [](Random&) { return 64u; }, 4);
  const ExercisePhase fill = of_shares(workers, blocks, Kind::exchange, 32);
  const ExerciseJob j =
      job_of(4 << 20, workers, workers * blocks,
             {fill, of_shares(workers, blocks, Kind::free), fill, other}, {.chunk_bytes = chunk});
  const ExerciseResult r = test::exercise<TypeParam, simt::Cpu>(j);
  EXPECT_EQ(r.failures, 0u);
  const std::size_t fresh = bytes_in(r.initial, Region::State::metadata);
  EXPECT_GT(bytes_in(r.phases[1].regions, Region::State::metadata), fresh + 100 * chunk);
  EXPECT_LE(bytes_in(r.phases[2].regions, Region::State::metadata), fresh + 8 * chunk);
}

}  // namespace heapwood::alloc::test
