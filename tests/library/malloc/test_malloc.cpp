// SPDX-License-Identifier: MIT
// malloc and its relatives in device code of CPU threads: compiled with
// -include heapwood/malloc.hpp.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <heapwood/alloc/allocators/halloc.hpp>
#include <heapwood/checked_heap.hpp>
#include <heapwood/parallel.hpp>
#include <memory>

namespace heapwood {
namespace {

class DeviceMalloc : public testing::Test {
 protected:
  DeviceMalloc() { set_device_heap(heap_); }
  ~DeviceMalloc() override { set_device_heap(heap_handle{}); }
  bool is_in_heap(const void* block) const { return heap_.handle().owns(block); }

  heap heap_{4 << 20};
};

TEST_F(DeviceMalloc, HostCodeKeepsTheCLibrary) {
  void* const block = malloc(100);
  void* const zeros = std::calloc(10, 10);
  EXPECT_FALSE(is_in_heap(block) || is_in_heap(zeros));
  void* const larger = realloc(block, 100000);
  EXPECT_FALSE(is_in_heap(larger));
  free(larger);
  std::free(zeros);
  free(nullptr);
}

TEST_F(DeviceMalloc, DeviceCodeUsesTheHeap) {
  {
    const device_scope device;
    void* const block = ::malloc(100);
    auto* const zeros = static_cast<unsigned char*>(std::calloc(100, 3));
    EXPECT_TRUE(is_in_heap(block) && is_in_heap(zeros));
    for (unsigned i = 0; i < 300; ++i) EXPECT_EQ(zeros[i], 0);
    EXPECT_EQ(calloc(~std::size_t{0} / 2, 3), nullptr);
    EXPECT_EQ(malloc(8 << 20), nullptr);
    std::free(block);
    free(zeros);
    free(nullptr);
  }
  EXPECT_EQ(heap_.stats().used, 0u);
  EXPECT_EQ(heap_.stats().too_large, 2u);
}

TEST_F(DeviceMalloc, ReallocKeepsTheContents) {
  {
    const device_scope device;
    auto* block = static_cast<unsigned char*>(realloc(nullptr, 1));
    *block = 77;
    for (std::size_t bytes = 2; bytes < (1 << 20); bytes = bytes * 3 / 2 + 1) {
      block = static_cast<unsigned char*>(realloc(block, bytes));
      ASSERT_TRUE(is_in_heap(block));
      EXPECT_EQ(block[0], 77);
      EXPECT_EQ(block[bytes / 2], bytes <= 2 ? block[bytes / 2] : 0x5a);
      std::memset(block + 1, 0x5a, heap_.handle().usable_size(block) - 1);
    }
    for (std::size_t bytes = 1 << 19; bytes > 10; bytes /= 3) {
      block = static_cast<unsigned char*>(realloc(block, bytes));
      EXPECT_EQ(block[0], 77);
      EXPECT_EQ(block[bytes - 1], 0x5a);
      EXPECT_LE(heap_.handle().usable_size(block), 2 * bytes + 16);
    }
    free(block);
  }
  EXPECT_EQ(heap_.stats().used, 0u);
}

TEST_F(DeviceMalloc, BlocksAreRecognizedWhereverTheyAreFreed) {
  void* const outside = malloc(100);
  void* inside = nullptr;
  {
    const device_scope device;
    inside = malloc(100);
    free(outside);
  }
  EXPECT_TRUE(is_in_heap(inside));
  free(inside);
  EXPECT_EQ(heap_.stats().used, 0u);
  EXPECT_GT(heap_.stats().free, 3u << 20);
}

TEST_F(DeviceMalloc, WithoutAHeapDeviceCodeUsesTheCLibrary) {
  set_device_heap(heap_handle{});
  const device_scope device;
  void* const block = malloc(100);
  EXPECT_TRUE(block != nullptr && !is_in_heap(block));
  free(block);
}

// Members with the names of these functions, and other heaps, still work.
struct Pool {
  explicit Pool(int n) : free(n) {}
  int malloc(int a, int b) const { return a + b + free; }
  int free;
};
TEST_F(DeviceMalloc, OtherNamesMayBeTheSame) {
  EXPECT_EQ(Pool(1).malloc(2, 3), 6);
  const std::unique_ptr<char, decltype(&std::free)> owner(static_cast<char*>(malloc(3)), std::free);
  checked_heap checked(4 << 20);
  basic_heap<alloc::Halloc> halloc(4 << 20);
  const auto h = checked.handle();
  void* const block = h.realloc(h.calloc(3, 5), 100);
  EXPECT_TRUE(h.owns(block) && !is_in_heap(block));
  h.free(block);
  halloc.handle().free(halloc.handle().malloc(10));
  EXPECT_EQ(checked.report_leaks() + halloc.report_leaks(), 0u);
}

}  // namespace
}  // namespace heapwood
