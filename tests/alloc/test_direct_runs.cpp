// SPDX-License-Identifier: MIT
// Blocks of several arenas that a warp with a context requests: pairs, of which one side may be
// empty, and blocks for which no run of arenas is free (run_collector.hpp).
#include <gtest/gtest.h>

#include <vector>

#include "alloc/allocators/heapwood.hpp"
#include "simt/lockstep.hpp"
#include "tests/alloc/conformance.hpp"
#include "workloads/exercise_run.hpp"

namespace heapwood::alloc {
namespace {

// Pairs of several arenas, and of several superblocks, one or both of which are blocks.
struct Sides {
  using Scratch = Heapwood::WarpState;
  static constexpr unsigned block_threads = 64, blocks_per_multiprocessor = 1;
  Heapwood heap;
  std::uint32_t* refused;

  template <class Warp>
  SIMT_FN void operator()(Warp& warp, Scratch& scratch) const {
    typename Heapwood::Context<Warp> own(heap, warp, scratch);
    constexpr std::uint32_t granules = 8192 / granule;  // of an arena
    for (const std::uint32_t arenas : {2u, 5u, 33u, 40u}) {
      const std::uint32_t n = arenas * granules;
      for (unsigned sides = 1; sides < 4; ++sides) {
        const std::uint32_t first = sides == 2 ? 0 : n, second = sides == 1 ? 0 : n;
        const BlockPair pair = own.allocate_pair(warp, first, second);
        warp.sync();
        if (warp.lane() == 0 && pair.first == nullptr) ++*refused;
        if (first != 0) own.deallocate(warp, pair.first, first);
        if (second != 0) own.deallocate(warp, pair.second, second);
      }
    }
    own.end(warp);
  }
};
TEST(Runs, PairsWithAnEmptySideAreFreed) {
  constexpr std::size_t pool_bytes = std::size_t{26} << 20;
  const simt::Memory memory({}, pool_bytes);
  const simt::Lockstep<8> device(1);
  const Heapwood heap =
      Heapwood::create({memory.data(), pool_bytes}, {.has_persistent_warps = true}, device);
  std::uint32_t refused = 0;
  device.launch(Sides{heap, &refused}, 1);
  EXPECT_EQ(refused, 0u);
  EXPECT_EQ(test::bytes_in(regions_of(heap, {}), Region::State::used), 0u);
}

// A pool filled with blocks of an arena each, for tests that use a range of them again. One thread
// fills and empties it: simulated warps would take seconds.
class FilledPool {
  static constexpr std::size_t pool_bytes = std::size_t{26} << 20;
  const simt::Cpu device_{{.threads = 1}};
  simt::Memory memory_;
  std::vector<void*> blocks_;

 public:
  static constexpr std::uint32_t arena_bytes = 8192, arena_granules = arena_bytes / granule;
  Heapwood heap;
  std::byte* first;  // of the range, in which no two whole superblocks are free

  FilledPool()
      : memory_({}, pool_bytes),
        heap(Heapwood::create({memory_.data(), pool_bytes}, {.has_persistent_warps = true},
                              device_)) {
    first = static_cast<std::byte*>(memory_.data()) + regions_of(heap, {}).front().bytes +
            std::size_t{640} * arena_bytes;
    blocks_.resize(pool_bytes / arena_bytes);
    std::uint32_t count = 0;
    device_.launch(Fill{heap, blocks_.data(), &count}, 1);
    EXPECT_GT(count, blocks_.size() - 100);
    blocks_.resize(count);
  }
  // Frees all blocks but the n that start at `first`, and `block`.
  void free_all_but_range(std::uint32_t n, void* block = nullptr) {
    std::erase_if(blocks_, [&](void* b) {
      const std::ptrdiff_t offset = static_cast<std::byte*>(b) - first;
      return offset >= 0 && offset < std::ptrdiff_t{n} * arena_bytes;
    });
    if (block != nullptr) blocks_.push_back(block);
    device_.launch(FreeAll{heap, blocks_.data(), blocks_.size()}, 1);
    EXPECT_EQ(used_bytes(), 0u);
  }
  std::size_t used_bytes() const {
    return test::bytes_in(regions_of(heap, {}), Region::State::used);
  }

