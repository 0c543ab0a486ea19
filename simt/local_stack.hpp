// SPDX-License-Identifier: MIT
// A per-thread stack of word pairs, for loops where every instruction and register counts. On a GPU
// it is in local memory and its top is a 32-bit address, so a push is a store and an addition under
// one predicate. With an array and an index nvcc 13.0 computes an address per push; with a pointer
// it adds 64-bit numbers.
#pragma once

#include <cstdint>

#include "simt/config.hpp"

namespace heapwood::simt {

struct alignas(8) LocalStackEntry {
  std::uint32_t word;
  float number;
};

// The stack's memory is a separate object, so that the compiler keeps the top in a register.
template <unsigned capacity>
struct LocalStackMemory {
  LocalStackEntry entries[capacity];
};

// The caller must not push more than `capacity` entries, nor pop from an empty stack.
class LocalStack {
 public:
  template <unsigned capacity>
  HEAPWOOD_INLINE explicit LocalStack(LocalStackMemory<capacity>& memory)
      : bottom_(memory.entries), top_(bottom()) {}
  HEAPWOOD_INLINE bool empty() const { return top_ == bottom(); }
#if defined(__CUDA_ARCH__)
  HEAPWOOD_INLINE void push(std::uint32_t word, float number) {
    asm volatile("st.local.v2.b32 [%0], {%1, %2};" ::"r"(top_), "r"(word),
                 "r"(__float_as_uint(number))
                 : "memory");
    top_ += std::uint32_t{sizeof(LocalStackEntry)};
  }
  HEAPWOOD_INLINE void pop(std::uint32_t& word, float& number) {
    top_ -= std::uint32_t{sizeof(LocalStackEntry)};
    asm volatile("ld.local.v2.b32 {%0, %1}, [%2];"
                 : "=r"(word), "=f"(number)
                 : "r"(top_)
                 : "memory");
  }
#else
  HEAPWOOD_INLINE void push(std::uint32_t word, float number) { *top_++ = {word, number}; }
  HEAPWOOD_INLINE void pop(std::uint32_t& word, float& number) {
    --top_;
    word = top_->word;
    number = top_->number;
  }
#endif

 private:
#if defined(__CUDA_ARCH__)
  using Address = std::uint32_t;
  // The compiler folds the intrinsic into the stack pointer plus an offset; inline assembly would
  // cost four operations.
  HEAPWOOD_INLINE Address bottom() const {
    return static_cast<Address>(__cvta_generic_to_local(bottom_));
  }
#else
  using Address = LocalStackEntry*;
  Address bottom() const { return bottom_; }
#endif

  LocalStackEntry* bottom_;
  Address top_;
};

}  // namespace heapwood::simt
