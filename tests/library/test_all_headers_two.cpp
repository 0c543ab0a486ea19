// SPDX-License-Identifier: MIT
// The second source that includes all public headers: test_all_headers_one.cpp.
#include <gtest/gtest.h>

#include <heapwood/checked_heap.hpp>
#include <heapwood/heap.hpp>
#include <heapwood/operator_new.hpp>
#include <heapwood/parallel.hpp>
#include <heapwood/recording_heap.hpp>

namespace heapwood {
namespace {

TEST(AllHeaders, New_uses_it_in_a_second_source_too) {
  heap heap(1 << 20);
  use_for_new(heap);
  const device_scope device;
  int* const block = new int(1);
  EXPECT_TRUE(heap.handle().owns(block));
  delete block;
  use_for_new(heap_handle{});
}

}  // namespace
}  // namespace heapwood
