// SPDX-License-Identifier: MIT
// The parts of a checked heap in device memory: a checked block and the tables. Three groups of
// bytes show a wrong write: 16 bytes before the block (the canary of its head), a guard of 16 to 31
// bytes after it, and the poison of a freed block. Offsets are from the start of the block.
#pragma once

#include "simt/cxx20.hpp"  // first

#include <algorithm>
#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>

#include "alloc/allocator.hpp"
#include "heapwood/handle_operations.hpp"
#include "simt/atomic_ref.hpp"
#include "simt/config.hpp"
#include "simt/math.hpp"

namespace heapwood {

// ---- records of errors, and their text on the host ---------------------------------------------

enum class check_kind : std::uint32_t {
  overrun,           // a byte past the end of a block was written
  underrun,          // a byte before a block was written
  double_free,       // the block was freed already
  foreign_pointer,   // the address is not in the heap
  no_block,          // the address is in the heap, but no block starts there
  write_after_free,  // a byte of a freed block was written
  wrong_free,        // a block of aligned_alloc was freed by free, or the reverse
  wrong_size,        // realloc with a size that the block does not have
  // The block's own bytes of administration were overwritten, so it cannot be freed.
  overwritten_head
};

namespace detail {

inline constexpr std::uint32_t found_by_check = ~0u;  // stands for a kernel's number

// The thread and the place of a call.
struct Caller {
  simt::Index3 block, thread;
  std::uint32_t kernel = 0;  // number of the name given to handle(), from 1; 0 = none
  call_site where;
};

struct CheckRecord {
  check_kind kind{};
  Caller caller;     // the thread that found the error
  Caller allocated;  // the call that allocated the block; empty if no block is concerned
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;  // size of the block
  std::int64_t offset = 0;  // offset of the first wrong byte from the block's start
  std::uint64_t given = 0;  // wrong_size: the old size that was passed
};

// The block before a block whose head was overwritten.
struct Neighbour {
  std::uint64_t address = 0;  // 0: none is known
  std::uint64_t bytes = 0;
  Caller allocated;
};

}  // namespace detail

// An error, or a block that was not freed.
struct check_report {
  check_kind kind{};
  std::uint64_t address = 0, bytes = 0;
  std::string text;  // one line
};

namespace detail {

// The names that were given to handle().
using KernelNames = std::span<const std::string>;

// The text in an array that may lack a terminating 0.
template <std::size_t size>
std::string bounded_text(const char (&text)[size]) {
  return {text, std::find(text, text + size, '\0')};
}

inline std::string text_of(const Caller& caller, KernelNames kernels) {
  if (caller.kernel == found_by_check) return "by check()";
  std::string all;
  if (caller.where.line != 0) {
    all = "at " + bounded_text(caller.where.file) + ':' + std::to_string(caller.where.line) + ", ";
  }
  std::string kernel = bounded_text(caller.where.function);
  if (caller.kernel != 0)
    kernel = caller.kernel <= kernels.size() ? kernels[caller.kernel - 1] : "unknown";
  if (!kernel.empty()) all += "kernel " + kernel + ", ";
  char text[128];
  std::snprintf(text, sizeof(text), "block (%u,%u,%u), thread (%u,%u,%u)", caller.block.x,
                caller.block.y, caller.block.z, caller.thread.x, caller.thread.y, caller.thread.z);
  return all + text;
}

inline std::string block_text(std::uint64_t bytes, std::uint64_t address) {
  char text[80];
  std::snprintf(text, sizeof(text), "block of %" PRIu64 " bytes at 0x%" PRIx64, bytes, address);
  return text;
}

inline std::string text_of(const CheckRecord& record, KernelNames kernels,
                           const Neighbour& previous = {}) {
  char text[256];
  const auto print = [&](const char* format, auto... values) {
    std::snprintf(text, sizeof(text), format, values...);
    return std::string(text);
  };
  const std::string block = block_text(record.bytes, record.address);
  std::string what;
  switch (record.kind) {
    case check_kind::overrun:
      what = print("write at offset %" PRId64 ", past the end of a ", record.offset) + block;
      break;
    case check_kind::underrun:
      what = print("write at offset %" PRId64 ", before the start of a ", record.offset) + block;
      break;
    case check_kind::double_free:
      return print("0x%" PRIx64 " was freed twice, second ", record.address) +
             text_of(record.caller, kernels);
    case check_kind::foreign_pointer:
      return print("free of 0x%" PRIx64 ", which is not in this heap, ", record.address) +
             text_of(record.caller, kernels);
    case check_kind::no_block:
      return print("free of 0x%" PRIx64 ", where no block starts, ", record.address) +
             text_of(record.caller, kernels);
    case check_kind::write_after_free:
      what = print("write at offset %" PRId64 " of a freed ", record.offset) + block;
      break;
    case check_kind::wrong_free:
      what = "wrong function (free or aligned_free) called for a " + block;
      break;
    case check_kind::wrong_size:
      what = print("realloc with an old size of %" PRIu64 " bytes for a ", record.given) + block;
      break;
    case check_kind::overwritten_head:
      what =
          print("the head of the block at 0x%" PRIx64 " (the 128 bytes before it) was overwritten",
                record.address);
      if (previous.address != 0) {
        what += "; the block before it in memory is a " +
                block_text(previous.bytes, previous.address) + ", allocated " +
                text_of(previous.allocated, kernels);
      }
      return what + "; found " + text_of(record.caller, kernels);
  }
  return what + ", allocated " + text_of(record.allocated, kernels) + "; found " +
         text_of(record.caller, kernels);
}

}  // namespace detail
}  // namespace heapwood

