// SPDX-License-Identifier: MIT
// Host allocators on addresses that cannot be touched, buffers from them, and traces as text, of
// which tests/fuzz has mutations.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "host_alloc/host_memory.hpp"
#include "host_alloc/trace.hpp"
#include "simt/memory.hpp"
#include "tests/errors.hpp"
#include "tests/host_alloc/support.hpp"

namespace heapwood::host_alloc {
namespace {

using namespace testing;

class HostAllocators : public ::testing::TestWithParam<const char*> {};

// Every second 2 MiB is free: enough in total, but contiguous only after memory has been mapped
// elsewhere.
TEST_P(HostAllocators, MapsFreeMemoryElsewhereForALargeRequest) {
  const auto allocator = untouchable(GetParam(), {.capacity = 16 * mib, .growth_bytes = 2 * mib});
  std::vector<void*> blocks;
  for (int i = 0; i < 8; ++i) blocks.push_back(allocator->allocate(2 * mib));
  for (int i = 0; i < 8; i += 2) allocator->deallocate(blocks[static_cast<std::size_t>(i)]);
  EXPECT_NE(allocator->allocate(8 * mib), nullptr);
  EXPECT_EQ(allocator->allocate(1), nullptr);
  EXPECT_EQ(allocator->statistics().mapped_bytes, 16 * mib);
}

TEST_P(HostAllocators, RefusesWrongFreesAndSizes) {
  const auto allocator = untouchable(GetParam(), {.capacity = 8 * mib});
  void* block = allocator->allocate(10 * kib);
  int foreign = 0;
  const auto free = [&](void* pointer) {
    return error_of([&] { allocator->deallocate(pointer); });
  };
  tests::expect_words(free(&foreign), {"no memory of this allocator"});
  EXPECT_NE(free(static_cast<char*>(block) + 256).find("inside the block"), std::string::npos);
  EXPECT_EQ(free(nullptr), "");
  EXPECT_EQ(free(block), "");
  EXPECT_NE(free(block).find("freed before"), std::string::npos);
  allocator->shrink();
  EXPECT_NE(free(block), "");
  EXPECT_EQ(allocator->statistics().deallocations, 1u);
  for (const std::size_t bytes : {8 * mib + 1, ~std::size_t{0}, ~std::size_t{0} / 2})
    EXPECT_EQ(allocator->allocate(bytes), nullptr);
  for (const std::size_t alignment : {std::size_t{0}, std::size_t{3}, 4 * mib})
    EXPECT_NE(error_of([&] { allocator->allocate(1, alignment); }), "");
}

TEST_P(HostAllocators, ServesWhatTheDeviceHasIfThatIsLessThanTheCapacity) {
  auto range = std::make_unique<UntouchableRange>(64 * mib, 6 * mib);
  const auto allocator = make_host_allocator(GetParam(), std::move(range),
                                             {.capacity = 32 * mib, .growth_bytes = 4 * mib});
  EXPECT_EQ(allocator->allocate(8 * mib), nullptr);
  EXPECT_NE(allocator->allocate(6 * mib), nullptr);
  EXPECT_EQ(allocator->allocate(2 * mib), nullptr);
}

TEST_P(HostAllocators, ThreadsGetDisjointBlocks) {
  const auto allocator = untouchable(GetParam(), {.capacity = 24 * mib, .growth_bytes = 2 * mib});
  // The owner of each 256 bytes of addresses, kept outside the managed memory.
  std::vector<std::atomic<int>> owner(4 * 24 * mib / 256);
  const auto base = reinterpret_cast<std::uintptr_t>(allocator->allocate(1)) / mib / 2 * mib * 2;
  std::vector<std::thread> threads;
  std::atomic<unsigned> overlaps{0}, served{0};
  for (int id = 1; id <= 4; ++id) {
    threads.emplace_back([&, id] {
      std::mt19937_64 random(static_cast<unsigned>(id));
      std::vector<std::pair<void*, std::size_t>> mine;
      const auto mark = [&](void* block, std::size_t bytes, int from, int to) {
        const std::size_t first = (reinterpret_cast<std::uintptr_t>(block) - base) / 256;
        for (std::size_t i = first; i < first + (bytes + 255) / 256; ++i)
          overlaps +=
              !owner[i].compare_exchange_strong(from, to, std::memory_order_relaxed) ? 1 : 0;
      };
      for (int step = 0; step < 1500; ++step) {
        if (mine.size() < 12 && below(random, 3) != 0) {
          const std::size_t bytes = 1 + below(random, below(random, 2) == 0 ? 2000 : mib);
          if (void* block = allocator->allocate(bytes)) {
            mark(block, bytes, 0, id);
            mine.emplace_back(block, bytes);
            ++served;
          }
        } else if (!mine.empty()) {
          const std::size_t which = below(random, mine.size());
          mark(mine[which].first, mine[which].second, id, 0);
          allocator->deallocate(mine[which].first);
          mine.erase(mine.begin() + static_cast<std::ptrdiff_t>(which));
        } else if (below(random, 50) == 0) {
          allocator->shrink();
          allocator->walk([](const HostRegion&) {});
        }
      }
      for (const auto& [block, bytes] : mine) {
        mark(block, bytes, id, 0);
        allocator->deallocate(block);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(overlaps, 0u);
  EXPECT_EQ(allocator->statistics().live_blocks, 1u);
  EXPECT_EQ(allocator->statistics().allocations, served + 1u);
}

// Blocks are backed by memory, also across the boundaries of separate mappings, and keep their
// contents until they are freed.
TEST_P(HostAllocators, HoldsContentsOnTheDevice) {
  const simt::DeviceId device = tests::test_device().id;
  const auto allocator =
      make_host_allocator(GetParam(), device, {.capacity = 64 * mib, .growth_bytes = 2 * mib});
  std::vector<std::pair<void*, std::vector<unsigned char>>> blocks;
  for (std::size_t i = 0; i < 12; ++i) {
    std::vector<unsigned char> content(i % 3 == 0 ? 5 * mib : 700 * (i + 1),
                                       static_cast<unsigned char>(i + 1));
    void* block = allocator->allocate(content.size());
    ASSERT_NE(block, nullptr);
    simt::device_upload(device, block, content.data(), content.size());
    blocks.emplace_back(block, std::move(content));
    if (i % 4 == 3) {  // the block's memory is mapped elsewhere
      allocator->deallocate(blocks[i / 2].first);
      blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(i / 2));
      allocator->shrink();
    }
  }
  for (const auto& [block, content] : blocks) {
    std::vector<unsigned char> read(content.size());
    simt::device_download(device, read.data(), block, read.size());
    EXPECT_EQ(read, content);
  }
}

// Freed memory serves the next requests, and nothing is mapped for them. Sizes are powers of two:
// for other sizes segregated fit does not use a free block of exactly the requested size.
TEST_P(HostAllocators, ReusesWhatIsFree) {
  for (const std::size_t bytes : {std::size_t{200}, 2 * kib, 128 * kib}) {
    const auto allocator = untouchable(GetParam(), {.capacity = 64 * mib, .growth_bytes = 2 * mib});
    std::set<void*> first, again;
    for (int i = 0; i < 300; ++i) first.insert(allocator->allocate(bytes));
    EXPECT_EQ(first.size(), 300u);
    EXPECT_EQ(first.count(nullptr), 0u);
    const std::uint64_t mappings = allocator->statistics().mappings;
    // Frees every second block only, so that free blocks are not merged.
    int i = 0;
    for (void* block : first) {
      if (i++ % 2 == 0) allocator->deallocate(block);
    }
    for (i = 0; i < 150; ++i) again.insert(allocator->allocate(bytes));
    EXPECT_EQ(again.size(), 150u);
    EXPECT_TRUE(std::includes(first.begin(), first.end(), again.begin(), again.end()));
    EXPECT_EQ(allocator->statistics().mappings, mappings);
  }
}

INSTANTIATE_TEST_SUITE_P(Ids, HostAllocators,
                         ::testing::Values("segfit", "tlsf", "bitmask", "hybrid"),
                         [](const auto& info) { return info.param; });

TEST(HostAllocator, TlsfTakesTheBetterFit) {
  // Free blocks of 8 MiB and 5 MiB. Size classes are powers of two in segregated fit, and 1/32 as
  // wide in TLSF.
  for (const char* id : {"segfit", "tlsf"}) {
    const auto allocator = untouchable(id, {.capacity = 16 * mib, .initial_bytes = 16 * mib});
    void* large = allocator->allocate(8 * mib);
    allocator->allocate(mib);
    void* fitting = allocator->allocate(5 * mib);
    allocator->allocate(2 * mib);
    allocator->deallocate(fitting);
    allocator->deallocate(large);
    EXPECT_EQ(allocator->allocate(5 * mib - 300 * kib), id == std::string("tlsf") ? fitting : large)
        << id;
  }
}

TEST(HostAllocator, SizesAreMultiplesOfTheMinBlock) {
  const auto allocator = untouchable("segfit", {.capacity = 16 * mib, .min_block_bytes = 4 * kib});
  allocator->allocate(1);
  allocator->allocate(5000);
  EXPECT_EQ(allocator->statistics().used_bytes, 12 * kib);
}

TEST(HostAllocator, MapsInStepsAndGivesBackOnRequest) {
  const auto allocator = untouchable(
      "tlsf", {.capacity = 64 * mib, .initial_bytes = 4 * mib, .growth_bytes = 8 * mib});
  EXPECT_EQ(allocator->statistics().mapped_bytes, 8 * mib);
  void* block = allocator->allocate(10 * mib);
  EXPECT_EQ(allocator->statistics().mapped_bytes, 16 * mib);
  EXPECT_EQ(allocator->statistics().mappings, 2u);
  EXPECT_EQ(allocator->shrink(), 0u);
  allocator->deallocate(block);
  EXPECT_EQ(allocator->statistics().mapped_bytes, 16 * mib);
  EXPECT_EQ(allocator->shrink(), 16 * mib);
  EXPECT_EQ(allocator->statistics().peak_mapped_bytes, 16 * mib);
}

TEST(HostAllocator, ErrorsNameTheAllocators) {
  EXPECT_NE(error_of([] {
              make_host_allocator("best", simt::DeviceId{});
            }).find("segfit tlsf bitmask hybrid mmap"),
            std::string::npos);
  EXPECT_NE(
      error_of([] { make_host_allocator("cudamalloc", simt::DeviceId{}); }).find("only on a GPU"),
      std::string::npos);
}

TEST(HostMemory, BuffersComeFromTheAllocator) {
  const simt::DeviceId device = tests::test_device().id;
  for (const char* id : {"auto", "tlsf", "hybrid"}) {
    HostMemory memory(id, true);
    {
      simt::Buffer<int> first(device, 1000);
      const simt::Buffer<char> second(device, 10);
      first.fill(7);
      EXPECT_EQ(first.download(), std::vector<int>(1000, 0x07070707));
      ASSERT_EQ(memory.leaks().size(), 1u);
      tests::expect_words(memory.leaks()[0], {"2 buffers of 4010 bytes"});
      first = simt::Buffer<int>(device, 500);
    }
    EXPECT_TRUE(memory.leaks().empty());
    EXPECT_EQ(host_trace_text(memory.trace()),
              "op,id,bytes\nallocate,0,4000\nallocate,1,10\nallocate,2,2000\nfree,0,\nfree,1,"
              "\nfree,2,\n");
    EXPECT_NE(error_of([&] { simt::Memory(device, std::size_t{1} << 46); }).find("cannot allocate"),
              std::string::npos);
  }
}

TEST(VirtualRangeDeathTest, UnmappedMemoryCannotBeTouched) {
  if (tests::test_device().id.kind != simt::DeviceKind::cpu) GTEST_SKIP() << "on the CPU";
  const auto range = simt::reserve_range({}, 4 * mib);
  ASSERT_TRUE(range->map(2 * mib, 2 * mib));
  std::memset(range->base() + 2 * mib, 1, 2 * mib);
  EXPECT_DEATH(std::memset(range->base(), 1, 1), "");
  range->unmap(2 * mib, 2 * mib);
  EXPECT_DEATH(std::memset(range->base() + 2 * mib, 1, 1), "");
  ASSERT_TRUE(range->map(2 * mib, 2 * mib));
  EXPECT_EQ(range->base()[2 * mib], std::byte{0});
}

const std::string good =
    "op,id,bytes\nallocate,7,1024\r\nallocate,8,0\nfree,7,\nallocate,7,4096\n\nfree,8\nallocate,9,"
    "1";

TEST(HostTrace, TextReadsBackToTheSameTrace) {
  const HostTrace trace = parse_host_trace(good, "t.csv");
  EXPECT_EQ(trace.slots, 2u);
  const std::vector<HostTraceOp> expected{{0, true, 1024}, {1, true, 0},  {0, false, 0},
                                          {0, true, 4096}, {1, false, 0}, {1, true, 1}};
  EXPECT_EQ(trace.ops, expected);
  EXPECT_EQ(parse_host_trace(host_trace_text(trace), "t.csv").ops, trace.ops);
  // With a byte order mark, as editors on Windows write it.
  EXPECT_EQ(parse_host_trace("\xef\xbb\xbf" + host_trace_text(trace), "t.csv").ops, trace.ops);
}

TEST(HostTrace, ErrorsNameTheLine) {
  const struct {
    const char *text, *error;
  } cases[] = {
      {"malloc,1,2", "t.csv:1: 'malloc': expected allocate,ID,BYTES or free,ID"},
      {"op,id,bytes\nallocate,x,2", "t.csv:2: id 'x': expected a number"},
      {"allocate,-1,2", "t.csv:1: id '-1': expected a number"},
      {"allocate,1,2k", "t.csv:1: bytes '2k': expected a number up to 281474976710656"},
      {"allocate,1,", "t.csv:1: bytes '': expected a number up to 281474976710656"},
      {"allocate,1,99999999999999999999",
       "t.csv:1: bytes '99999999999999999999': expected a number up to"},
      {"allocate,1,2,3", "t.csv:1: '3': nothing may follow the bytes"},
      {"free,1,", "t.csv:1: id 1: is not live; allocate it first"},
      {"allocate,1,5\nallocate,1,5", "t.csv:2: id 1: is live already; free it first"},
      {"allocate,1,5\nfree,1,5", "t.csv:2: bytes '5': a free has none"},
      {"op,id,bytes\n", "t.csv: no requests in it"},
      {"", "t.csv: no requests in it"},
  };
  for (const auto& c : cases)
    tests::expect_error(Exit::scene, {c.error}, [&] { parse_host_trace(c.text, "t.csv"); });
}

}  // namespace
}  // namespace heapwood::host_alloc
