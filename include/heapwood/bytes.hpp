// SPDX-License-Identifier: MIT
// Clearing, copying and aligning blocks, by one thread; sums and products of sizes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloc/allocator.hpp"
#include "simt/config.hpp"

namespace heapwood::detail {

// may_alias: the program reads what is written here, and writes what is read here, through types of
// its own. Without it the compiler may move the program's accesses across these.
struct [[gnu::may_alias]] alignas(alloc::granule) Granule {
  std::uint64_t low, high;
};
using AnyPointer [[gnu::may_alias]] = void*;

// The result, or the maximum if it does not fit: a size that no heap serves.
SIMT_INLINE constexpr std::size_t add_sizes(std::size_t a, std::size_t b) {
  return a > ~std::size_t{0} - b ? ~std::size_t{0} : a + b;
}
SIMT_INLINE constexpr std::size_t multiply_sizes(std::size_t count, std::size_t size) {
  return size != 0 && count > ~std::size_t{0} / size ? ~std::size_t{0} : count * size;
}

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

// An aligned block inside a larger block of malloc. The address of the outer block is stored just
// before the inner one.
class AlignedRequest {
 public:
  // `alignment` is a power of two.
  SIMT_INLINE AlignedRequest(std::size_t alignment, std::size_t bytes)
      : alignment_(alignment < alloc::granule ? alloc::granule : alignment), bytes_(bytes) {}
  SIMT_INLINE std::size_t bytes() const { return add_sizes(bytes_, alignment_ + alloc::granule); }
  SIMT_INLINE void* place(void* block) const {
    if (block == nullptr) return nullptr;
    const auto origin = reinterpret_cast<std::uintptr_t>(block);
    const std::uintptr_t at = (origin + alloc::granule + alignment_ - 1) & ~(alignment_ - 1);
    void* const place = reinterpret_cast<void*>(at);
    static_cast<AnyPointer*>(place)[-1] = block;
    return place;
  }
  static SIMT_INLINE void* origin(void* place) {
    return place == nullptr ? nullptr : static_cast<AnyPointer*>(place)[-1];
  }

 private:
  std::size_t alignment_, bytes_;
};

}  // namespace heapwood::detail
