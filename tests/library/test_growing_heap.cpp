// SPDX-License-Identifier: MIT
// A heap that grows, on CPU threads: addresses are reserved, and an access to one without memory
// ends the program, as on a GPU.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <cstring>
#include <fstream>
#include <heapwood/heap.hpp>
#include <string>
#include <utility>
#include <vector>

namespace heapwood {
namespace {

constexpr std::size_t mib = 1 << 20;

// Allocates and writes blocks until the heap is full. In a pool that was full, a slot may refuse as
// many requests as there are superblocks before it searches again.
std::vector<std::byte*> fill(const heap_handle& h, std::size_t bytes) {
  std::vector<std::byte*> blocks;
  for (int refused = 0; refused < 5000;) {
    auto* const block = static_cast<std::byte*>(h.malloc(bytes));
    if (block == nullptr) {
      ++refused;
      continue;
    }
    std::memset(block, static_cast<int>(blocks.size() % 251), bytes);
    blocks.push_back(block);
  }
  return blocks;
}
std::size_t wrong_bytes(const std::vector<std::byte*>& blocks, std::size_t bytes) {
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i)
    for (std::size_t k = 0; k < bytes; ++k) wrong += blocks[i][k] != std::byte(i % 251);
  return wrong;
}

TEST(GrowingHeap, BlocksAndHandlesStayValidWhileItGrows) {
  for (const std::size_t bytes : {64, 1000, 7000, 40000}) {
    heap heap(heap_size{4 * mib, 24 * mib});
    const heap_handle h = heap.handle();
    const heap_ref reference = heap.ref();
    std::vector<std::byte*> blocks = fill(h, bytes);
    const std::size_t at_first = blocks.size();
    EXPECT_GT(at_first * bytes, 3 * mib) << bytes;
    EXPECT_LT(at_first * bytes, 5 * mib) << bytes;
    EXPECT_LT(heap.stats().bytes, 8 * mib) << bytes;
    while (heap.make_room(4 * mib)) {
      const std::vector<std::byte*> more = fill(h, bytes);
      EXPECT_GT(more.size() * bytes, 3 * mib) << bytes;
      EXPECT_EQ(wrong_bytes(more, bytes), 0u) << bytes;
      for (std::byte* const block : more) EXPECT_TRUE(h.owns(block));
      std::memset(more.front(), 0, bytes);
      for (std::byte* const block : more) h.free(block);  // the next turn finds them
      const std::vector<std::byte*> again = fill(h, bytes);
      EXPECT_GE(again.size() + again.size() / 8, more.size()) << bytes;
    }
    EXPECT_EQ(wrong_bytes(blocks, bytes), 0u) << bytes;
    EXPECT_GT(heap.stats().used, 18 * mib) << bytes;
    EXPECT_LE(heap.stats().bytes, heap.bytes()) << bytes;
    for (std::byte* const block : blocks) reference.free(block);
  }
}

TEST(GrowingHeap, ARequestAboveItsMemoryIsFullAndNotTooLarge) {
  heap heap(heap_size{mib, 256 * mib});
  const heap_handle h = heap.handle();
  EXPECT_EQ(h.malloc(100 * mib), nullptr);
  EXPECT_EQ(h.malloc(400 * mib), nullptr);
  EXPECT_EQ(heap.stats().full, 1u);
  EXPECT_EQ(heap.stats().too_large, 1u);
  ASSERT_TRUE(heap.make_room(101 * mib));
  auto* const block = static_cast<std::byte*>(h.malloc(100 * mib));
  ASSERT_NE(block, nullptr);
  std::memset(block, 1, 100 * mib);
  h.free(block);
  EXPECT_FALSE(heap.make_room(257 * mib));
  EXPECT_FALSE(heap.make_room(~std::size_t{0}));
  EXPECT_NE(h.malloc(200 * mib), nullptr);  // what there is has been added
}

TEST(GrowingHeap, ShrinkGivesBackWhatIsBehindTheLastBlock) {
  heap heap(heap_size{4 * mib, 512 * mib});
  const heap_handle h = heap.handle();
  auto* const kept = static_cast<std::byte*>(h.malloc(500));
  std::memset(kept, 7, 500);
  const std::size_t at_first = heap.stats().bytes;
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(heap.make_room(200 * mib));
    EXPECT_GE(heap.stats().bytes, 200 * mib);
    const std::vector<std::byte*> blocks = fill(h, 3000);
    EXPECT_GT(blocks.size() * 3000, 180 * mib);
    heap.shrink();
    EXPECT_GE(heap.stats().bytes, 180 * mib) << "all of them are in use";
    EXPECT_EQ(wrong_bytes(blocks, 3000), 0u);
    for (std::byte* const block : blocks) h.free(block);
    heap.shrink();
    // The memory of the marks stays.
    EXPECT_LT(heap.stats().bytes, at_first + 200 * mib / 64) << round;
    EXPECT_EQ(heap.stats().used_regions, 1u);
  }
  for (int i = 0; i < 500; ++i) EXPECT_EQ(kept[i], std::byte{7});
}

