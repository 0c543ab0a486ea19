// SPDX-License-Identifier: MIT
// GrowingMemory<A>: the memory of a heap that grows (heap.hpp). Addresses for the whole heap are
// reserved at once, so blocks and handles stay valid while memory is mapped behind them.
#pragma once

#include "simt/config.hpp"  // first

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "alloc/allocators/heapwood.hpp"
#include "simt/address_range.hpp"
#include "simt/math.hpp"
#include "simt/stream_device.hpp"

namespace heapwood {

// The sizes of a heap that grows, in bytes: memory for blocks at the start, and all reserved
// addresses.
struct heap_size {
  std::size_t initial = 0, max = 0;
};

namespace detail {

template <class A, class = void>
inline constexpr bool can_grow = false;
template <class A>
inline constexpr bool can_grow<A, std::void_t<decltype(A::growth(alloc::Pool{}, 0))>> = true;

template <class A>
class GrowingMemory {
  static_assert(can_grow<A>, "only heaps with the default allocator can grow");

 public:
  // Maps the initial memory. The pool begins after `state_bytes` bytes.
  GrowingMemory(const simt::StreamDevice& device, heap_size size, std::size_t state_bytes)
      : chunk_(std::clamp(simt::bit_floor(size.max / 1024), smallest_chunk, largest_chunk)),
        range_(device.index, whole_chunks(size, state_bytes)),
        is_mapped_(range_.bytes() / chunk_),
        pool_{range_.base() + state_bytes, range_.bytes() - state_bytes},
        initial_(std::max<std::size_t>(size.initial, 1)),
        growth_(A::growth(pool_, initial_)) {
    if (!map_for(growth_.superblocks()))
      throw Error(Exit::failed, "heapwood: cannot map " + std::to_string(initial_) + " bytes");
  }

  alloc::Pool pool() const { return pool_; }
  // The value of AllocatorOptions::initial_bytes.
  std::size_t initial_bytes() const { return initial_; }
  std::size_t max_request() const { return growth_.max_bytes(); }
  const alloc::arena::SharedPages& shared() const { return growth_.shared(); }
  std::size_t bytes_without_memory() const {
    const auto extent = growth_.extent(growth_.superblocks());
    return extent.blocks_begin - extent.tables_end + pool_.bytes - extent.blocks_end;
  }

  // To be called when the pool has been laid out again: adds the memory that is mapped beyond the
  // initial one.
  void restore(const simt::StreamDevice& device) { growth_.restore(device); }
  // Makes room for blocks of `bytes` bytes in all; adds at least a quarter of the present memory if
  // any is missing. Returns false if that exceeds the largest size, up to which memory has then
  // been added, or the device's memory, of which none has been added then.
  bool make_room(std::size_t bytes, const simt::StreamDevice& device) {
    const std::size_t free = growth_.free_bytes(device), present = growth_.bytes();
    const std::size_t wanted_free = bytes + std::min(bytes, growth_.bytes_in_slots());
    const std::size_t missing = free < wanted_free ? wanted_free - free : 0;
    const bool fits = bytes <= wanted_free && missing <= max_request() - present;
    const std::size_t least = fits ? present + missing : max_request();
    for (const std::size_t wanted :
         {missing == 0 ? present : std::max(least, present + present / 4), least}) {
      const std::uint32_t superblocks = growth_.superblocks_for(wanted);
      if (!map_for(superblocks)) continue;
      growth_.add_up_to(superblocks, device);
      device.synchronize();  // the next kernel may be in another stream
      return fits;
    }
    unmap_unused();
    return false;
  }
  // Returns the memory after the last block in use, except the initial memory. The tables of marks,
  // 1/128 of the blocks, keep theirs.
  void shrink(const simt::StreamDevice& device) {
    growth_.remove_unused(device);
    device.synchronize_device();
    unmap_unused();
  }

 private:
  static constexpr std::size_t smallest_chunk = std::size_t{2} << 20,
                               largest_chunk = std::size_t{64} << 20;

  // Unmaps the memory behind the last superblock.
  void unmap_unused() {
    const auto extent = growth_.extent(growth_.superblocks());
    for (std::size_t i = (extent.blocks_end + offset() + chunk_ - 1) / chunk_;
         i < is_mapped_.size(); ++i) {
      if (!is_mapped_[i]) continue;
      range_.unmap(i * chunk_, chunk_);
      is_mapped_[i] = false;
    }
  }

  std::size_t whole_chunks(heap_size size, std::size_t state_bytes) const {
    const std::size_t sum = size.max + state_bytes + chunk_ - 1;
    if (size.initial > size.max) {
      throw Error(Exit::usage, "heapwood: a heap of " + std::to_string(size.initial) +
                                   " bytes at first, but of at most " + std::to_string(size.max));
    }
    if (sum < size.max) throw Error(Exit::usage, "heapwood: a heap's largest size is too large");
    return sum / chunk_ * chunk_;
  }
  std::size_t offset() const { return static_cast<std::size_t>(pool_.base - range_.base()); }

  // Maps the memory that the first superblocks need. Returns false if the device's memory is
  // exhausted.
  bool map_for(std::uint32_t superblocks) {
    const auto extent = growth_.extent(superblocks);
    return map(0, extent.tables_end) && map(extent.blocks_begin, extent.blocks_end);
  }
  bool map(std::size_t begin, std::size_t end) {
    for (std::size_t i = begin == 0 ? 0 : (begin + offset()) / chunk_; i * chunk_ < end + offset();
         ++i) {
      if (is_mapped_[i]) continue;
      if (!range_.map(i * chunk_, chunk_)) return false;
      is_mapped_[i] = true;
    }
    return true;
  }

  std::size_t chunk_;
  simt::AddressRange range_;
  std::vector<bool> is_mapped_;  // for each chunk
  alloc::Pool pool_;
  std::size_t initial_;
  alloc::arena::Growth growth_;
};

}  // namespace detail
}  // namespace heapwood
