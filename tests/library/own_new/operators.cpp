// SPDX-License-Identifier: MIT
// The operators of the program in test_own_new.cpp, in a source without the library's. Their blocks
// cannot be freed by the C library.
#include <atomic>
#include <cstdlib>
#include <new>

std::atomic<int> own_new_blocks{0};  // blocks in use

namespace {

constexpr std::size_t offset = 64;

void* allocate(std::size_t bytes) {
  auto* const block = static_cast<char*>(std::malloc(bytes + offset));
  if (block == nullptr) throw std::bad_alloc();
  ++own_new_blocks;
  return block + offset;
}
void deallocate(void* block) {
  if (block == nullptr) return;
  --own_new_blocks;
  std::free(static_cast<char*>(block) - offset);
}

}  // namespace

void* operator new(std::size_t bytes) { return allocate(bytes); }
void* operator new[](std::size_t bytes) { return allocate(bytes); }
void operator delete(void* block) noexcept { deallocate(block); }
void operator delete[](void* block) noexcept { deallocate(block); }
void operator delete(void* block, std::size_t) noexcept { deallocate(block); }
void operator delete[](void* block, std::size_t) noexcept { deallocate(block); }
