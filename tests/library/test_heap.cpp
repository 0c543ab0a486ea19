// SPDX-License-Identifier: MIT
// The public heap on CPU threads: several heaps, refusals, other allocators; parallel.hpp. What all
// heaps have is tested in test_heap_interface.cpp.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <heapwood/alloc/allocators/atomic.hpp>
#include <heapwood/alloc/allocators/halloc.hpp>
#include <heapwood/alloc/allocators/ouroboros.hpp>
#include <heapwood/heap.hpp>
#include <heapwood/parallel.hpp>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

namespace heapwood {
namespace {

constexpr std::size_t mib = 1 << 20;

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

TEST(Heap, AReferenceIsOneAddressAndServesFromTheSameHeap) {
  static_assert(sizeof(heap_ref) == sizeof(void*));
  heap heap(mib);
  const heap_ref reference = heap.ref();
  EXPECT_EQ(reference.max_request(), heap.max_request());
  for (int round = 0; round < 2; ++round) {
    void* const block = reference.malloc(100);
    ASSERT_NE(block, nullptr);
    EXPECT_TRUE(heap.handle().owns(block) && reference.owns(block));
    EXPECT_GE(reference.usable_size(block), 100u);
    EXPECT_EQ(reference.malloc(2 * mib), nullptr);
    EXPECT_EQ(heap.stats().too_large, 1u);
    heap.reset();  // the reference stays valid
  }
  heap_ref later;
  later = reference;
  later.free(later.make<int>(1));
  EXPECT_EQ(heap.report_leaks(nullptr), 0u);
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

// The class of every size, and blocks of whole arenas and superblocks.
TEST(Heap, TheDefaultAllocatorTellsTheUsableSize) {
  for (const std::size_t pool : {64u << 10, 1u << 20, 8u << 20, 128u << 20}) {
    heap heap(pool);
    const heap_handle h = heap.handle();
    for (std::size_t bytes = 0; bytes <= heap.max_request(); bytes += bytes / 7 + 1) {
      auto* const first = static_cast<std::byte*>(h.malloc(bytes));
      auto* const second = static_cast<std::byte*>(h.malloc(bytes));
      ASSERT_NE(first, nullptr) << bytes;
      const std::size_t usable = h.usable_size(first);
      ASSERT_GE(usable, bytes);
      ASSERT_LE(usable, heap.stats().used);
      std::memset(first, 1, usable);
      if (second != nullptr) {
        ASSERT_GE(static_cast<std::size_t>(std::abs(second - first)), usable) << bytes;
      }
      h.free(first);
      h.free(second);
    }
    EXPECT_EQ(heap.report_leaks(nullptr), 0u);
  }
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

// docs/allocators.md has the shares.
TEST(Heap, EqualRequestsOfALoneCallerFillThePool) {
  const std::size_t pool = 16 * mib;
  for (const std::size_t bytes : {16, 144, 272, 528, 784, 1040, 1568, 2064, 4096, 4112, 8208}) {
    heap own(pool);
    const auto h = own.handle();
    std::size_t filled = 0;
    while (h.malloc(bytes) != nullptr) filled += bytes;
    const double min_share = bytes <= 4096 ? 0.75 : 0.5;
    EXPECT_GE(static_cast<double>(filled) / static_cast<double>(pool), min_share * 0.99) << bytes;
  }
}

TEST(Heap, ServesWithOtherAllocators) {
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

// ---- for_each_thread and shared_array

TEST(HeapParallel, CallsEachIndexOnce) {
  for (const unsigned threads : {0u, 1u, 2u, 1000u}) {
    shared_array<unsigned> calls(threads);
    for_each_thread(threads, [&](unsigned thread) { ++calls[thread]; });
    EXPECT_EQ(std::accumulate(calls.data(), calls.data() + threads, 0u), threads);
    for (unsigned thread = 0; thread < threads; ++thread) EXPECT_EQ(calls[thread], 1u);
  }
}

TEST(HeapParallel, IndicesDoNotWrap) {
  const unsigned max = ~0u;
  std::vector<unsigned> indices;
  detail::for_each_step(3, 1u << 30, max, [&](unsigned i) {
    if (indices.size() == 4) throw std::length_error("a loop that does not end");
    indices.push_back(i);
  });
  EXPECT_EQ(indices, (std::vector<unsigned>{3, 3 + (1u << 30), 3 + (2u << 30), 3 + (3u << 30)}));
}

struct alignas(64) Line {
  int values[16];
};
struct alignas(256) Largest {
  int value;
};
template <class T>
void expect_aligned() {
  std::vector<std::unique_ptr<shared_array<T>>> arrays;
  for (std::size_t size = 0; size < 20; ++size) {
    const auto& array = *arrays.emplace_back(std::make_unique<shared_array<T>>(size));
    ASSERT_NE(array.data(), nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(array.data()) % alignof(T), 0u);
    const auto* const bytes = reinterpret_cast<const unsigned char*>(array.data());
    for (std::size_t i = 0; i < size * sizeof(T); ++i) ASSERT_EQ(bytes[i], 0);
    if (size > 0) std::memset(array.data(), 0xff, size * sizeof(T));
  }
}
TEST(HeapParallel, SharedArraysAreAlignedAndClear) {
  expect_aligned<char>();
  expect_aligned<Line>();
  expect_aligned<Largest>();
}

TEST(HeapParallel, SharedArraysOfImpossibleSizesThrow) {
  EXPECT_THROW(shared_array<long>(std::size_t{1} << 61), Error);
  EXPECT_THROW(shared_array<long>((std::size_t{1} << 61) + 1), Error);
  EXPECT_THROW(shared_array<char>(~std::size_t{0}), Error);
}

}  // namespace
}  // namespace heapwood
