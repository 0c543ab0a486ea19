// SPDX-License-Identifier: MIT
// The buddy allocator of large requests and its bitmaps, with a yield possible before every atomic
// operation: hints, refusals, merging.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "alloc/primitives/buddy.hpp"
#include "simt/cpu.hpp"
#include "tests/alloc/conformance.hpp"

namespace heapwood::alloc {
namespace {

using test::Random;

constexpr unsigned page_shift = 8, threads = 4;
constexpr std::size_t page_bytes = 1 << page_shift;

// A lane that counts how often it waits.
struct Caller {
  unsigned number = 0;
  unsigned* pauses = nullptr;
  std::function<void()> at_pause = [] {};
  bool stop = false;

  unsigned worker() const { return number; }
  unsigned lane() const { return 0; }
  bool aborted() const { return stop; }
  void pause(unsigned turn) const {
    if (pauses != nullptr) ++*pauses;
    at_pause();
    simt::SerialWarp(number, threads, nullptr).pause(turn);
  }
};

template <class F>
void in_threads(F f) {
  std::vector<std::thread> running;
  for (unsigned t = 0; t < threads; ++t) running.emplace_back([&f, t] { f(t); });
  for (std::thread& thread : running) thread.join();
}

struct Bits {
  explicit Bits(std::uint32_t units)
      : shape(RunMap::Shape::plan(units, 0)), words(shape.end(), 0) {}
  RunMap map() { return {words.data(), &shape, &motion}; }
  void give(std::uint32_t unit, std::uint32_t n) {
    Motion none(nullptr);
    map().free(unit, n, none);
  }
  std::uint32_t take(unsigned k, std::uint32_t n, std::uint32_t spread = 0) {
    Motion none(nullptr);
    return map().take(k, n, spread, {}, none);
  }
  void expect_hints() {
    for (std::uint32_t i = 0; i < shape.words(); ++i) {
      for (unsigned rank = 0; rank < RunMap::ranks; ++rank) {
        EXPECT_EQ(map().hints(rank).next(i) == i, RunMap::rank_of(words[i]) == rank)
            << "word " << i << " rank " << rank;
      }
    }
    EXPECT_TRUE(Motion::is_idle(motion));
  }
  RunMap::Shape shape;
  std::vector<std::uint64_t> words;
  std::uint64_t motion = 0;
};

TEST(RunMap, RanksAreThoseOfTheLargestAlignedRun) {
  for (std::uint32_t i = 0; i < 2000; ++i) {
    Random random(i);
    std::uint64_t w = ~std::uint64_t{0};
    for (std::uint32_t clear = random(40); clear > 0; --clear)
      w &= ~(std::uint64_t{1} << random(64));
    if (i % 4 == 0) w &= std::uint64_t{1} << random(64);
    unsigned expected = RunMap::ranks;
    for (unsigned k = 0; k < RunMap::ranks; ++k) {
      for (unsigned bit = 0; bit < 64; bit += 1 << k) {
        const std::uint64_t run = ((std::uint64_t{1} << (1 << k)) - 1) << bit;
        if ((w & run) == run) expected = k;
      }
    }
    EXPECT_EQ(RunMap::rank_of(w), expected) << std::hex << w;
  }
}

TEST(RunMap, TakesTheBestFit) {
  Bits bits(64 * 100);
  bits.give(64 * 5, 63);
  bits.give(64 * 60 + 8, 4);
  bits.give(64 * 60 + 33, 1);
  bits.expect_hints();
  EXPECT_EQ(bits.take(2, 3, ~0u), 64 * 60 + 8u);
  EXPECT_EQ(bits.take(0, 1), 64 * 60 + 11u);
  EXPECT_EQ(bits.take(0, 1), 64 * 60 + 33u);
  EXPECT_EQ(bits.take(0, 1), 64 * 5 + 62u);
  EXPECT_EQ(bits.take(5, 32), 64 * 5u);
  EXPECT_EQ(bits.take(5, 32), RunMap::none);
  EXPECT_EQ(bits.take(3, 8), 64 * 5 + 48u);
  EXPECT_EQ(bits.take(3, 8), 64 * 5 + 32u);
  bits.expect_hints();
}

TEST(RunMap, AFullWordIsOneUnitOfTheMapAbove) {
  Bits bits(130);
  bits.give(0, 63);
  bits.give(128, 2);
  Motion motion(&bits.motion);
  EXPECT_TRUE(bits.map().free(63, 1, motion));
  EXPECT_FALSE(Motion::is_idle(bits.motion));
  motion.end();
  EXPECT_EQ(bits.words[0], 0u);
  bits.expect_hints();
  EXPECT_EQ(bits.take(0, 1), 128u);
}

TEST(RunMap, HintsAgreeOnceNobodyIsInside) {
  for (std::uint32_t round = 0; round < 8; ++round) {
    const std::uint32_t units = round % 2 == 0 ? 3 * 64 : 70 * 64;
    Bits bits(units);
    // One unit of each word is never free, so that no word becomes full.
    for (std::uint32_t word = 0; word < units / 64; ++word) bits.give(word * 64, 63);
    const std::vector<std::uint64_t> before = bits.words;
    in_threads([&](unsigned t) {
      Random random(round * threads + t);
      std::vector<std::pair<std::uint32_t, std::uint32_t>> held;
      for (int i = 0; i < 100; ++i) {
        const unsigned k = random(6);
        const std::uint32_t n = (1u << k) - (k > 1 ? random(1u << (k - 1)) : 0);
        const std::uint32_t unit = bits.take(k, n, random(~0u));
        if (unit != RunMap::none) {
          EXPECT_EQ(unit % (1u << k), 0u);
          held.emplace_back(unit, n);
        }
        while (!held.empty() && (unit == RunMap::none || held.size() > 4)) {
          Motion motion(&bits.motion);
          bits.map().free(held.back().first, held.back().second, motion);
          motion.end();
          held.pop_back();
        }
      }
      for (const auto& [unit, n] : held) {
        Motion motion(&bits.motion);
        bits.map().free(unit, n, motion);
        motion.end();
      }
    });
    bits.expect_hints();
    EXPECT_TRUE(std::equal(before.begin(), before.begin() + units / 64, bits.words.begin()));
  }
}

class Pages {
 public:
  explicit Pages(std::size_t bytes)
      : memory_({}, bytes),
        device_(simt::DeviceId{.threads = threads}),
        buddy(Buddy::create(memory_.data(), bytes, page_shift, device_)) {}

