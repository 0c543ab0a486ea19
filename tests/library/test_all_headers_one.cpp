// SPDX-License-Identifier: MIT
// Two sources that include all public headers link, and share the operators of operator_new.hpp.
#include <gtest/gtest.h>

#include <heapwood/checked_heap.hpp>
#include <heapwood/heap.hpp>
#include <heapwood/operator_new.hpp>
#include <heapwood/parallel.hpp>
#include <heapwood/recording_heap.hpp>

namespace heapwood {
namespace {

TEST(AllHeaders, New_uses_the_heap) {
  heap heap(1 << 20);
  use_for_new(heap);
  const heap_handle h = heap.handle();
  int* const outside = new int(1);
  EXPECT_FALSE(h.owns(outside));
  {
    const device_scope device;
    int* const inside = new int(2);
    EXPECT_TRUE(h.owns(inside));
    EXPECT_EQ(new (or_null) char[2 << 20], nullptr);
    int* const array = new (or_null) int[10];
    EXPECT_TRUE(h.owns(array));
    delete[] array;
    delete outside;
    delete inside;
  }
  EXPECT_EQ(heap.report_leaks(), 0u);
  use_for_new(heap_handle{});
}

}  // namespace
}  // namespace heapwood
