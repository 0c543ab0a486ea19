// SPDX-License-Identifier: MIT
// Ouroboros' hints that chunks or the buddy are exhausted do not outlast a free: whenever another
// thread frees memory during a request that is refused, the next request is served. Pages without a
// slot in a queue are not lost.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "alloc/allocators/ouroboros.hpp"
#include "simt/memory.hpp"
#include "tests/alloc/conformance.hpp"
#include "tests/alloc/exercise_erased.hpp"
#include "tests/alloc/launch.hpp"

namespace heapwood::alloc::test {
namespace {

// Calls first(), and second() from start to end before the k-th atomic operation of first(),
// counted from 0. Returns false if first() has no more than k operations; second() is not called
// then. second() must not wait for first().
template <class First, class Second>
bool interrupt(unsigned k, First first, Second second) {
  struct At final : simt::BeforeAtomic {
    unsigned left;
    Second& second;
    bool done = false;
    At(unsigned k, Second& other) : left(k), second(other) {}
    void operation() override {
      if (left-- != 0) return;
      simt::before_atomic = nullptr;
      done = true;
      second();
    }
  } hook(k, second);
  simt::before_atomic = &hook;
  first();
  simt::before_atomic = nullptr;
  return hook.done;
}

constexpr std::size_t pool_bytes = 64 << 10, chunk = 256, small = 256;

// Calls f(allocator, warp) for a new pool, in one thread.
template <class A, class F>
void with_new_pool(F f) {
  OwnPool<A> pool(pool_bytes);
  launch_alone([&](auto& warp) { f(pool.heap, warp); });
}

// Allocates until a request is refused.
template <class A, class Warp>
std::vector<void*> fill(A& a, Warp& warp, std::size_t bytes) {
  std::vector<void*> blocks;
  while (void* block = a.allocate(warp, bytes)) blocks.push_back(block);
  return blocks;
}

template <class A>
class OuroborosExhaustion : public testing::Test {};
using Variants = testing::Types<OuroborosPS, OuroborosPVL, OuroborosCS, OuroborosCVL>;
TYPED_TEST_SUITE(OuroborosExhaustion, Variants);

// The freed block is in the buddy, and the next request is for a page.
TYPED_TEST(OuroborosExhaustion, EndsWithTheFreeOfALargeBlock) {
  bool is_within = true;
  for (unsigned k = 0; is_within && !this->HasFatalFailure(); ++k) {
    with_new_pool<TypeParam>([&](auto& a, auto& warp) {
      std::vector<void*> large = fill(a, warp, 2 * chunk);
      fill(a, warp, small);
      ASSERT_FALSE(large.empty());
      // Clears the hint, so that the request below looks for itself.
      a.deallocate(warp, large.back());
      large.back() = a.allocate(warp, 2 * chunk);
      ASSERT_NE(large.back(), nullptr);
      void* block = nullptr;
      is_within = interrupt(
          k, [&] { block = a.allocate(warp, small); }, [&] { a.deallocate(warp, large.back()); });
      if (!is_within) {
        EXPECT_EQ(block, nullptr) << "the pool is not full";
        return;
      }
      if (block == nullptr) block = a.allocate(warp, small);
      ASSERT_NE(block, nullptr) << "refused after a free before operation " << k;
    });
  }
}

// Chunks without queues, all in use: `small` ones taken one by one, and 64 as one block.
class OuroborosChunkHints : public testing::Test {
 protected:
  static constexpr std::uint32_t first = 64, last = 127;  // chunks of one word of the bitmap
  static constexpr std::size_t block = 64 * chunk;