TEST(GrowingHeap, ResetKeepsItsMemory) {
  heap heap(heap_size{4 * mib, 128 * mib});
  const heap_handle h = heap.handle();
  ASSERT_TRUE(heap.make_room(90 * mib));
  const std::size_t bytes = heap.stats().bytes;
  for (int round = 0; round < 3; ++round) {
    EXPECT_GT(fill(h, 2000).size() * 2000, 80 * mib);
    heap.reset();
    EXPECT_EQ(heap.stats().bytes, bytes);
    EXPECT_EQ(heap.report_leaks(nullptr), 0u);
  }
  heap.shrink();
  EXPECT_LT(heap.stats().bytes, 10 * mib);
}

TEST(GrowingHeap, KeepsNoMemoryThatDidNotSuffice) {
  heap heap(heap_size{4 * mib, 512 * mib});
  std::size_t data_kib = 0;
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == "VmData:") status >> data_kib;
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_DATA, &before), 0);
  rlimit little = before;
  little.rlim_cur = data_kib * 1024 + 100 * mib;
  ASSERT_EQ(setrlimit(RLIMIT_DATA, &little), 0);
  const bool fits = heap.make_room(300 * mib);
  // What was mapped before the limit was reached would leave less than this.
  void* const other =
      mmap(nullptr, 60 * mib, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_EQ(setrlimit(RLIMIT_DATA, &before), 0);
  EXPECT_FALSE(fits);
  ASSERT_NE(other, MAP_FAILED);
  munmap(other, 60 * mib);
  EXPECT_TRUE(heap.make_room(300 * mib));
}

TEST(GrowingHeap, MovesAndOddSizes) {
  heap first(heap_size{0, 3 * mib});
  EXPECT_NE(first.handle().malloc(10), nullptr);
  heap second(std::move(first));
  EXPECT_EQ(second.stats().used_regions, 1u);
  EXPECT_TRUE(second.make_room(mib));
  heap all(heap_size{10 * mib, 10 * mib});
  EXPECT_GT(fill(all.handle(), 500).size() * 500, 8 * mib);
  EXPECT_THROW(heap(heap_size{2, 1}), Error);
  EXPECT_NE(heap(heap_size{0, 0}).handle().malloc(10), nullptr);  // rounded up
  EXPECT_THROW(heap(heap_size{1, ~std::size_t{0}}), Error);
  EXPECT_THROW(heap(heap_size{1, ~std::size_t{0} / 2}), Error);
  heap fixed(mib);
  EXPECT_TRUE(fixed.make_room(mib / 2));
  EXPECT_FALSE(fixed.make_room(2 * mib));
  fixed.shrink();
  EXPECT_GT(fixed.stats().free, mib / 2);
}

}  // namespace
}  // namespace heapwood
