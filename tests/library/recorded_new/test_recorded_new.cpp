// SPDX-License-Identifier: MIT
// `new` in device code from a heap of another type: compiled with
// -DHEAPWOOD_HEAP_OF_NEW=heapwood::recording_heap.
#include <gtest/gtest.h>

#include <heapwood/recording_heap.hpp>
// Included after the header that defines the heap's type.
#include <heapwood/operator_new.hpp>

namespace heapwood {
namespace {

TEST(RecordedNew, IsInTheTrace) {
  recording_heap heap(1 << 20);
  use_for_new(heap);
  heap.reset();
  {
    const device_scope device;
    int* const number = new int(1);
    EXPECT_TRUE(heap.handle().owns(number));
    int* const numbers = new (or_null) int[10];
    delete[] numbers;
    delete number;
  }
  EXPECT_EQ(heap.report_leaks(), 0u);
  const alloc::ProgramTrace trace = heap.trace();
  ASSERT_EQ(trace.events.size(), 4u);
  EXPECT_EQ(trace.events[0].bytes, sizeof(int));
  EXPECT_EQ(trace.events[1].bytes, 10 * sizeof(int));
  use_for_new(recording_heap_handle{});
}

}  // namespace
}  // namespace heapwood