  struct Full {
    Full() : memory({}, bytes) {
      ouroboros::Shape shape;
      shape.chunks = 256;
      shape.chunk_shift = simt::highest_bit(chunk);
      const std::size_t end = round_up(chunks.plan(shape, 0, 256), 256);
      const simt::Cpu device({.threads = 1});
      std::fill_n(memory.data(), end, std::byte{0});
      buddies[0] = Buddy::create(memory.data() + end, Buddy::bytes_for(256, shape.chunk_shift),
                                 shape.chunk_shift, device, shape.small());
      chunks.initialize(memory.data(), buddies, buddies[0].page(0), device);
    }
    template <class Warp>
    void take_all(Warp& warp) {
      while (chunks.take(warp) != ouroboros::Chunks::none) {
      }
      EXPECT_NE(chunks.take_large(warp, block), nullptr);
    }
    static constexpr std::size_t bytes = 128 << 10;
    simt::Memory memory;
    Buddy buddies[ouroboros::Chunks::buddies];
    ouroboros::Chunks chunks;
  };
};

TEST_F(OuroborosChunkHints, AFullWordIsFoundAfterItsLastChunkIsFreed) {
  launch_alone([](auto& warp) {
    bool is_within = true;
    for (unsigned k = 0; is_within; ++k) {
      Full pool;
      pool.take_all(warp);
      for (std::uint32_t c = first; c < last; ++c) pool.chunks.give_back(c);
      void* got = nullptr;
      is_within = interrupt(
          k, [&] { got = pool.chunks.take_large(warp, block); },
          [&] { pool.chunks.give_back(last); });
      if (!is_within) {
        EXPECT_EQ(got, nullptr);
      } else if (got == nullptr) {
        ASSERT_NE(pool.chunks.take_large(warp, block), nullptr) << "freed before operation " << k;
      }
    }
  });
}

// A thread that waits for a chunk gives up if they are exhausted.
TEST_F(OuroborosChunkHints, ChunksAreNotExhaustedWhenOneIsFree) {
  launch_alone([](auto& warp) {
    bool is_within = true;
    for (unsigned k = 0; is_within; ++k) {
      Full pool;
      pool.take_all(warp);
      pool.chunks.give_back(first);
      ASSERT_EQ(pool.chunks.take(warp), first);
      std::uint32_t got = ouroboros::Chunks::none;
      is_within = interrupt(
          k, [&] { got = pool.chunks.take(warp); }, [&] { pool.chunks.give_back(first); });
      if (is_within && got == ouroboros::Chunks::none) {
        ASSERT_EQ(*pool.chunks.exhausted_word(), 0u) << "freed before operation " << k;
      }
    }
  });
}

// A lane of a warp whose other lanes do nothing. The launch is aborted: a wait ends after 64 turns.
simt::Control stopped{.abort = 1};
struct LoneLane : simt::SerialWarp {
  static constexpr unsigned width = 4;
  unsigned rank;
  explicit LoneLane(unsigned of = 0) : SerialWarp(0, 1, &stopped), rank(of) {}
  unsigned lane() const { return rank; }
};

// A queue of class 0 with two pieces, numbers 0 and 1, and at most `max_pieces`.
template <class Queue>
struct QueueAlone {
  static constexpr std::uint32_t slots = chunk / sizeof(std::uint32_t);  // of a piece