 private:
  struct Fill {
    using Scratch = Heapwood::WarpState;
    static constexpr unsigned block_threads = 64, blocks_per_multiprocessor = 1;
    Heapwood heap;
    void** blocks;
    std::uint32_t* count;

    template <class Warp>
    SIMT_FN void operator()(Warp& warp, Scratch& scratch) const {
      typename Heapwood::Context<Warp> own(heap, warp, scratch);
      std::uint32_t n = 0;
      for (void* block; (block = own.allocate(warp, arena_granules)) != nullptr; ++n) {
        if (warp.lane() == 0) blocks[n] = block;
      }
      if (warp.lane() == 0) *count = n;
      own.end(warp);
    }
  };
  struct FreeAll {
    struct Scratch {};
    static constexpr unsigned block_threads = 64, blocks_per_multiprocessor = 1;
    Heapwood heap;
    void** blocks;
    std::size_t count;

    template <class Warp>
    SIMT_FN void operator()(Warp& warp, Scratch&) const {
      for (std::size_t i = warp.lane(); i < count; i += Warp::width)
        heap.deallocate(warp, blocks[i]);
    }
  };
};

// Frees all but one of `gaps` blocks and requests as many arenas as one block; then frees the last
// one too and requests them again.
struct Gaps {
  using Scratch = Heapwood::WarpState;
  static constexpr unsigned block_threads = 64, blocks_per_multiprocessor = 1;
  static constexpr std::uint32_t gaps = 50, granules = FilledPool::arena_granules;
  Heapwood heap;
  std::byte* first;
  std::byte** served;  // of the two requests

  template <class Warp>
  SIMT_FN void operator()(Warp& warp, Scratch& scratch) const {
    typename Heapwood::Context<Warp> own(heap, warp, scratch);
    const auto arena = [&](std::uint32_t i) { return first + std::size_t{i} * granules * granule; };
    for (std::uint32_t i = 1; i < gaps; ++i) own.deallocate(warp, arena(i), granules);
    for (unsigned request = 0; request < 2; ++request) {
      auto* const block = static_cast<std::byte*>(own.allocate(warp, gaps * granules));
      if (warp.lane() == 0) served[request] = block;
      warp.sync();
      if (request == 0) own.deallocate(warp, arena(0), granules);
    }
    own.end(warp);
  }
};
template <class Device>
void collects(const Device& device) {
  FilledPool pool;
  const std::size_t filled = pool.used_bytes();
  std::byte* served[2] = {};
  device.launch(Gaps{pool.heap, pool.first, served}, 1);
  EXPECT_EQ(served[0], nullptr);
  ASSERT_EQ(served[1], pool.first);
  EXPECT_EQ(pool.used_bytes(), filled);
  pool.free_all_but_range(Gaps::gaps, served[1]);
}
TEST(RunCollector, LargeBlocksGetArenasThatBecomeFreeOneByOne) {
  collects(simt::Cpu({.threads = 1}));
  collects(simt::Lockstep<8>(1));
}

// All warps but the first hold arenas of a range and replace one at a time by another, until the
// first one has requested a number of large blocks. The range has enough arenas for these, but
// seldom side by side, so most are refused while arenas are being collected. Each block is filled
// with its warp's number.
struct Crowd {
  using Scratch = Heapwood::WarpState;
  static constexpr unsigned block_threads = 64, blocks_per_multiprocessor = 1;
  static constexpr std::uint32_t range = 128, each = 24, large = 40,
                                 granules = FilledPool::arena_granules;
  Heapwood heap;
  std::byte* first;
  std::byte** held;        // `each` per warp
  std::uint32_t requests;  // for large blocks
  std::uint64_t *wrong, *begun, *ended;

