// SPDX-License-Identifier: MIT
// A reference to an object in a warp's Scratch, for arguments of functions that are not inlined. On
// the GPU it has 32 bits, and the compiler knows that it refers to shared memory; through a plain
// reference each access would be generic.
#pragma once

#include <cstdint>

#include "simt/config.hpp"

namespace heapwood::simt {

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

}  // namespace heapwood::simt