  explicit QueueAlone(std::uint32_t max_pieces) {
    ouroboros::Shape shape;
    shape.chunks = 256;
    shape.chunk_shift = simt::highest_bit(chunk);
    shape.pieces = 2;
    shape.max_pieces = max_pieces;
    const std::size_t end =
        round_up(queue.plan(shape, true, chunks.plan(shape, shape.classes(), 256)), 256);
    const simt::Cpu device({.threads = 1});
    memory = simt::Memory({}, end + shape.chunks * chunk);
    std::fill_n(memory.data(), end, std::byte{0});
    chunks.initialize(memory.data(), nullptr, memory.data() + end, device);
    queue.reset(chunks, device);
  }
  simt::Memory memory;
  ouroboros::Chunks chunks;
  Queue queue;
};

template <class Slots>
class OuroborosQueue : public testing::Test {};
using Pieces = testing::Types<ouroboros::ArrayQueue, ouroboros::LinkedQueue>;
TYPED_TEST_SUITE(OuroborosQueue, Pieces);

// Four lanes put six entries: two into one piece, four into the next. The first piece is emptied,
// and has a new number, before the last lane begins.
TYPED_TEST(OuroborosQueue, ALaneNeedsOnlyThePiecesOfItsEntries) {
  QueueAlone<ouroboros::IndexQueue<TypeParam>> alone(2);
  auto& [memory, chunks, queue] = alone;
  launch_alone([&](auto& warp) {
    const LaneGroup group(warp, 1);
    const auto take = [&] { return queue.take(chunks, warp, group, 0, &queue, &chunks); };
    constexpr std::uint32_t slots = alone.slots, before = slots - 2, n = 6, others = slots - 3;
    ASSERT_TRUE(queue.reserve_slots(chunks, warp, 0, before, &queue, &chunks));
    for (std::uint32_t i = 0; i < before; ++i)
      queue.put(chunks, warp, 0, queue.reserve(chunks, 0, 1), 0u);
    for (std::uint32_t i = 0; i < before; ++i) EXPECT_EQ(take(), 0u);
    ASSERT_TRUE(queue.reserve_slots(chunks, warp, 0, n, &queue, &chunks));
    const std::uint64_t begin = queue.reserve(chunks, 0, n);
    const auto put = [&](unsigned lane) {
      LoneLane thread(lane);
      queue.put(chunks, thread, LaneGroup(thread, 0xf), 0, begin, n, 10, 1);
    };
    for (unsigned lane = 0; lane < 3; ++lane) put(lane);
    for (std::uint32_t i = 0; i < 2; ++i) EXPECT_EQ(take(), 10 + i);
    // The list gives an emptied piece a new number when one of its slots is needed.
    ASSERT_TRUE(queue.reserve_slots(chunks, warp, 0, others, &queue, &chunks));
    queue.put(chunks, warp, 0, queue.reserve(chunks, 0, others) + others - 1, 0u);
    put(3);
    // Does not wait for a missing entry, as `take` would.
    std::vector<std::uint32_t> entries;
    queue.read(HostView(simt::DeviceId{}), chunks, 0,
               [&](std::uint32_t entry) { entries.push_back(entry); });
    entries.resize(4);
    EXPECT_EQ(entries, (std::vector<std::uint32_t>{12, 13, 14, 15}));
  });
}

// A thread that has a number for its piece is interrupted, and others attach pieces up to the next
// lap: none takes its place.
TEST(OuroborosArray, PiecesOfAnEntryAreInTheOrderOfTheirNumbers) {
  QueueAlone<ouroboros::ArrayQueue> alone(3);
  auto& [memory, chunks, queue] = alone;
  constexpr std::uint32_t piece = 100, lap = 4, number = 2;
  LoneLane thread;
  const auto attach = [&](std::uint32_t which) { queue.attach(chunks, thread, 0, which); };
  ASSERT_TRUE(interrupt(
      1, [&] { attach(piece); },
      [&] {
        for (std::uint32_t k = 1; k <= lap; ++k) attach(piece + k);
      }));
  EXPECT_EQ(queue.piece_of<true>(chunks, thread, 0, number, &queue, &chunks), piece);
}

// Pages that were freed when the queue of their class had no slot: threads that need them at the
// same time get all of them.
template <class A, class Device>
void refill(std::size_t pool, unsigned warps) {
  constexpr std::size_t bytes = 16;
  const std::uint32_t scripts = warps * Device::Warp::width;
  const auto run = [&](std::uint32_t each, int rounds) {
    const ExercisePhase fill = of_shares(scripts, each, Kind::exchange, bytes);
    ExerciseJob job = job_of(pool, warps, scripts * each, {fill});
    job.lanes = Device::Warp::width;
    job.device.threads = static_cast<int>(warps);
    for (int round = 0; round < rounds; ++round) {
      job.phases.push_back(of_shares(scripts, each, Kind::free));
      job.phases.push_back(fill);
    }
    return exercise<A, Device>(job);
  };
  // Requests as many blocks as the pool serves.
  const std::uint32_t each =
      served(run(static_cast<std::uint32_t>(pool / bytes / scripts), 0).phases[0]) / scripts;
  ASSERT_GT(each * scripts, pool / bytes / 2);
  const ExerciseResult result = run(each, 3);
  // Another run may need more memory for the queue: requests are refused needlessly only if pages
  // are free in the end. A thread that has been told that no page will come misses a list that
  // another one holds at that moment.
  std::size_t missed = 0;
  for (std::size_t p = 0; p < result.phases.size(); p += 2) {
    const std::size_t refused = scripts * each - served(result.phases[p]);
    missed += std::min(refused, bytes_in(result.phases[p].regions, Region::State::free) / bytes);
  }
  EXPECT_LE(missed, each * scripts * 4 / 200) << "refused though pages were free";
}

template <class A>
class OuroborosSpill : public testing::Test {};
using PageVariants = testing::Types<OuroborosPS, OuroborosPVA, OuroborosPVL>;
TYPED_TEST_SUITE(OuroborosSpill, PageVariants);

TYPED_TEST(OuroborosSpill, ThreadsGetAllPages) { refill<TypeParam, simt::Cpu>(64 << 10, 16); }
TYPED_TEST(OuroborosSpill, LanesGetAllPages) { refill<TypeParam, simt::Lockstep<4>>(16 << 10, 4); }

}  // namespace
}  // namespace heapwood::alloc::test
