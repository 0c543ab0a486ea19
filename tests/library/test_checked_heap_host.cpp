// SPDX-License-Identifier: MIT
// A checked heap refuses what it cannot serve, and counts refusals, as heapwood::heap does.
#include <gtest/gtest.h>

#include <cstdint>
#include <heapwood/checked_heap.hpp>
#include <vector>

namespace heapwood {
namespace {

constexpr std::size_t mib = 1 << 20;
using Byte = unsigned char;

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
      auto* const block = static_cast<Byte*>(h.aligned_alloc(alignment, bytes));
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
    EXPECT_EQ(h.malloc(h.max_request() + 1), nullptr);
    void* const block = h.malloc(h.max_request());
    EXPECT_NE(block, nullptr);
    h.free(block);
    EXPECT_EQ(heap.report(), 0u);
  }
}

}  // namespace
}  // namespace heapwood