namespace heapwood::detail {

// ---- blocks and tables -------------------------------------------------------------------------

inline constexpr unsigned char guard_byte = 0xa5, poison_byte = 0xdb;
// In larger blocks only the beginning and the end are poisoned.
inline constexpr std::size_t max_poison = 1024;

// The number of bytes of the guard after a block of `bytes` bytes.
HEAPWOOD_INLINE std::size_t guard_bytes(std::size_t bytes) {
  return alloc::padded(bytes) - bytes + alloc::granule;
}

// The index of the first byte that is not `value`; `bytes` if there is none.
HEAPWOOD_INLINE std::size_t first_other(const unsigned char* data, std::size_t bytes,
                                        unsigned char value) {
  HEAPWOOD_ROLLED
  for (std::size_t i = 0; i < bytes; ++i) {
    if (data[i] != value) return i;
  }
  return bytes;
}

// Writes the guards of a block, including the canary before it.
HEAPWOOD_FN inline void write_guards(unsigned char* block, std::size_t bytes) {
  constexpr std::uint64_t word = 0x0101010101010101u * guard_byte;
  auto* const canary = reinterpret_cast<std::uint64_t*>(block - alloc::granule);
  canary[0] = canary[1] = word;
  HEAPWOOD_ROLLED
  for (std::size_t i = 0; i < guard_bytes(bytes); ++i) block[bytes + i] = guard_byte;
}

// The offset of the first wrong byte before a block; 0 if there is none.
HEAPWOOD_INLINE std::int64_t damage_before(const unsigned char* block) {
  const std::size_t damaged = first_other(block - alloc::granule, alloc::granule, guard_byte);
  return static_cast<std::int64_t>(damaged) - static_cast<std::int64_t>(alloc::granule);
}
// The offset of the first wrong byte of the guard after a block, or the guard's end if none is
// wrong.
HEAPWOOD_INLINE std::size_t damage_after(const unsigned char* block, std::size_t bytes) {
  return bytes + first_other(block + bytes, guard_bytes(bytes), guard_byte);
}

HEAPWOOD_INLINE std::size_t poison_part(std::size_t bytes) {
  return bytes < max_poison ? bytes : max_poison;
}
HEAPWOOD_FN inline void fill_poison(unsigned char* block, std::size_t bytes) {
  const std::size_t part = poison_part(bytes);
  HEAPWOOD_ROLLED
  for (std::size_t i = 0; i < part; ++i) block[i] = block[bytes - part + i] = poison_byte;
}
// The offset of the first wrong byte of a freed block and its guards; their end if none is wrong.
HEAPWOOD_FN inline std::int64_t damage_after_free(const unsigned char* block, std::size_t bytes) {
  const std::int64_t before = damage_before(block);
  if (before != 0) return before;
  const std::size_t part = poison_part(bytes), last = bytes - part;
  std::size_t damaged = first_other(block, part, poison_byte);
  if (damaged == part) damaged = last + first_other(block + last, part, poison_byte);
  if (damaged == bytes) damaged = damage_after(block, bytes);
  return static_cast<std::int64_t>(damaged);
}

struct alignas(alloc::granule) CheckHead {
  std::uint64_t bytes;
  std::uint64_t distance;  // bytes from the start of the allocator's block to the user's
  Caller allocated;
  std::uint32_t is_aligned;
  std::uint32_t checksum;                           // of all earlier members
  alignas(alloc::granule) std::uint64_t canary[2];  // guard bytes

