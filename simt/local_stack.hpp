// SPDX-License-Identifier: MIT
// A thread's stack of pairs of words, for loops where every instruction and register counts. On a GPU it lies in local memory
// and its top is kept as an address of 32 bits, so that a push is a store and an addition under one predicate; of an array and
// an index nvcc 13.0 makes an address for each push, and of a pointer additions of 64 bits.
#pragma once

#include <cstdint>

#include "simt/config.hpp"

namespace heapwood::simt {

struct alignas(8) LocalStackEntry {
  std::uint32_t word;
  float number;
};

// Its memory is an object apart, so that the compiler does not keep the top in memory, too.
template <unsigned capacity>
struct LocalStackMemory {
  LocalStackEntry entries[capacity];
};

// The caller pushes no more entries than the memory has room for, and pops only what is there.
class LocalStack {
 public:
  template <unsigned capacity>
  SIMT_INLINE explicit LocalStack(LocalStackMemory<capacity>& memory) : bottom_(memory.entries), top_(bottom()) {}
  SIMT_INLINE bool empty() const { return top_ == bottom(); }
#if defined(__CUDA_ARCH__)
  SIMT_INLINE void push(std::uint32_t word, float number) {
    asm volatile("st.local.v2.b32 [%0], {%1, %2};" ::"r"(top_), "r"(word), "r"(__float_as_uint(number)) : "memory");
    top_ += std::uint32_t{sizeof(LocalStackEntry)};
  }
  SIMT_INLINE void pop(std::uint32_t& word, float& number) {
    top_ -= std::uint32_t{sizeof(LocalStackEntry)};
    asm volatile("ld.local.v2.b32 {%0, %1}, [%2];" : "=r"(word), "=f"(number) : "r"(top_) : "memory");
  }
#else
  SIMT_INLINE void push(std::uint32_t word, float number) { *top_++ = {word, number}; }
  SIMT_INLINE void pop(std::uint32_t& word, float& number) {
    --top_;
    word = top_->word;
    number = top_->number;
  }
#endif

 private:
#if defined(__CUDA_ARCH__)
  using Address = std::uint32_t;
  // By the intrinsic, of which the compiler makes the stack pointer and an offset; of the same in assembler four operations.
  SIMT_INLINE Address bottom() const { return static_cast<Address>(__cvta_generic_to_local(bottom_)); }
#else
  using Address = LocalStackEntry*;
  Address bottom() const { return bottom_; }
#endif

  LocalStackEntry* bottom_;
  Address top_;
};

}  // namespace heapwood::simt
