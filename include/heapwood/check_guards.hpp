// SPDX-License-Identifier: MIT
// The bytes of a checked block that show a wrong write: 16 bytes before it (the canary of its
// head), a guard of 16 to 31 bytes after it, and the poison of a freed block. Offsets are from the
// start of the block.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloc/allocator.hpp"
#include "simt/config.hpp"

namespace heapwood::detail {

inline constexpr unsigned char guard_byte = 0xa5, poison_byte = 0xdb;
// Of a large block only the beginning and the end are poisoned.
inline constexpr std::size_t max_poison = 1024;

// Bytes of the guard after a block of `bytes` bytes.
SIMT_INLINE std::size_t guard_bytes(std::size_t bytes) {
  return alloc::padded(bytes) - bytes + alloc::granule;
}

// Index of the first of the bytes that is not `value`; `bytes` if there is none.
SIMT_INLINE std::size_t first_other(const unsigned char* at, std::size_t bytes,
                                    unsigned char value) {
  SIMT_ROLLED
  for (std::size_t i = 0; i < bytes; ++i) {
    if (at[i] != value) return i;
  }
  return bytes;
}

// Writes the guards of a block, canary included.
SIMT_FN inline void write_guards(unsigned char* block, std::size_t bytes) {
  constexpr std::uint64_t word = 0x0101010101010101u * guard_byte;
  auto* const canary = reinterpret_cast<std::uint64_t*>(block - alloc::granule);
  canary[0] = canary[1] = word;
  SIMT_ROLLED
  for (std::size_t i = 0; i < guard_bytes(bytes); ++i) block[bytes + i] = guard_byte;
}

// The offset of the first wrong byte before a block; 0 if there is none.
SIMT_INLINE std::int64_t damage_before(const unsigned char* block) {
  const std::size_t at = first_other(block - alloc::granule, alloc::granule, guard_byte);
  return static_cast<std::int64_t>(at) - static_cast<std::int64_t>(alloc::granule);
}
// The offset of the first wrong byte of the guard after a block; the end of the guard if there is
// none.
SIMT_INLINE std::size_t damage_after(const unsigned char* block, std::size_t bytes) {
  return bytes + first_other(block + bytes, guard_bytes(bytes), guard_byte);
}

SIMT_INLINE std::size_t poison_part(std::size_t bytes) {
  return bytes < max_poison ? bytes : max_poison;
}
SIMT_FN inline void fill_poison(unsigned char* block, std::size_t bytes) {
  const std::size_t part = poison_part(bytes);
  SIMT_ROLLED
  for (std::size_t i = 0; i < part; ++i) block[i] = block[bytes - part + i] = poison_byte;
}
// The offset of the first wrong byte of a freed block and its guards; the end of the guard after
// it if there is none.
SIMT_FN inline std::int64_t damage_after_free(const unsigned char* block, std::size_t bytes) {
  const std::int64_t before = damage_before(block);
  if (before != 0) return before;
  const std::size_t part = poison_part(bytes), last = bytes - part;
  std::size_t at = first_other(block, part, poison_byte);
  if (at == part) at = last + first_other(block + last, part, poison_byte);
  if (at == bytes) at = damage_after(block, bytes);
  return static_cast<std::int64_t>(at);
}

}  // namespace heapwood::detail
