// SPDX-License-Identifier: MIT
// calloc and realloc write blocks that the program reads as any type. Compiled at -O2, at which g++
// moves accesses across those of other types; the other tests are compiled at -O1.
#include <gtest/gtest.h>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O2")
#endif

#include <heapwood/heap.hpp>

namespace heapwood {
namespace {

template <class T, int count>
__attribute__((noinline)) T sum_of_cleared(heap_handle h) {
  T* const block = static_cast<T*>(h.calloc(count, sizeof(T)));
  if (block == nullptr) return 1;
  T sum = 0;
  for (int i = 0; i < count; ++i) sum += block[i];
  for (int i = 0; i < count; ++i) block[i] = 77;  // so the next block at this address is not 0
  h.free(block);
  return sum;
}

template <class T>
__attribute__((noinline)) T sum_of_moved(heap_handle h, T first) {
  T* const block = static_cast<T*>(h.malloc(4 * sizeof(T)));
  if (block == nullptr) return 1;
  for (int i = 0; i < 4; ++i) block[i] = first;
  T* const moved = static_cast<T*>(h.realloc(block, 4 * sizeof(T), 8 * sizeof(T)));
  if (moved == nullptr) return 1;
  const T sum = moved[0] + moved[1] + moved[2] + moved[3];
  h.free(moved);
  return sum - 4 * first;
}

struct Fields {
  int first, second, third, fourth;
};
__attribute__((noinline)) int field_of_cleared(heap_handle h) {
  auto* const block = static_cast<Fields*>(h.calloc(1, sizeof(Fields)));
  if (block == nullptr) return 1;
  const int sum = block->first + block->fourth;
  block->first = 5;
  block->fourth = 6;
  h.free(block);
  return sum;
}

TEST(HeapAliasing, ProgramReadsWhatCallocAndReallocWrite) {
  heap heap(1 << 16);
  const heap_handle h = heap.handle();
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ((sum_of_cleared<int, 4>(h)), 0) << i;
    ASSERT_EQ((sum_of_cleared<float, 8>(h)), 0) << i;
    ASSERT_EQ((sum_of_cleared<short, 8>(h)), 0) << i;
    ASSERT_EQ((sum_of_cleared<double, 2>(h)), 0) << i;
    ASSERT_EQ(field_of_cleared(h), 0) << i;
    ASSERT_EQ(sum_of_moved<int>(h, i), 0) << i;
    ASSERT_EQ(sum_of_moved<float>(h, static_cast<float>(i)), 0) << i;
    ASSERT_EQ(sum_of_moved<double>(h, i), 0) << i;
  }
}

}  // namespace
}  // namespace heapwood
