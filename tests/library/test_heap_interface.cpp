// SPDX-License-Identifier: MIT
// What a program may do with every heap: heap, checked_heap and recording_heap stand in the place
// of each other.
#include <gtest/gtest.h>

#include <heapwood/checked_heap.hpp>
#include <heapwood/recording_heap.hpp>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace heapwood {
namespace {

constexpr std::size_t mib = 1 << 20;

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
  EXPECT_EQ(heap.report_leaks(nullptr), 0u);
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

}  // namespace
}  // namespace heapwood
