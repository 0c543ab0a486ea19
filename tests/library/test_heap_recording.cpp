// SPDX-License-Identifier: MIT
// recording_heap in the place of heap, on CPU threads.
#include <gtest/gtest.h>

#include <heapwood/alloc/allocators/ouroboros.hpp>
#include <heapwood/parallel.hpp>
#include <heapwood/recording_heap.hpp>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

namespace heapwood {
namespace {

constexpr std::size_t mib = 1 << 20;

static_assert(std::is_trivially_copyable_v<recording_heap_handle>);
static_assert(!std::is_copy_constructible_v<recording_heap>);
static_assert(std::is_nothrow_move_constructible_v<recording_heap>);
// The second argument is the stream, as that of heap.
static_assert(!std::is_constructible_v<recording_heap, std::size_t, std::size_t>);

template <class Heap>
void use_as_a_heap(Heap heap) {
  const typename Heap::handle_type h = heap.handle();
  EXPECT_EQ(h.max_request(), heap.max_request());
  EXPECT_EQ(h.malloc(heap.max_request() + 1), nullptr);
  EXPECT_EQ(heap.stats().too_large, 1u);
  void* const block = h.malloc(100);
  EXPECT_TRUE(h.owns(block));
  EXPECT_GE(block, heap.memory().data());
  EXPECT_LT(block, heap.memory().data() + heap.bytes());
  EXPECT_EQ(h.pool().base, heap.memory().data());
  [[maybe_unused]] const typename Heap::allocator_type& allocator = heap.allocator();
  h.free(block);
  EXPECT_EQ(heap.report_leaks(nullptr), 0u);
  const Heap moved(std::move(heap));
  EXPECT_EQ(moved.handle().pool().base, h.pool().base);
  EXPECT_THROW(heap.handle(), Error);
  EXPECT_EQ(heap.stats().bytes, 0u);
  heap.reset();
}
TEST(HeapRecording, StandsInThePlaceOfAHeap) {
  const auto memory = std::make_unique<std::byte[]>(mib);
  const std::span<std::byte> span(memory.get(), mib);
  use_as_a_heap(heap(mib, {}, {.report_exhaustion = false}));
  use_as_a_heap(heap(span, {}, {}));
  use_as_a_heap(recording_heap(mib, {}, {.report_exhaustion = false}));
  use_as_a_heap(recording_heap(span, {}, {}));
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