  template <class Warp>
  SIMT_FN void operator()(Warp& warp, Scratch& scratch) const {
    typename Heapwood::Context<Warp> own(heap, warp, scratch);
    if (warp.worker() == 0) {
      for (std::uint32_t i = 0; i < range; ++i)
        own.deallocate(warp, first + std::size_t{i} * granules * granule, granules);
      own.release_if_scarce(warp);
      add(warp, *begun);
      simt::wait_until_all(warp, [&] { return load(*begun) == warp.workers(); });
      request_large(warp, own);
      add(warp, *ended);
    } else {
      simt::wait_until_all(warp, [&] { return load(*begun) > 0; });
      replace(warp, own);
    }
    own.end(warp);
  }

 private:
  template <class Warp, class Context>
  SIMT_FN void request_large(Warp& warp, Context& own) const {
    for (std::uint32_t i = 0; i < requests && !warp.aborted(); ++i) {
      std::byte* const block = allocate(warp, own, large * granules);
      release(warp, own, block, large * granules);
      warp.pause(i);  // leaves the processors to the others
    }
  }
  template <class Warp, class Context>
  SIMT_FN void replace(Warp& warp, Context& own) const {
    std::byte** const mine = held + std::size_t{warp.worker()} * each;
    for (std::uint32_t i = 0; warp.any(i < each || load(*ended) == 0) && !warp.aborted(); ++i) {
      std::byte*& place = mine[i % each];
      std::byte* const old = place;
      warp.sync();  // all lanes have read
      release(warp, own, old, granules);
      own.release_if_scarce(warp);  // no free is deferred
      warp.pause(i);
      std::byte* const block = allocate(warp, own, granules);
      if (warp.lane() == 0) place = block;
      warp.sync();
      if (i == each) add(warp, *begun);
    }
    for (std::uint32_t i = 0; i < each; ++i) release(warp, own, mine[i], granules);
  }
  template <class Warp, class Context>
  SIMT_FN std::byte* allocate(Warp& warp, Context& own, std::uint32_t n) const {
    auto* const block = static_cast<std::byte*>(own.allocate(warp, n));
    for (std::uint32_t i = warp.lane(); i < n && block != nullptr; i += Warp::width)
      block[i * granule] = mark(warp);
    return block;
  }
  template <class Warp, class Context>
  SIMT_FN void release(Warp& warp, Context& own, std::byte* block, std::uint32_t n) const {
    if (block == nullptr) return;
    bool is_whole = true;
    for (std::uint32_t i = warp.lane(); i < n; i += Warp::width)
      is_whole = is_whole && block[i * granule] == mark(warp);
    if (warp.any(!is_whole)) add(warp, *wrong);
    own.deallocate(warp, block, n);
  }
  template <class Warp>
  SIMT_INLINE static std::byte mark(const Warp& warp) {
    return static_cast<std::byte>(warp.worker() + 1);
  }
  template <class Warp>
  SIMT_INLINE static void add(Warp& warp, std::uint64_t& word) {
    if (warp.lane() == 0) simt::atomic_ref<std::uint64_t>(word).fetch_add(1, simt::relaxed);
  }
  SIMT_INLINE static std::uint64_t load(std::uint64_t& word) {
    return simt::atomic_ref<std::uint64_t>(word).load(simt::relaxed);
  }
};
template <class Device>
void crowds(const Device& device, std::uint32_t requests) {
  constexpr unsigned warps = 4;
  FilledPool pool;
  std::vector<std::byte*> held(std::size_t{warps} * Crowd::each);
  std::uint64_t wrong = 0, begun = 0, ended = 0;
  device.launch(Crowd{pool.heap, pool.first, held.data(), requests, &wrong, &begun, &ended}, warps);
  EXPECT_EQ(wrong, 0u);
  pool.free_all_but_range(Crowd::range);
}
TEST(RunCollector, ManyWarpsDoNotDisturbIt) {
  crowds(simt::Cpu({.threads = 4}), 300);
  crowds(simt::Lockstep<2>(4), 10);
}

}  // namespace
}  // namespace heapwood::alloc
