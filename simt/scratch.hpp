// SPDX-License-Identifier: MIT
// Access to a warp's Scratch by 32-bit addresses, for code where every register counts.
#pragma once

#include <cstdint>

#include "simt/config.hpp"

namespace heapwood::simt {

// A reference to an object in a warp's Scratch, for arguments of functions that are not inlined. On
// the GPU it has 32 bits, and the compiler knows that it refers to shared memory; through a plain
// reference each access would be generic.
template <class T>
class ScratchRef {
 public:
#if defined(__CUDA_ARCH__)
  HEAPWOOD_INLINE ScratchRef(T& object)
      : at_(static_cast<std::uint32_t>(__cvta_generic_to_shared(&object))) {}
  HEAPWOOD_INLINE T& operator*() const { return *static_cast<T*>(__cvta_shared_to_generic(at_)); }

 private:
  std::uint32_t at_;
#else
  HEAPWOOD_INLINE ScratchRef(T& object) : object_(&object) {}
  HEAPWOOD_INLINE T& operator*() const { return *object_; }

 private:
  T* object_;
#endif
};

// A per-thread stack of word pairs. On a GPU it is in local memory and its top is a 32-bit address,
// so a push is a store and an addition under one predicate. With an array and an index nvcc 13.0
// computes an address per push; with a pointer it adds 64-bit numbers.
struct alignas(8) LocalStackEntry {
  std::uint32_t word;
  float number;
};

// The memory of a LocalStack: a separate object, so that the compiler keeps the top in a register.
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
  // The compiler folds the intrinsic into the stack pointer; inline assembly would cost four
  // operations.
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

// A strided array of word pairs in a warp's Scratch. On a GPU indexing costs one multiply-add;
// nvcc 13.0 does not achieve that with a pointer to shared memory.
struct alignas(8) WordPair {
  float first, second;
};

// A column of entries that are `stride` pairs apart. `first` points into Scratch.
template <unsigned stride>
class ScratchColumn {
 public:
  HEAPWOOD_INLINE explicit ScratchColumn(WordPair* first) {
#if defined(__CUDA_ARCH__)
    // volatile: makes the compiler keep or spill the address, and not recompute it at each use.
    asm volatile("mov.u32 %0, %1;"
                 : "=r"(first_)
                 : "r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(first))));
#else
    first_ = first;
#endif
  }
  // volatile: keeps loads after stores; the compiler does not see their memory accesses.
  HEAPWOOD_INLINE void store(unsigned index, WordPair pair) const {
#if defined(__CUDA_ARCH__)
    asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(first_ + index * bytes), "f"(pair.first),
                 "f"(pair.second));
#else
    first_[index * stride] = pair;
#endif
  }
  HEAPWOOD_INLINE WordPair load(unsigned index) const {
#if defined(__CUDA_ARCH__)
    WordPair pair;
    asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];"
                 : "=f"(pair.first), "=f"(pair.second)
                 : "r"(first_ + index * bytes));
    return pair;
#else
    return first_[index * stride];
#endif
  }

 private:
#if defined(__CUDA_ARCH__)
  static constexpr std::uint32_t bytes = stride * sizeof(WordPair);
  std::uint32_t first_;
#else
  WordPair* first_;
#endif
};

}  // namespace heapwood::simt
