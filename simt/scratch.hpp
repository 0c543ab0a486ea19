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

// A strided array of word pairs in a warp's Scratch. On a GPU indexing costs one multiply-add;
// nvcc 13.0 does not achieve that with a pointer to shared memory.
struct alignas(8) WordPair {
  float first, second;
};

// Entries `stride` pairs apart. `first` points into Scratch.
template <unsigned stride>
class ScratchColumn {
 public:
  HEAPWOOD_INLINE explicit ScratchColumn(WordPair* first) {
#if defined(__CUDA_ARCH__)
    // volatile: the address is kept or spilled, not recomputed at each use.
    asm volatile("mov.u32 %0, %1;"
                 : "=r"(first_)
                 : "r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(first))));
#else
    first_ = first;
#endif
  }
  // volatile: keeps loads after stores, whose memory accesses the compiler does not see.
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
