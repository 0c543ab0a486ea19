// SPDX-License-Identifier: MIT
// A program with operators of its own, as clang's sanitizers have: use_for_new reports that `new`
// would not use the heap.
#include <gtest/gtest.h>

#include <atomic>
#include <heapwood/operator_new.hpp>
#include <new>
#include <string>

extern std::atomic<int> own_new_blocks;  // defined in operators.cpp

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

struct alignas(64) Line {
  int values[16];
};
struct Throws {
  Throws() { throw std::bad_alloc(); }
};

TEST(OwnNew, NothrowAndOrNullUseTheProgramsOperators) {
  const int before = own_new_blocks;
  int *const first = new (std::nothrow) int(1), *const second = new (or_null) int(2);
  int *const third = new (std::nothrow) int[10], *const fourth = new (or_null) int[10];
  EXPECT_EQ(own_new_blocks, before + 4);
  delete first;
  delete second;
  delete[] third;
  delete[] fourth;
  EXPECT_EQ(own_new_blocks, before);
  EXPECT_THROW(new (std::nothrow) Throws, std::bad_alloc);
  EXPECT_THROW(new (or_null) Throws, std::bad_alloc);
  EXPECT_THROW(new (or_null) Throws[3], std::bad_alloc);
  EXPECT_EQ(own_new_blocks, before);
  delete new (or_null) Line;
  delete[] new (std::nothrow) Line[3];
}

}  // namespace
}  // namespace heapwood
