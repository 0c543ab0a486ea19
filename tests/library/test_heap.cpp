// SPDX-License-Identifier: MIT
// The public heap on CPU threads: what the host and what threads may ask of it.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <heapwood/alloc/allocators/atomic.hpp>
#include <heapwood/alloc/allocators/halloc.hpp>
#include <heapwood/alloc/allocators/ouroboros.hpp>
#include <heapwood/heap.hpp>
#include <heapwood/parallel.hpp>
#include <stdexcept>
#include <utility>
#include <vector>

namespace heapwood {
namespace {

constexpr std::size_t mib = 1 << 20;

std::uintptr_t address(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }

TEST(Heap, ThreadsAllocateAndFree) {
  heap heap(8 * mib);
  const heap_handle h = heap.handle();
  shared_array<unsigned> damaged(64);
  for_each_thread(64, [&, h](unsigned thread) {
    for (unsigned round = 0; round < 200; ++round) {
      const std::size_t bytes = 1 + (thread * 37 + round * 11) % 900;
      auto* const block = static_cast<unsigned char*>(h.malloc(bytes));
      if (block == nullptr) continue;
      std::memset(block, static_cast<int>(thread), bytes);
      for (std::size_t i = 0; i < bytes; ++i) damaged[thread] += block[i] != thread;
      h.free(block);
    }
  });
  for (unsigned thread = 0; thread < 64; ++thread) EXPECT_EQ(damaged[thread], 0u);
  EXPECT_EQ(heap.report_leaks(nullptr), 0u);
}

TEST(Heap, SeveralHeapsHaveBlocksOfTheirOwn) {
  heap first(mib), second(2 * mib);
  void* const block = first.handle().malloc(100);
  ASSERT_NE(block, nullptr);
  EXPECT_TRUE(first.handle().owns(block));
  EXPECT_FALSE(second.handle().owns(block));
  EXPECT_FALSE(first.handle().owns(nullptr));
  EXPECT_GT(first.report_leaks(nullptr), 0u);
  EXPECT_EQ(second.report_leaks(nullptr), 0u);
  second = std::move(first);  // frees the second's memory
  EXPECT_TRUE(second.handle().owns(block));
  second.handle().free(block);
  EXPECT_EQ(second.report_leaks(nullptr), 0u);
}

TEST(Heap, SizesThatWrapThrow) {
  for (const std::size_t less : {0, 1, 255, 256, 257, 511, 512, 513}) {
    EXPECT_THROW(heapwood::heap(~std::size_t{0} - less), Error) << less;
    EXPECT_THROW(basic_heap<alloc::Atomic>(~std::size_t{0} - less), Error) << less;
  }
}

TEST(Heap, ResetFreesEverythingAndForgetsRefusals) {
  heap heap(mib);
  const heap_handle h = heap.handle();
  for (int round = 0; round < 3; ++round) {
    std::size_t blocks = 0;
    while (h.malloc(1000) != nullptr) ++blocks;
    EXPECT_GT(blocks, 700u);
    EXPECT_EQ(heap.stats().full, 1u);
    heap.reset();
    EXPECT_EQ(heap.stats().full, 0u);
    EXPECT_EQ(heap.stats().first_refused_bytes, 0u);
    EXPECT_EQ(heap.report_leaks(nullptr), 0u);
  }
}

TEST(Heap, TellsFullFromTooLarge) {
  heap heap(4 * mib);
  const heap_handle h = heap.handle();
  EXPECT_GT(h.max_request(), 3 * mib);
  EXPECT_LE(h.max_request(), heap.bytes());
  EXPECT_EQ(h.malloc(h.max_request() + 1), nullptr);
  EXPECT_EQ(h.malloc(~std::size_t{0}), nullptr);
  heap_stats stats = heap.stats();
  EXPECT_EQ(stats.too_large, 2u);
  EXPECT_EQ(stats.full, 0u);
  EXPECT_EQ(stats.first_refused_bytes, h.max_request() + 1);
  EXPECT_EQ(stats.largest_hole, h.max_request());
  void* const all = h.malloc(h.max_request());
  ASSERT_NE(all, nullptr);
  EXPECT_EQ(h.malloc(mib), nullptr);
  stats = heap.stats();
  EXPECT_EQ(stats.full, 1u);
  EXPECT_EQ(stats.too_large, 2u);
  EXPECT_LT(stats.largest_hole, mib);
  EXPECT_EQ(stats.used + stats.free + stats.held + stats.metadata, heap.bytes());
  h.free(all);
}

TEST(Heap, CallocClearsAndRejectsOverflow) {
  heap heap(mib);
  const heap_handle h = heap.handle();
  auto* const used = static_cast<unsigned char*>(h.malloc(100));
  std::memset(used, 0xff, 100);
  h.free(used);
  for (int i = 0; i < 50; ++i) {
    const auto* const block = static_cast<unsigned char*>(h.calloc(25, 4));
    ASSERT_NE(block, nullptr);
    for (int j = 0; j < 100; ++j) ASSERT_EQ(block[j], 0);
  }
  EXPECT_EQ(h.calloc(~std::size_t{0} / 2, 3), nullptr);
  EXPECT_EQ(heap.stats().too_large, 1u);
  EXPECT_NE(h.calloc(0, 8), nullptr);
}

TEST(Heap, ReallocKeepsContents) {
  heap heap(mib);
  const heap_handle h = heap.handle();
  auto* block = static_cast<unsigned char*>(h.realloc(nullptr, 0, 10));
  ASSERT_NE(block, nullptr);
  for (unsigned char i = 0; i < 10; ++i) block[i] = i;
  block = static_cast<unsigned char*>(h.realloc(block, 10, 3000));
  ASSERT_NE(block, nullptr);
  for (unsigned char i = 0; i < 10; ++i) EXPECT_EQ(block[i], i);
  EXPECT_EQ(h.realloc(block, 3000, 8 * mib), nullptr);
  for (unsigned char i = 0; i < 10; ++i) EXPECT_EQ(block[i], i);
  block = static_cast<unsigned char*>(h.realloc(block, 3000, 5));
  for (unsigned char i = 0; i < 5; ++i) EXPECT_EQ(block[i], i);
  h.free(block);
  EXPECT_EQ(heap.report_leaks(nullptr), 0u);
}

TEST(Heap, AlignedBlocks) {
  heap heap(4 * mib);
  const heap_handle h = heap.handle();
  for (std::size_t alignment = 1; alignment <= 65536; alignment *= 2) {
    for (const std::size_t bytes : {0, 1, 100, 5000}) {
      void* const block = h.aligned_alloc(alignment, bytes);
      ASSERT_NE(block, nullptr) << alignment;
      EXPECT_EQ(address(block) % alignment, 0u);
      std::memset(block, 1, bytes);
      h.aligned_free(block);
    }
  }
  h.aligned_free(nullptr);
  EXPECT_EQ(h.aligned_alloc(4096, ~std::size_t{0} - 100), nullptr);
  EXPECT_EQ(heap.report_leaks(nullptr), 0u);
}

struct Counts {
  int made = 0, destroyed = 0;
};
struct Tracked {
  Counts* counts;
  int value;
  Tracked(Counts* c, int v) : counts(c), value(v) { ++counts->made; }
  ~Tracked() { ++counts->destroyed; }
};
struct alignas(128) Aligned {
  int value = 7;
};

TEST(Heap, MakesAndDestroysObjects) {
  heap heap(mib);
  const heap_handle h = heap.handle();
  Counts counts;
  Tracked* const object = h.make<Tracked>(&counts, 5);
  ASSERT_NE(object, nullptr);
  EXPECT_EQ(object->value, 5);
  h.destroy(object);
  h.destroy(static_cast<Tracked*>(nullptr));
  EXPECT_EQ(counts.made, 1);
  EXPECT_EQ(counts.destroyed, 1);
  Aligned* const aligned = h.make<Aligned>();
  ASSERT_NE(aligned, nullptr);
  EXPECT_EQ(address(aligned) % 128, 0u);
  EXPECT_EQ(aligned->value, 7);
  h.destroy(aligned);
  const int* const constant = h.make<const int>(3);
  ASSERT_NE(constant, nullptr);
  EXPECT_EQ(*constant, 3);
  h.destroy(constant);
  h.destroy(h.make<const Aligned>());
  EXPECT_EQ(heap.report_leaks(nullptr), 0u);
}

struct Throws {
  Throws() { throw std::runtime_error("constructor"); }
};
struct alignas(128) ThrowsAligned : Throws {};

TEST(Heap, FreesTheBlockIfTheConstructorThrows) {
  heap heap(mib);
  const heap_handle h = heap.handle();
  for (int i = 0; i < 5; ++i) {
    EXPECT_THROW(h.make<Throws>(), std::runtime_error);
    EXPECT_THROW(h.make<ThrowsAligned>(), std::runtime_error);
  }
  EXPECT_EQ(heap.report_leaks(nullptr), 0u);
}

TEST(Heap, WarpRequests) {
  heap heap(mib);
  const heap_handle h = heap.handle();
  void* const block = h.warp_malloc(3000);
  ASSERT_NE(block, nullptr);
  std::memset(block, 1, 3000);
  h.warp_free(block);
  EXPECT_EQ(h.warp_malloc(2 * mib), nullptr);
  h.warp_free(nullptr);
  EXPECT_EQ(heap.report_leaks(nullptr), 0u);
}

TEST(Heap, FreesNullAndServesZeroBytes) {
  heap heap(mib);
  const heap_handle h = heap.handle();
  h.free(nullptr);
  void *const first = h.malloc(0), *const second = h.malloc(0);
  EXPECT_NE(first, nullptr);
  EXPECT_NE(first, second);
  EXPECT_EQ(address(h.malloc(1, HEAPWOOD_HERE)) % 16, 0u);
}

template <class A>
void expect_usable_sizes() {
  basic_heap<A> heap(8 * mib);
  const basic_heap_handle<A> h = heap.handle();
  const std::pair<std::size_t, std::size_t> sizes[] = {{0, 16},       {16, 16},      {17, 32},
                                                       {100, 128},    {5000, 8192},  {8192, 8192},
                                                       {8193, 16384}, {20000, 24576}};
  for (const auto& [bytes, usable] : sizes) {
    void* const block = h.malloc(bytes);
    ASSERT_NE(block, nullptr) << bytes;
    EXPECT_EQ(h.usable_size(block), usable) << bytes;
    std::memset(block, 1, usable);
    h.free(block);
  }
  EXPECT_EQ(heap.report_leaks(nullptr), 0u);
}
TEST(Heap, SizeClassesTellTheUsableSize) {
  expect_usable_sizes<alloc::OuroborosPS>();
  expect_usable_sizes<alloc::OuroborosCS>();
}

TEST(Heap, OtherAllocators) {
  basic_heap<alloc::Halloc> halloc(8 * mib);
  const auto h = halloc.handle();
  std::vector<void*> blocks;
  for (std::size_t bytes = 1; bytes < 100000; bytes *= 3) blocks.push_back(h.malloc(bytes));
  for (void* const block : blocks) EXPECT_NE(block, nullptr);
  for (void* const block : blocks) h.free(block);
  EXPECT_EQ(halloc.report_leaks(nullptr), 0u);
  EXPECT_EQ(h.malloc(h.max_request() + 1), nullptr);
  EXPECT_EQ(halloc.stats().too_large, 1u);

  basic_heap<alloc::Atomic> atomic(mib);
  EXPECT_NE(atomic.handle().malloc(100), nullptr);
  EXPECT_GT(atomic.stats().used, 0u);
  atomic.reset();
  EXPECT_EQ(atomic.stats().used, 0u);
}

}  // namespace
}  // namespace heapwood