  // The checksum of the head of the block at `block`. It depends on the address, so a copied head
  // is not intact. Each step is invertible, so a change of one word changes the 64-bit sum.
  HEAPWOOD_FN std::uint32_t sum(std::uint64_t block) const {
    constexpr std::uint64_t factor = 0x9e3779b97f4a7c15u;  // an odd number
    std::uint64_t sum = (block ^ is_aligned) * factor;
    const void* const words = __builtin_assume_aligned(this, alloc::granule);
    HEAPWOOD_ROLLED
    for (std::size_t i = 0; i < offsetof(CheckHead, is_aligned); i += sizeof(std::uint64_t)) {
      std::uint64_t word;
      std::memcpy(&word, static_cast<const std::byte*>(words) + i, sizeof(word));
      sum = (sum ^ (sum >> 32) ^ word) * factor;
    }
    return static_cast<std::uint32_t>(sum >> 32);
  }
};
static_assert(sizeof(CheckHead) == 128, "a message says so");
static_assert(offsetof(CheckHead, is_aligned) % sizeof(std::uint64_t) == 0);
static_assert(offsetof(CheckHead, checksum) + sizeof(std::uint32_t) == offsetof(CheckHead, canary),
              "the checksum covers every byte before it");

// The sizes of a block, read from an intact head.
struct BlockSizes {
  std::size_t bytes = 0, distance = 0;
};

// The tables of a checked heap, in device memory.
struct CheckTables {
  static constexpr std::uint32_t max_records = 64;

  std::byte* pool = nullptr;
  std::size_t pool_bytes = 0;
  std::uint32_t* in_use = nullptr;  // bitmaps: one bit per granule of the pool
  std::uint32_t* freed = nullptr;
  std::uint64_t* ring = nullptr;  // addresses of freed blocks; 0 = none
  std::uint32_t ring_mask = 0;
  std::uint64_t* ring_next = nullptr;
  std::uint64_t* record_count = nullptr;  // number of errors, including those that were not kept
  std::uint64_t* bytes_in_use = nullptr;  // written by CountInUse
  CheckRecord* records = nullptr;

  // The number of words of a bitmap. Pools are multiples of 256 bytes: half of the last may be
  // unused.
  HEAPWOOD_INLINE std::size_t words() const { return (pool_bytes / alloc::granule + 31) / 32; }
  // The bitmap's word with the bit of the granule at `address`, which must be in the pool.
  HEAPWOOD_INLINE simt::atomic_ref<std::uint32_t> word(std::uint32_t* map,
                                                       std::uint64_t address) const {
    return simt::atomic_ref<std::uint32_t>(map[granule_of(address) / 32]);
  }
  static HEAPWOOD_INLINE std::uint32_t bit_of(std::size_t granule) { return 1u << (granule % 32); }
  HEAPWOOD_INLINE std::size_t granule_of(std::uint64_t address) const {
    return offset_of(address) / alloc::granule;
  }
  HEAPWOOD_INLINE std::uint64_t address_of(std::size_t granule) const {
    return reinterpret_cast<std::uint64_t>(pool) + granule * alloc::granule;
  }
  // The offset of an address in the pool.
  HEAPWOOD_INLINE std::size_t offset_of(std::uint64_t address) const {
    return address - reinterpret_cast<std::uint64_t>(pool);
  }

  // Reads the head of the block at `block`, an address from a bitmap or the ring. Returns false if
  // the head was overwritten. The sizes are read once and compared with the pool, so they stay
  // inside it even if a thread writes to the head at the same time.
  HEAPWOOD_INLINE bool read_head(const CheckHead& head, std::uint64_t block,
                                 BlockSizes& sizes) const {
    sizes = {head.bytes, head.distance};
    const std::size_t before = offset_of(block), after = pool_bytes - before;
    return sizes.bytes < after && sizes.bytes + guard_bytes(sizes.bytes) <= after &&
           sizes.distance <= before && head.checksum == head.sum(block);
  }
};

}  // namespace heapwood::detail
