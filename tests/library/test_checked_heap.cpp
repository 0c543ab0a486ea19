// SPDX-License-Identifier: MIT
// The checked heap finds each planted error, with the place of the call, and reports nothing in
// programs without errors.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <heapwood/checked_heap.hpp>
#include <heapwood/parallel.hpp>
#include <string>
#include <vector>

#include "tests/library/planted.hpp"
#include "tests/library/printed.hpp"

namespace heapwood {
namespace {

constexpr std::size_t mib = 1 << 20;
using Bytes = unsigned char;

// Runs `program` in two threads' time and returns the errors.
template <class Program>
std::vector<check_report> errors_of(Program program) {
  checked_heap heap(4 * mib);
  const checked_heap_handle h = heap.handle("planted");
  for_each_thread(1, [&](unsigned) { program(h); });
  return heap.check();
}

void expect_one(const std::vector<check_report>& errors, check_kind kind, const char* text) {
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].kind, kind) << errors[0].text;
  EXPECT_NE(errors[0].text.find(text), std::string::npos) << errors[0].text;
  EXPECT_NE(errors[0].text.find("kernel planted, block (0,0,0), thread ("), std::string::npos)
      << errors[0].text;
  EXPECT_EQ(errors[0].text.find('\n'), std::string::npos);
}

TEST(CheckedHeap, FindsPlantedErrors) {
  checked_heap other(mib);
  void* const foreign = other.handle().malloc(16);
  for (int which = 0; which < heapwood_test::planted_errors; ++which) {
    SCOPED_TRACE(which);
    const heapwood_test::Planted& planted = heapwood_test::planted[which];
    expect_one(errors_of([&](auto h) { heapwood_test::plant(h, which, foreign); }), planted.kind,
               planted.text);
  }
}

TEST(CheckedHeap, FindsDoubleFreesOfOtherThreads) {
  checked_heap heap(4 * mib);
  const checked_heap_handle h = heap.handle("planted");
  void* const block = h.malloc(24);
  for_each_thread(4, [&](unsigned) { h.free(block); });
  const auto errors = heap.check();
  ASSERT_EQ(errors.size(), 3u);
  for (const check_report& e : errors) EXPECT_EQ(e.kind, check_kind::double_free) << e.text;
  // In a later kernel.
  for_each_thread(1, [&](unsigned) { h.free(block); });
  EXPECT_EQ(heap.check().size(), 4u);
}

// Found when the block leaves the ring of freed blocks.
TEST(CheckedHeap, FindsWritesAfterFreeLater) {
  expect_one(errors_of([](auto h) {
               auto* const p = static_cast<Bytes*>(h.malloc(40));
               h.free(p);
               p[3] = 3;
               for (int i = 0; i < 3000; ++i) h.free(h.malloc(40));
             }),
             check_kind::write_after_free, "offset 3 of");
}

TEST(CheckedHeap, KeepsTheFirstErrors) {
  const auto errors = errors_of([](auto h) {
    void* const p = h.malloc(24);
    for (int i = 0; i < 1000; ++i) h.free(p);
  });
  EXPECT_EQ(errors.size(), std::size_t{detail::CheckTables::max_records});
}

std::string text_of_leaks(const checked_heap& heap, std::size_t& bytes) {
  return printed([&](std::FILE* file) { bytes = heap.report_leaks(file); });
}

// Heaps of all multiples of 256 bytes. In some of them a block starts in the last 256.
TEST(CheckedHeap, SeesTheLastBlock) {
  unsigned at_the_end = 0;
  for (std::size_t size = 3 * mib; size < 4 * mib; size += 33 * 256) {
    checked_heap heap(size);
    const checked_heap_handle h = heap.handle();
    std::size_t count = 0;
    bool is_at_end = false;
    while (void* const block = h.malloc(16)) {
      ++count;
      is_at_end |= !h.owns(static_cast<Bytes*>(block) + 256);
    }
    at_the_end += is_at_end && size % 512 == 256 ? 1 : 0;
    std::size_t bytes = 0;
    text_of_leaks(heap, bytes);
    EXPECT_EQ(bytes, 16 * count) << size;
  }
  EXPECT_GT(at_the_end, 0u);  // otherwise nothing was tested
}

