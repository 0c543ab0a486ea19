// SPDX-License-Identifier: MIT
// The checked heap finds each planted error, with the place of the call, counts refusals as
// heapwood::heap does, and keeps the errors of kernels however often it is asked for a report.
// test_heap_interface.cpp has programs without errors.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <heapwood/checked_heap.hpp>
#include <heapwood/parallel.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/library/planted.hpp"
#include "tests/library/printed.hpp"

namespace heapwood {
namespace {

constexpr std::size_t mib = 1 << 20;
using Bytes = unsigned char;

// Runs `program` in one thread and returns the errors.
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
  expect_part(errors[0].text, text);
  expect_part(errors[0].text, "kernel planted, block (0,0,0), thread (");
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
  // The second free is in a later kernel.
  for_each_thread(1, [&](unsigned) { h.free(block); });
  EXPECT_EQ(heap.check().size(), 4u);
}

// The write is found when the block leaves the ring of freed blocks.
TEST(CheckedHeap, FindsWritesAfterFreeLater) {
  expect_one(errors_of([](auto h) {
               auto* const p = static_cast<Bytes*>(h.malloc(40));
               h.free(p);
               p[3] = 3;
               for (int i = 0; i < 3000; ++i) h.free(h.malloc(40));
             }),
             check_kind::write_after_free, "offset 3 of");
}

std::string text_of_leaks(const checked_heap& heap, std::size_t& bytes) {
  return printed([&](std::FILE* file) { bytes = heap.report_leaks(file); });
}

// Heaps of all multiples of 256 bytes. In some of them a block starts in the last 256.
TEST(CheckedHeap, SeesTheLastBlock) {
  unsigned at_the_end = 0;
  for (std::size_t size = mib; size < 2 * mib; size += 33 * 256) {
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
  expect_part(text, "block of 24 bytes at 0x");
  expect_part(text, "allocated at test_checked_heap.cpp:" + std::to_string(line) +
                        ", kernel build, block (0,0,0), thread (");
  for (int i = 0; i < 100; ++i) h.malloc(1);
  const std::string many = text_of_leaks(heap, bytes);
  EXPECT_EQ(bytes, 132u);
  EXPECT_EQ(std::count(many.begin(), many.end(), '\n'), 21) << many;
  expect_part(many, "leak: 82 more blocks; all leaks together have 132 bytes\n");
  heap.reset();
  EXPECT_EQ(text_of_leaks(heap, bytes), "");
}

TEST(CheckedHeap, AFullHeapUsesFreedBlocksAgain) {
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

std::string text_of_report(const checked_heap& heap, std::size_t& errors) {
  return printed([&](std::FILE* file) { errors = heap.report(file); });
}

TEST(CheckedHeapReport, RepeatedReportsFindADamagedBlockOnce) {
  checked_heap heap(mib);
  const checked_heap_handle h = heap.handle();
  auto* const block = static_cast<Bytes*>(h.malloc(10));
  block[10] = 1;
  for (int i = 0; i < 100; ++i) ASSERT_EQ(heap.report(nullptr), 1u) << i;
  // A later error of a kernel is kept.
  void* const freed = h.malloc(5);
  h.free(freed);
  h.free(freed);
  std::vector<check_report> errors = heap.check();
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_EQ(errors[0].kind, check_kind::double_free);
  EXPECT_EQ(errors[1].kind, check_kind::overrun);
  // The free of the damaged block finds the error before check() does.
  h.free(block, HEAPWOOD_HERE);
  errors = heap.check();
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_EQ(errors[1].kind, check_kind::overrun);
  expect_part(errors[1].text, "found at test_checked_heap.cpp:");
  heap.reset();
  EXPECT_EQ(heap.report(nullptr), 0u);
}

TEST(CheckedHeapReport, NamesTheIndexOfForEachThread) {
  checked_heap heap(mib);
  const checked_heap_handle h = heap.handle();
  for_each_thread(1000, [h, foreign = &heap](unsigned thread) {
    if (thread == 777) h.free(foreign);
  });
  const std::vector<check_report> errors = heap.check();
  ASSERT_EQ(errors.size(), 1u);
  expect_part(errors[0].text, "thread (777,0,0)");
}

TEST(CheckedHeapReport, SaysHowManyErrorsWereNotKept) {
  checked_heap heap(mib);
  const checked_heap_handle h = heap.handle();
  for (int i = 0; i < 64; ++i) h.free(&heap);
  std::size_t errors = 0;
  std::string text = text_of_report(heap, errors);
  EXPECT_EQ(errors, 64u);
  EXPECT_EQ(text.find("not kept"), std::string::npos);
  for (int i = 0; i < 36; ++i) h.free(&heap);
  text = text_of_report(heap, errors);
  EXPECT_EQ(errors, 100u);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 65) << text;
  expect_part(text, "heapwood: 36 more errors were not kept\n");
  // Errors that check() finds are counted separately.
  for (int i = 0; i < 70; ++i) static_cast<Bytes*>(h.malloc(10))[12] = 1;
  text = text_of_report(heap, errors);
  EXPECT_EQ(errors, 170u);
  expect_part(text, "heapwood: 42 more errors were not kept\n");
  EXPECT_EQ(heap.check().size(), 128u);
}

TEST(CheckedHeapRefusals, TheFirstSizeIsWhatWasAskedFor) {
  for (const std::size_t bytes : {4 * mib, mib - 100, ~std::size_t{0}, ~std::size_t{0} / 2}) {
    checked_heap heap(mib);
    EXPECT_EQ(heap.handle().malloc(bytes), nullptr);
    const heap_stats stats = heap.stats();
    EXPECT_EQ(stats.first_refused_bytes, bytes);
    EXPECT_EQ(stats.full + stats.too_large, 1u);
    EXPECT_EQ(stats.too_large, bytes > stats.max_request);
  }
  checked_heap heap(mib);
  EXPECT_EQ(heap.handle().aligned_alloc(64, 5 * mib), nullptr);
  EXPECT_EQ(heap.stats().first_refused_bytes, 5 * mib);
}

// What even an empty heap cannot serve with head, guard and alignment is too large; the heap is not
// full.
TEST(CheckedHeapRefusals, CountWhatNeverFitsAsTooLarge) {
  checked_heap heap(mib);
  const checked_heap_handle h = heap.handle();
  EXPECT_EQ(heap.stats().max_request, heap.max_request());
  EXPECT_EQ(h.malloc(heap.max_request() + 1), nullptr);
  EXPECT_EQ(h.aligned_alloc(std::size_t{1} << 16, heap.max_request() - 1000), nullptr);
  EXPECT_EQ(h.aligned_alloc(2 * mib, 0), nullptr);
  EXPECT_EQ(heap.stats().too_large, 3u);
  EXPECT_EQ(heap.stats().full, 0u);
  ASSERT_NE(h.malloc(heap.max_request()), nullptr);
  EXPECT_EQ(h.malloc(heap.max_request()), nullptr);
  EXPECT_EQ(heap.stats().full, 1u);
}

TEST(CheckedHeapRefusals, SumsOfSizesDoNotWrap) {
  checked_heap heap(mib);
  const checked_heap_handle h = heap.handle();
  constexpr std::size_t max = ~std::size_t{0};
  std::vector<std::size_t> sizes;
  for (const std::size_t size : {std::size_t{0}, max / 2, max}) {
    for (std::size_t i = 0; i < 400; i += 7) {
      sizes.push_back(size + i);
      sizes.push_back(size - i);
    }
  }
  for (unsigned shift = 0; shift < 64; ++shift) {
    const std::size_t alignment = std::size_t{1} << shift;
    for (const std::size_t bytes : sizes) {
      auto* const block = static_cast<Bytes*>(h.aligned_alloc(alignment, bytes));
      if (block != nullptr) {
        ASSERT_LT(bytes + alignment, mib);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % alignment, 0u);
        h.aligned_free(block);
      }
    }
    // The sum is 0, or just larger.
    EXPECT_EQ(h.aligned_alloc(alignment, std::size_t{0} - alignment), nullptr);
  }
  for (const std::size_t bytes : sizes) {
    void* const block = h.malloc(bytes);
    EXPECT_EQ(block != nullptr, bytes <= 400) << bytes;
    h.free(block);
    EXPECT_EQ(h.realloc(nullptr, 0, bytes | std::size_t{1} << 63), nullptr);
    EXPECT_EQ(h.calloc(bytes | std::size_t{1} << 40, std::size_t{1} << 30), nullptr);
  }
  EXPECT_EQ(heap.report(), 0u);
  EXPECT_EQ(heap.report_leaks(), 0u);
}

TEST(CheckedHeapRefusals, MaxRequestIsServed) {
  for (std::size_t bytes = mib; bytes < mib + 4096; bytes += 256) {
    checked_heap heap(bytes);
    const checked_heap_handle h = heap.handle();
    EXPECT_EQ(h.max_request(), heap.max_request());
    EXPECT_EQ(h.malloc(heap.max_request() + 1), nullptr);
    void* const block = h.malloc(heap.max_request());
    EXPECT_NE(block, nullptr);
    h.free(block);
    EXPECT_EQ(heap.report(), 0u);
  }
}

TEST(CheckedHeapInterface, NamesOfKernelsMoveWithTheHeap) {
  checked_heap heap(mib);
  heap.handle("first");
  const checked_heap_handle h = heap.handle("second");
  checked_heap moved(std::move(heap));
  h.free(&heap);
  const auto errors = moved.check();
  ASSERT_EQ(errors.size(), 1u);
  expect_part(errors[0].text, "kernel second, ");
}

}  // namespace
}  // namespace heapwood
