// SPDX-License-Identifier: MIT
// What a program may do with every heap on CPU threads: heap, checked_heap and recording_heap stand
// in the place of each other. The checked heap reports no error in these programs.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <heapwood/alloc/allocators/ouroboros.hpp>
#include <heapwood/checked_heap.hpp>
#include <heapwood/parallel.hpp>
#include <heapwood/recording_heap.hpp>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

namespace heapwood {
namespace {

constexpr std::size_t mib = 1 << 20;

std::uintptr_t address(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }

// All blocks have been freed, and a checked heap has found no error.
template <class Heap>
void expect_clean(const Heap& heap) {
  EXPECT_EQ(heap.report_leaks(), 0u);
  if constexpr (std::is_same_v<Heap, checked_heap>) {
    EXPECT_EQ(heap.report(), 0u);
  }
}

template <class Heap>
class HeapInterface : public testing::Test {
 protected:
  using Handle = typename Heap::handle_type;
  static_assert(std::is_trivially_copyable_v<Handle>);
  static_assert(!std::is_copy_constructible_v<Heap> && std::is_move_constructible_v<Heap>);
  static_assert(std::is_same_v<typename Heap::allocator_type, alloc::Heapwood>);
  static_assert(std::is_same_v<typename Handle::allocator_type, alloc::Heapwood>);
};
using Heaps = testing::Types<heap, checked_heap, recording_heap>;
TYPED_TEST_SUITE(HeapInterface, Heaps);

TYPED_TEST(HeapInterface, IsTheSame) {
  const TypeParam heap(mib, {}, heap_options{});
  typename TypeParam::handle_type h = heap.handle();
  EXPECT_EQ(h.max_request(), heap.max_request());
  EXPECT_GT(heap.max_request(), mib / 2);
  EXPECT_EQ(h.malloc(heap.max_request() + 1), nullptr);
  EXPECT_EQ(heap.stats().too_large, 1u);
  auto* const block = static_cast<std::byte*>(h.malloc(100));
  EXPECT_TRUE(h.owns(block) && h.owns(heap.memory().data()));
  EXPECT_TRUE(block >= heap.memory().data() && block < heap.memory().data() + heap.bytes());
  EXPECT_GE(heap.report_leaks(nullptr), 100u);
  EXPECT_EQ(heap.bytes(), mib);
  EXPECT_EQ(heap.memory().size(), mib);
  EXPECT_EQ(heap.stats().bytes, mib);
  EXPECT_GT(heap.allocator().preferred_warps(100), 0u);
  h.free(block);
  EXPECT_EQ(heap.report_leaks(), 0u);
}

TYPED_TEST(HeapInterface, MovesKeepTheBlocks) {
  TypeParam heap(mib);
  typename TypeParam::handle_type h = heap.handle();
  void* const block = h.malloc(100);
  TypeParam moved(std::move(heap));
  EXPECT_EQ(heap.bytes() + heap.max_request() + heap.stats().bytes + heap.stats().max_request, 0u);
  EXPECT_TRUE(heap.memory().empty());
  expect_clean(heap);
  EXPECT_THROW(heap.handle(), Error);
  heap.reset();
  EXPECT_GE(moved.report_leaks(nullptr), 100u);
  h.free(block);
  EXPECT_EQ(moved.report_leaks(), 0u);
  heap = TypeParam(2 * mib);
  typename TypeParam::handle_type other = heap.handle();
  void* const kept = other.malloc(50);
  moved = std::move(heap);
  EXPECT_EQ(moved.bytes(), 2 * mib);
  EXPECT_GE(moved.report_leaks(nullptr), 50u);
  other.free(kept);
  EXPECT_EQ(moved.report_leaks(), 0u);
  std::vector<TypeParam> heaps;
  for (int i = 0; i < 3; ++i) heaps.emplace_back(mib);
  heaps.erase(heaps.begin());
  heaps[0].reset();
}

TYPED_TEST(HeapInterface, ManagesMemoryOfTheUser) {
  const auto memory = std::make_unique<std::byte[]>(mib + 7);
  const TypeParam heap(std::span<std::byte>(memory.get() + 7, mib));
  EXPECT_GT(heap.bytes(), mib - 1024);
  EXPECT_GE(heap.memory().data(), memory.get() + 7);
  EXPECT_LE(heap.memory().data() + heap.bytes(), memory.get() + 7 + mib);
  const typename TypeParam::handle_type h = heap.handle();
  auto* const block = static_cast<std::byte*>(h.malloc(1000));
  EXPECT_TRUE(block >= memory.get() && block + 1000 <= memory.get() + mib + 7);
  h.free(block);
  EXPECT_EQ(heap.report_leaks(), 0u);
  EXPECT_THROW(TypeParam(std::span<std::byte>(memory.get(), 100)), Error);
  EXPECT_THROW(TypeParam(std::span<std::byte>()), Error);
  EXPECT_THROW(TypeParam(std::size_t{100}), Error);
  EXPECT_THROW(TypeParam(~std::size_t{0}), Error);
}

TYPED_TEST(HeapInterface, ThreadsAllocateAndFreeTheirsAndOthersBlocks) {
  constexpr unsigned threads = 64;
  TypeParam heap(8 * mib);
  const auto h = heap.handle();
  shared_array<unsigned> damaged(threads);
  shared_array<void*> kept(threads);
  for (unsigned kernel = 0; kernel < 3; ++kernel) {
    for_each_thread(threads, [&, h](unsigned thread) {
      for (unsigned round = 0; round < 100; ++round) {
        const std::size_t bytes = 1 + (thread * 37 + round * 11) % 900;
        auto* const block = static_cast<unsigned char*>(h.malloc(bytes));
        if (block == nullptr) continue;
        std::memset(block, static_cast<int>(thread), bytes);
        for (std::size_t i = 0; i < bytes; ++i) damaged[thread] += block[i] != thread;
        h.free(block);
      }
      h.free(kept[thread]);
    });
    for_each_thread(threads,
                    [&, h](unsigned thread) { kept[threads - 1 - thread] = h.malloc(99); });
  }
  for_each_thread(threads, [&, h](unsigned thread) { h.free(kept[thread]); });
  for (unsigned thread = 0; thread < threads; ++thread) EXPECT_EQ(damaged[thread], 0u);
  expect_clean(heap);
}

TYPED_TEST(HeapInterface, CallocClearsAndRejectsOverflow) {
  TypeParam heap(mib);
  const auto h = heap.handle();
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

TYPED_TEST(HeapInterface, ReallocKeepsContents) {
  TypeParam heap(mib);
  const auto h = heap.handle();
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
  expect_clean(heap);
}

TYPED_TEST(HeapInterface, AlignedBlocksAreAligned) {
  TypeParam heap(4 * mib);
  const auto h = heap.handle();
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
  expect_clean(heap);
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

TYPED_TEST(HeapInterface, MakesAndDestroysObjects) {
  TypeParam heap(mib);
  const auto h = heap.handle();
  Counts counts;
  Tracked* const object = h.template make<Tracked>(&counts, 5);
  ASSERT_NE(object, nullptr);
  EXPECT_EQ(object->value, 5);
  h.destroy(object);
  h.destroy(static_cast<Tracked*>(nullptr));
  EXPECT_EQ(counts.made, 1);
  EXPECT_EQ(counts.destroyed, 1);
  Aligned* const aligned = h.template make<Aligned>();
  ASSERT_NE(aligned, nullptr);
  EXPECT_EQ(address(aligned) % 128, 0u);
  EXPECT_EQ(aligned->value, 7);
  h.destroy(aligned);
  const int* const constant = h.template make<const int>(3);
  ASSERT_NE(constant, nullptr);
  EXPECT_EQ(*constant, 3);
  h.destroy(constant);
  h.destroy(h.template make<const Aligned>());
  expect_clean(heap);
}

struct Throws {
  Throws() { throw std::runtime_error("constructor"); }
};
struct alignas(128) ThrowsAligned : Throws {};

TYPED_TEST(HeapInterface, FreesTheBlockIfTheConstructorThrows) {
  TypeParam heap(mib);
  const auto h = heap.handle();
  for (int i = 0; i < 5; ++i) {
    EXPECT_THROW(h.template make<Throws>(), std::runtime_error);
    EXPECT_THROW(h.template make<ThrowsAligned>(), std::runtime_error);
  }
  expect_clean(heap);
}

TYPED_TEST(HeapInterface, WarpsShareABlock) {
  TypeParam heap(mib);
  const auto h = heap.handle();
  void* const block = h.warp_malloc(3000);
  ASSERT_NE(block, nullptr);
  std::memset(block, 1, 3000);
  h.warp_free(block);
  EXPECT_EQ(h.warp_malloc(2 * mib), nullptr);
  h.warp_free(nullptr);
  expect_clean(heap);
}

TYPED_TEST(HeapInterface, FreesNullAndServesZeroBytes) {
  TypeParam heap(mib);
  const auto h = heap.handle();
  h.free(nullptr);
  void *const first = h.malloc(0), *const second = h.malloc(0);
  EXPECT_NE(first, nullptr);
  EXPECT_NE(first, second);
  EXPECT_EQ(address(h.malloc(1, HEAPWOOD_HERE)) % 16, 0u);
}

// ---- what recording_heap has beyond heap

static_assert(std::is_nothrow_move_constructible_v<recording_heap>);
// The second argument is the stream, as that of heap.
static_assert(!std::is_constructible_v<recording_heap, std::size_t, std::size_t>);

TEST(HeapRecording, TellsTheUsableSize) {
  basic_recording_heap<alloc::OuroborosPS> pages(8 * mib);
  EXPECT_EQ(pages.handle().usable_size(pages.handle().malloc(100)), 128u);
}

TEST(HeapRecording, RecordsUpToMaxEvents) {
  recording_heap heap(mib, {}, {}, 5);
  const recording_heap_handle h = heap.handle();
  for (int i = 0; i < 4; ++i) h.free(h.malloc(16));
  heap.end_kernel();
  EXPECT_EQ(heap.trace().events.size(), 5u);
  EXPECT_EQ(heap.trace().dropped, 3u);
  recording_heap moved(std::move(heap));
  EXPECT_EQ(moved.trace().events.size(), 5u);
  EXPECT_THROW(heap.end_kernel(), Error);
  EXPECT_THROW(heap.trace(), Error);
  heap = std::move(moved);
  heap.reset();
  EXPECT_TRUE(heap.trace().events.empty());
  h.free(h.malloc(16));
  EXPECT_EQ(heap.trace().events.size(), 2u);
}

TEST(HeapRecording, ImpossibleNumbersOfEventsThrow) {
  EXPECT_THROW(recording_heap(mib, {}, {}, 0), Error);
  for (const std::size_t events : {std::size_t{1} << 60, (std::size_t{1} << 60) - 16,
                                   (std::size_t{1} << 60) + 100, ~std::size_t{0}})
    EXPECT_THROW(recording_heap(mib, {}, {}, events), Error) << events;
  EXPECT_THROW(recording_heap(~std::size_t{0}), Error);
}

}  // namespace
}  // namespace heapwood