TEST(CheckedHeap, ListsLeaksWithTheirPlace) {
  checked_heap heap(4 * mib);
  const checked_heap_handle h = heap.handle("build");
  h.free(h.malloc(100));
  const unsigned line = __LINE__ + 1;
  h.malloc(24, HEAPWOOD_HERE);
  h.at(HEAPWOOD_HERE).make<double>(1.0);
  std::size_t bytes = 0;
  const std::string text = text_of_leaks(heap, bytes);
  EXPECT_EQ(bytes, 32u);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
  EXPECT_NE(text.find("block of 24 bytes at 0x"), std::string::npos) << text;
  EXPECT_NE(text.find("allocated at test_checked_heap.cpp:" + std::to_string(line) +
                      ", kernel build, block (0,0,0), thread ("),
            std::string::npos)
      << text;
  for (int i = 0; i < 100; ++i) h.malloc(1);
  const std::string many = text_of_leaks(heap, bytes);
  EXPECT_EQ(bytes, 132u);
  EXPECT_EQ(std::count(many.begin(), many.end(), '\n'), 21) << many;
  EXPECT_NE(many.find("leak: 82 more blocks; all leaks together have 132 bytes\n"),
            std::string::npos)
      << many;
  heap.reset();
  EXPECT_EQ(text_of_leaks(heap, bytes), "");
}

// Programs without errors.

TEST(CheckedHeapClean, ThreadsThatExchangeBlocks) {
  checked_heap heap(8 * mib);
  const checked_heap_handle h = heap.handle("clean");
  constexpr unsigned threads = 16, rounds = 300;
  shared_array<void*> blocks(threads);
  for (unsigned kernel = 0; kernel < 3; ++kernel) {
    for_each_thread(threads, [&](unsigned thread) {
      for (unsigned round = 0; round < rounds; ++round) {
        const std::size_t bytes = (thread * 31 + round * 17) % 700;
        auto* const p = static_cast<Bytes*>(h.malloc(bytes));
        if (p == nullptr) continue;
        std::memset(p, 0xdb, bytes);
        h.free(p);
      }
      h.free(blocks[thread]);
      blocks[thread] = nullptr;
    });
    for_each_thread(threads, [&](unsigned thread) { blocks[threads - 1 - thread] = h.malloc(99); });
  }
  for_each_thread(threads, [&](unsigned thread) { h.free(blocks[thread]); });
  EXPECT_EQ(heap.report(), 0u);
  EXPECT_EQ(heap.report_leaks(), 0u);
}

TEST(CheckedHeapClean, AllFunctions) {
  EXPECT_TRUE(errors_of([](auto h) {
                auto* p = static_cast<Bytes*>(h.calloc(10, 10));
                for (int i = 0; i < 100; ++i) EXPECT_EQ(p[i], 0);
                p = static_cast<Bytes*>(h.realloc(p, 100, 1000));
                std::memset(p, 7, 1000);
                p = static_cast<Bytes*>(h.realloc(p, 10));
                EXPECT_EQ(p[9], 7);
                EXPECT_EQ(h.usable_size(p), 10u);
                h.free(p);
                for (std::size_t a = 1; a <= 4096; a *= 2)
                  h.aligned_free(h.aligned_alloc(a, a + 3));
                h.destroy(h.template make<double>(1.0));
                h.warp_free(h.warp_malloc(500));
                h.free(nullptr);
                h.free(h.malloc(0));
                EXPECT_EQ(h.malloc(h.max_request() + 4096), nullptr);
              }).empty());
}

TEST(CheckedHeapClean, AFullHeapUsesFreedBlocksAgain) {
  checked_heap heap(mib);
  const checked_heap_handle h = heap.handle();
  std::vector<void*> blocks;
  for (int round = 0; round < 4; ++round) {
    for (void* p; (p = h.malloc(3000)) != nullptr;) blocks.push_back(p);
    EXPECT_GT(blocks.size(), 200u);
    for (void* const p : blocks) h.free(p);
    blocks.clear();
  }
  EXPECT_EQ(heap.stats().full, 4u);
  EXPECT_EQ(heap.report(), 0u);
  EXPECT_EQ(heap.report_leaks(), 0u);
}

}  // namespace
}  // namespace heapwood
