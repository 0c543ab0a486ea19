// SPDX-License-Identifier: MIT
// What recording_heap has beyond heap, on CPU threads.
#include <gtest/gtest.h>

#include <heapwood/alloc/allocators/ouroboros.hpp>
#include <heapwood/recording_heap.hpp>
#include <type_traits>
#include <utility>

namespace heapwood {
namespace {

constexpr std::size_t mib = 1 << 20;

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
