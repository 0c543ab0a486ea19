// SPDX-License-Identifier: MIT
// What the host asks of a checked heap while no kernel uses it: loops over the bitmaps and the
// ring, and blocks by address.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "heapwood/check_head.hpp"
#include "simt/math.hpp"
#include "simt/stream_device.hpp"

namespace heapwood::detail {

// Calls `visit` with the addresses of the blocks whose bits are set in word i of a bitmap.
template <class Visit>
SIMT_INLINE void for_blocks(const CheckTables& tables, std::uint32_t bits, std::size_t i,
                            Visit visit) {
  SIMT_ROLLED
  for (; bits != 0; bits &= bits - 1) visit(tables.address_of(i * 32 + simt::lowest_bit(bits)));
}

template <class Handle>
struct CheckInUse {
  Handle handle;
  SIMT_FN void operator()(std::size_t i) const {
    const CheckTables& tables = handle.tables();
    for_blocks(tables, tables.in_use[i], i,
               [&](std::uint64_t block) { handle.check_in_use(reinterpret_cast<void*>(block)); });
  }
};
template <class Handle>
struct CheckFreed {
  Handle handle;
  SIMT_FN void operator()(std::size_t i) const {
    const std::uint64_t block = handle.tables().ring[i];
    if (block != 0) handle.check_freed(reinterpret_cast<void*>(block));
  }
};
// Without blocks whose head was overwritten.
struct CountInUse {
  CheckTables tables;
  SIMT_FN void operator()(std::size_t i) const {
    std::uint64_t bytes = 0;
    for_blocks(tables, tables.in_use[i], i, [&](std::uint64_t block) {
      BlockSizes sizes;
      if (tables.read_head(reinterpret_cast<const CheckHead*>(block)[-1], block, sizes))
        bytes += sizes.bytes;
    });
    // relaxed: a sum, read after the loop.
    if (bytes != 0)
      simt::atomic_ref<std::uint64_t>(*tables.bytes_in_use).fetch_add(bytes, simt::relaxed);
  }
};

inline std::vector<std::uint32_t> download_in_use(const simt::StreamDevice& device,
                                                  const CheckTables& tables) {
  std::vector<std::uint32_t> words(tables.words());
  device.download(words.data(), tables.in_use, words.size() * sizeof(words[0]));
  return words;
}

// Copies the head of the block at `block` to the host. False if it was overwritten.
inline bool download_head(const simt::StreamDevice& device, const CheckTables& tables,
                          std::uint64_t block, CheckHead& head) {
  device.download(&head, reinterpret_cast<const CheckHead*>(block) - 1, sizeof(head));
  BlockSizes sizes;
  return tables.read_head(head, block, sizes);
}

// Finds the block before another, which may be the one that was written past its end: in use,
// or freed and still in the ring.
class Neighbours {
 public:
  Neighbours(const simt::StreamDevice& device, const CheckTables& tables)
      : device_(device),
        tables_(tables),
        in_use_(download_in_use(device, tables)),
        ring_(std::size_t{tables.ring_mask} + 1) {
    device.download(ring_.data(), tables.ring, ring_.size() * sizeof(ring_[0]));
  }

  Neighbour block_before(std::uint64_t block) const {
    const std::uint64_t at = start_before(block);
    CheckHead head;
    if (at == 0 || !download_head(device_, tables_, at, head)) return {};
    return {at, head.bytes, head.allocated};
  }

 private:
  // The address of the last block that starts before `block`; 0 if there is none.
  std::uint64_t start_before(std::uint64_t block) const {
    std::uint64_t last = 0;
    for (const std::uint64_t freed : ring_) {
      if (freed < block) last = std::max(last, freed);
    }
    for (std::size_t i = tables_.granule_of(block); i-- > 0;) {
      const std::uint64_t at = tables_.address_of(i);
      if (at <= last) break;
      if ((in_use_[i / 32] & CheckTables::bit_of(i)) != 0) return at;
    }
    return last;
  }

  const simt::StreamDevice& device_;
  const CheckTables& tables_;
  std::vector<std::uint32_t> in_use_;
  std::vector<std::uint64_t> ring_;
};

}  // namespace heapwood::detail
