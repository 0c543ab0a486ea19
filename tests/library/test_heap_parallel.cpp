// SPDX-License-Identifier: MIT
// for_each_thread and shared_array on CPU threads.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <heapwood/parallel.hpp>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <vector>

namespace heapwood {
namespace {

TEST(HeapParallel, CallsEachIndexOnce) {
  for (const unsigned threads : {0u, 1u, 2u, 1000u}) {
    shared_array<unsigned> calls(threads);
    for_each_thread(threads, [&](unsigned thread) { ++calls[thread]; });
    EXPECT_EQ(std::accumulate(calls.data(), calls.data() + threads, 0u), threads);
    for (unsigned thread = 0; thread < threads; ++thread) EXPECT_EQ(calls[thread], 1u);
  }
}

TEST(HeapParallel, IndicesDoNotWrap) {
  const unsigned max = ~0u;
  std::vector<unsigned> indices;
  detail::for_each_step(3, 1u << 30, max, [&](unsigned i) {
    if (indices.size() == 4) throw std::length_error("a loop that does not end");
    indices.push_back(i);
  });
  EXPECT_EQ(indices, (std::vector<unsigned>{3, 3 + (1u << 30), 3 + (2u << 30), 3 + (3u << 30)}));
}

struct alignas(64) Line {
  int values[16];
};
struct alignas(256) Largest {
  int value;
};
template <class T>
void expect_aligned() {
  std::vector<std::unique_ptr<shared_array<T>>> arrays;
  for (std::size_t size = 0; size < 20; ++size) {
    const auto& array = *arrays.emplace_back(std::make_unique<shared_array<T>>(size));
    ASSERT_NE(array.data(), nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(array.data()) % alignof(T), 0u);
    const auto* const bytes = reinterpret_cast<const unsigned char*>(array.data());
    for (std::size_t i = 0; i < size * sizeof(T); ++i) ASSERT_EQ(bytes[i], 0);
    if (size > 0) std::memset(array.data(), 0xff, size * sizeof(T));
  }
}
TEST(HeapParallel, SharedArraysAreAlignedAndClear) {
  expect_aligned<char>();
  expect_aligned<Line>();
  expect_aligned<Largest>();
}

TEST(HeapParallel, SharedArraysOfImpossibleSizesThrow) {
  EXPECT_THROW(shared_array<long>(std::size_t{1} << 61), Error);
  EXPECT_THROW(shared_array<long>((std::size_t{1} << 61) + 1), Error);
  EXPECT_THROW(shared_array<char>(~std::size_t{0}), Error);
}

}  // namespace
}  // namespace heapwood
