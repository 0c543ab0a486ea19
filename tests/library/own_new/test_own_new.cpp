// SPDX-License-Identifier: MIT
// A program with operators of its own, as clang's sanitizers have: use_for_new reports that `new`
// would not use the heap.
#include <gtest/gtest.h>

#include <cstdlib>
#include <heapwood/operator_new.hpp>
#include <new>
#include <string>

namespace heapwood {
namespace {

TEST(OwnNew, UseForNewThrows) {
  heap heap(1 << 20);
  try {
    use_for_new(heap);
    FAIL() << "use_for_new did not throw";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("replaces `new`"), std::string::npos) << error.what();
  }
  {
    const device_scope device;
    int* const number = new int(1);
    EXPECT_FALSE(heap.handle().owns(number));
    delete number;
  }
  EXPECT_EQ(heap.report_leaks(), 0u);
  use_for_new(heap_handle{});
}

}  // namespace
}  // namespace heapwood