  // The motion word of level 0.
  std::uint64_t* motion() { return reinterpret_cast<std::uint64_t*>(memory_.data()); }
  std::size_t offset(const void* block) const {
    return static_cast<std::size_t>(static_cast<const std::byte*>(block) - memory_.data());
  }
  std::vector<Region> regions() const {
    std::vector<Region> list;
    buddy.walk(HostView({}), memory_.data(), [&](const Region& region) { list.push_back(region); });
    return list;
  }

 private:
  simt::Memory memory_;
  simt::Cpu device_;

 public:
  Buddy buddy;
};

bool same(const std::vector<Region>& a, const std::vector<Region>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Region& x, const Region& y) {
    return x.offset == y.offset && x.bytes == y.bytes && x.state == y.state;
  });
}

TEST(BuddyAlone, RefusesWithoutWaiting) {
  Pages pages(3 << 20);
  unsigned pauses = 0;
  Caller caller{.pauses = &pauses};
  std::vector<void*> blocks;
  for (std::size_t bytes = 2 << 20; bytes >= page_bytes; bytes /= 2) {
    while (void* block = pages.buddy.allocate(caller, bytes)) blocks.push_back(block);
  }
  EXPECT_EQ(test::largest_free(pages.regions()), 0u);
  EXPECT_EQ(pauses, 0u);
  for (void* block : blocks) pages.buddy.deallocate(block);
}

TEST(BuddyAlone, IsNotFullWhileSomebodySplits) {
  Pages pages(1 << 20);
  Caller caller;
  std::vector<void*> blocks;
  while (void* block = pages.buddy.allocate(caller, page_bytes)) blocks.push_back(block);
  // Another thread holds pages that no bitmap shows, and frees them later.
  Motion other(pages.motion());
  other.begin();
  unsigned pauses = 0;
  Caller waiting{.pauses = &pauses};
  waiting.at_pause = [&] {
    if (pauses != 70) return;
    pages.buddy.deallocate(blocks.back());
    blocks.pop_back();
    other.end();
  };
  void* block = pages.buddy.allocate(waiting, page_bytes);
  EXPECT_NE(block, nullptr);
  EXPECT_EQ(pauses, 70u);
  EXPECT_EQ(pages.buddy.allocate(waiting, page_bytes), nullptr);

  // A request larger than any block that can hide pages does not wait.
  other.begin();
  Caller large{.pauses = &(pauses = 0)};
  EXPECT_EQ(pages.buddy.allocate(large, 64 * page_bytes), nullptr);
  EXPECT_EQ(pauses, 0u);
  // The abort flag ends the wait.
  Caller stopped{.stop = true};
  EXPECT_EQ(pages.buddy.allocate(stopped, page_bytes), nullptr);
  other.end(false);
}

