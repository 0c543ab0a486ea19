// SPDX-License-Identifier: MIT
// The operators of the program in test_own_new.cpp, in a source without the library's.
#include <cstdlib>
#include <new>

void* operator new(std::size_t bytes) {
  void* const block = std::malloc(bytes == 0 ? 1 : bytes);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}
void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t) noexcept { std::free(block); }
