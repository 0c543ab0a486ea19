// SPDX-License-Identifier: MIT
// Clearing, copying and aligning blocks, by one thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloc/allocator.hpp"
#include "simt/config.hpp"

namespace heapwood::detail {

struct alignas(alloc::granule) Granule {
  std::uint64_t low, high;
};

// Clears exactly `bytes` bytes: the bytes after them may be guards of a checked heap.
SIMT_INLINE void clear_block(void* block, std::size_t bytes) {
  const std::size_t granules = bytes / sizeof(Granule);
  SIMT_ROLLED
  for (std::size_t i = 0; i < granules; ++i) static_cast<Granule*>(block)[i] = {0, 0};
  SIMT_ROLLED
  for (std::size_t i = granules * sizeof(Granule); i < bytes; ++i)
    static_cast<unsigned char*>(block)[i] = 0;
}
SIMT_INLINE void copy_block(void* to, const void* from, std::size_t bytes) {
  const std::size_t granules = bytes / sizeof(Granule);
  SIMT_ROLLED
  for (std::size_t i = 0; i < granules; ++i)
    static_cast<Granule*>(to)[i] = static_cast<const Granule*>(from)[i];
  SIMT_ROLLED
  for (std::size_t i = granules * sizeof(Granule); i < bytes; ++i)
    static_cast<unsigned char*>(to)[i] = static_cast<const unsigned char*>(from)[i];
}

// A block with a larger alignment inside a block of malloc, whose address precedes it.
class AlignedRequest {
 public:
  // `alignment` is a power of two.
  SIMT_INLINE AlignedRequest(std::size_t alignment, std::size_t bytes)
      : alignment_(alignment < alloc::granule ? alloc::granule : alignment), bytes_(bytes) {}
  SIMT_INLINE std::size_t bytes() const {
    const std::size_t all = bytes_ + alignment_ + alloc::granule;
    return all < bytes_ || all < alignment_ ? ~std::size_t{0} : all;
  }
  SIMT_INLINE void* place(void* block) const {
    if (block == nullptr) return nullptr;
    const auto origin = reinterpret_cast<std::uintptr_t>(block);
    const std::uintptr_t at = (origin + alloc::granule + alignment_ - 1) & ~(alignment_ - 1);
    void* const place = reinterpret_cast<void*>(at);
    static_cast<void**>(place)[-1] = block;
    return place;
  }
  static SIMT_INLINE void* origin(void* place) {
    return place == nullptr ? nullptr : static_cast<void**>(place)[-1];
  }

 private:
  std::size_t alignment_, bytes_;
};

}  // namespace heapwood::detail