TEST(BuddyAlone, GivesBackWhatIsBehindTheRequest) {
  Pages pages(40 << 20);
  const std::vector<Region> before = pages.regions();
  Caller caller;
  for (const std::uint32_t n :
       {1u, 3u, 63u, 64u, 65u, 100u, 127u, 129u, 4095u, 4096u, 4097u, 8191u, 70'000u}) {
    void* block = pages.buddy.allocate(caller, n * page_bytes);
    ASSERT_NE(block, nullptr) << n;
    EXPECT_EQ(test::bytes_in(pages.regions(), Region::State::used), n * page_bytes);
    pages.buddy.deallocate(block);
    EXPECT_TRUE(same(pages.regions(), before)) << n;
  }
}

// All threads allocate and free blocks of many sizes: none overlap, and at the end everything is
// merged.
TEST(BuddyAlone, BlocksAreDisjointAndMergeAgain) {
  for (std::uint32_t round = 0; round < 6; ++round) {
    const std::size_t bytes = round % 3 == 0 ? 64 << 10 : round % 3 == 1 ? 200 << 10 : 3 << 20;
    const std::uint32_t most = round % 3 == 2 ? 300 : 40;
    Pages pages(bytes);
    const std::vector<Region> before = pages.regions();
    std::vector<std::atomic<unsigned>> owner(bytes / page_bytes);
    in_threads([&](unsigned t) {
      Random random(round * threads + t);
      Caller caller{.number = t};
      struct Held {
        void* block;
        std::size_t first, pages;
      };
      std::vector<Held> held;
      const auto drop = [&] {
        for (std::size_t p = held.back().first; p < held.back().first + held.back().pages; ++p)
          EXPECT_EQ(owner[p].exchange(0), t + 1);
        pages.buddy.deallocate(held.back().block);
        held.pop_back();
      };
      for (int i = 0; i < 400; ++i) {
        const std::uint32_t n = 1 + (random(4) == 0 ? random(most) : random(6));
        void* block = pages.buddy.allocate(caller, n * page_bytes);
        if (block != nullptr) {
          held.push_back({block, pages.offset(block) / page_bytes, n});
          for (std::size_t p = held.back().first; p < held.back().first + n; ++p)
            EXPECT_EQ(owner[p].exchange(t + 1), 0u);
        }
        while (!held.empty() && (block == nullptr || random(8) == 0)) drop();
      }
      while (!held.empty()) drop();
    });
    EXPECT_TRUE(same(pages.regions(), before));
  }
}

// Each thread frees a block and then allocates one of the same size: a free block always exists for
// each of them.
TEST(BuddyAlone, IsFullOnlyWhenItIs) {
  for (const std::uint32_t n : {1u, 4u, 32u, 60u, 64u, 68u, 200u}) {
    Pages pages(n < 32 ? 100 << 10 : 3 << 20);
    Caller filler;
    std::vector<void*> blocks;
    while (void* block = pages.buddy.allocate(filler, n * page_bytes)) blocks.push_back(block);
    ASSERT_GE(blocks.size(), threads) << n;
    std::atomic<unsigned> refused = 0;
    in_threads([&](unsigned t) {
      Caller caller{.number = t};
      for (int i = 0; i < 100; ++i) {
        for (std::size_t b = t; b < blocks.size(); b += threads) {
          pages.buddy.deallocate(blocks[b]);
          blocks[b] = pages.buddy.allocate(caller, n * page_bytes);
          if (blocks[b] == nullptr) {
            ++refused;
            return;
          }
          if (b > 8 * threads) break;
        }
      }
    });
    EXPECT_EQ(refused, 0u) << n << " pages";
  }
}

}  // namespace
}  // namespace heapwood::alloc
