// SPDX-License-Identifier: MIT
// The data layout of UAlloc (ualloc.hpp; Gelado and Garland 2019, figure 3): lists, bins and
// chunks, and the bytes of each block.
//   bin    a page: header (128 bytes), blocks. Blocks that do not fit are in the bin's tail.
//   chunk  (page size / 128) pages; page 0 is header, tail of page 1, tail of page 2, ...
// The header of a chunk is that of a bin whose blocks are the chunk's other pages. Blocks of more
// than 128 bytes do not use the tail.
#pragma once

#include <cstdint>

#include "alloc/allocator.hpp"
#include "alloc/bulk/rcu.hpp"

namespace heapwood::alloc {

class UAllocLayout {
 public:
  // Each arena has one list per class of 16, 32, ... bytes, and a last list that holds chunks.
  static constexpr std::uint32_t lists_per_arena = 8;
  static constexpr std::uint32_t chunk_class = lists_per_arena - 1;
  static constexpr std::size_t lists_at = 512;  // offset of the lists, after two handles

  static constexpr std::size_t head_bytes(std::uint32_t arenas) {
    return lists_at + std::size_t{arenas} * lists_per_arena * sizeof(List);
  }

  HEAPWOOD_INLINE std::uint32_t page_bytes() const { return 1u << page_shift_; }
  HEAPWOOD_INLINE std::size_t max_bytes() const { return page_bytes() / 4; }
  HEAPWOOD_INLINE std::uint32_t chunk_pages() const { return page_bytes() / header_bytes; }
  HEAPWOOD_INLINE std::size_t chunk_bytes() const {
    return std::size_t{chunk_pages()} << page_shift_;
  }
  HEAPWOOD_INLINE bool is_page(const void* block) const {
    return (offset_of(block) & (page_bytes() - 1)) == 0;
  }

  // Visits the contents of a page that TBuddy's walk() reports as marked: the chunk at `offset` in
  // the pool, copied to `copy`.
  template <class Visitor>
  void walk_chunk(const std::byte* copy, std::size_t offset, Visitor visit) const;

 protected:
  static constexpr std::uint32_t header_bytes = 128, bitmap_words = 4, min_shift = 4;

  // The header of a bin. ualloc.hpp states which members are atomic and who owns the others.
  struct Bin {
    std::uint64_t used[bitmap_words];  // bit i: block i is in use or does not exist
    std::uint32_t state;               // {dead, closed, queued, free blocks:16}
    std::uint32_t list;                // number of the list that the bin belongs to
    std::uint32_t next;                // page + 1 of the next bin in the list
    // Page + 1 of the next posted bin, later of the next bin that waits for its readers.
    std::uint32_t link;
    std::uint32_t previous, listed;  // owned by the worker of the list
  };
  static_assert(sizeof(Bin) <= header_bytes);

  struct alignas(128) List {
    std::uint64_t units;      // bulk semaphore
    std::uint64_t unused[3];  // padding: the words above and below are in sectors of their own
    RcuState readers;
    std::uint32_t first, last;  // page + 1 of the first and the last bin
    std::uint32_t posted;       // bins to add or remove, as a Delegation (rcu.hpp)
    std::uint32_t spare;        // approximate number of bins without a block in use
    // Owned by the worker of the list: dead unlinked bins, and those whose readers it waits for.
    std::uint32_t unlinked, leaving;
    std::uint64_t period;
  };

  static constexpr std::uint32_t queued = 1u << 16;  // the bin is posted, or about to be
  static constexpr std::uint32_t closed = 1u << 17;  // blocks of the bin are not allocated
  static constexpr std::uint32_t dead = 1u << 18;    // permanently closed
  static HEAPWOOD_INLINE std::uint32_t free_of(std::uint32_t state) { return state & 0xffffu; }

  HEAPWOOD_INLINE std::uint32_t class_of(std::size_t bytes) const {
    return bytes <= 16 ? 0 : simt::highest_bit(bytes - 1) + 1 - min_shift;
  }
  // Blocks per bin of class k.
  HEAPWOOD_INLINE std::uint32_t blocks(std::uint32_t k) const {
    if (k == chunk_class) return chunk_pages() - 1;
    return (page_bytes() - (uses_tails(k) ? 0 : header_bytes)) >> (min_shift + k);
  }
  static HEAPWOOD_INLINE bool uses_tails(std::uint32_t k) {
    return (1u << (min_shift + k)) <= header_bytes;
  }
  // The bits of word w that stand for no block.
  HEAPWOOD_INLINE std::uint64_t absent_blocks(std::uint32_t k, std::uint32_t w) const {
    const std::uint32_t n = blocks(k);
    if (n <= w * 64) return ~std::uint64_t{0};
    return n - w * 64 >= 64 ? 0 : ~std::uint64_t{0} << (n - w * 64);
  }

  HEAPWOOD_INLINE std::size_t offset_of(const void* block) const {
    return static_cast<std::size_t>(static_cast<const std::byte*>(block) - memory_);
  }
  HEAPWOOD_INLINE Bin* bin_at(std::uint32_t page) const {
    return reinterpret_cast<Bin*>(memory_ + (std::size_t{page} << page_shift_));
  }
  HEAPWOOD_INLINE std::uint32_t chunk_of(std::uint32_t page) const {
    return page & ~(chunk_pages() - 1);
  }
  HEAPWOOD_INLINE std::uint32_t index_in_chunk(std::uint32_t page) const {
    return page & (chunk_pages() - 1);
  }

  // The address of byte `byte` of a bin's blocks, counted as if the tail followed the page.
  HEAPWOOD_INLINE std::byte* address(std::uint32_t page, std::uint32_t byte) const {
    if (byte < page_bytes() - header_bytes)
      return memory_ + (std::size_t{page} << page_shift_) + header_bytes + byte;
    return memory_ + (std::size_t{chunk_of(page)} << page_shift_) +
           header_bytes * index_in_chunk(page) + (byte - (page_bytes() - header_bytes));
  }
  // The inverse of address().
  struct Location {
    std::uint32_t page, byte;
  };
  HEAPWOOD_INLINE Location locate(const void* block) const {
    const std::size_t offset = offset_of(block);
    const auto page = static_cast<std::uint32_t>(offset >> page_shift_);
    const auto in_page = static_cast<std::uint32_t>(offset & (page_bytes() - 1));
    if (index_in_chunk(page) != 0) return {page, in_page - header_bytes};
    return {page + in_page / header_bytes, page_bytes() - header_bytes + in_page % header_bytes};
  }

  HEAPWOOD_INLINE List* list_at(std::uint32_t number) const {
    return reinterpret_cast<List*>(head_ + lists_at) + number;
  }
  HEAPWOOD_INLINE std::uint32_t number_of(const List* list) const {
    return static_cast<std::uint32_t>(list - list_at(0));
  }

  std::byte* head_ = nullptr;
  std::byte* memory_ = nullptr;  // address of page 0
  std::uint32_t page_shift_ = 12, arenas_ = 1;
};

template <class Visitor>
void UAllocLayout::walk_chunk(const std::byte* copy, std::size_t offset, Visitor visit) const {
  using State = Region::State;
  const auto bin = [&](std::uint32_t j) {
    return reinterpret_cast<const Bin*>(copy + (std::size_t{j} << page_shift_));
  };
  const auto is_used = [](const Bin* b, std::uint32_t i) {
    return (b->used[i / 64] >> i % 64 & 1) != 0;
  };
  const auto is_bin = [&](std::uint32_t j) { return is_used(bin(0), j - 1); };
  const auto used_in = [&](const Bin* b) {
    std::uint32_t n = 0;
    for (std::uint32_t i = 0; i < blocks(b->list % lists_per_arena); ++i) n += is_used(b, i);
    return n;
  };
  // The counts must agree with the bitmaps.
  std::uint32_t used = 0;
  for (std::uint32_t j = 0; j < chunk_pages(); ++j) {
    if (j > 0 && !is_bin(j)) continue;
    const std::uint32_t found = used_in(bin(j)),
                        counted = blocks(bin(j)->list % lists_per_arena) - free_of(bin(j)->state);
    if (found != counted) {
      throw Error(Exit::failed, "ualloc: page " + std::to_string(j) + " of the chunk at " +
                                    std::to_string(offset) + " counts " + std::to_string(counted) +
                                    " blocks in use, its bitmap has " + std::to_string(found));
    }
    used += j > 0 ? found : 0;
  }
  // An empty chunk is one free region: a request that needs it makes UAlloc release its bins.
  if (used == 0) return visit(Region{offset, chunk_bytes(), State::free});

  const auto emit = [&](std::size_t bytes, State state) {
    if (bytes > 0) visit(Region{offset, bytes, state});
    offset += bytes;
  };
  // Reports the blocks of bin j that lie in `bytes` bytes from byte `byte` of its blocks.
  const auto emit_blocks = [&](std::uint32_t j, std::uint32_t byte, std::uint32_t bytes) {
    const std::uint32_t k = is_bin(j) ? bin(j)->list % lists_per_arena : class_of(max_bytes());
    const std::uint32_t shift = min_shift + k;
    std::uint32_t left = bytes;
    for (std::uint32_t i = byte >> shift; i < blocks(k) && left >= 1u << shift;
         ++i, left -= 1u << shift) {
      emit(std::size_t{1} << shift, is_bin(j) && is_used(bin(j), i) ? State::used : State::free);
    }
    emit(left, State::metadata);
  };
  // Reports the first page, with the tails of all bins, then the bins.
  emit(header_bytes, State::metadata);
  for (std::uint32_t j = 1; j < chunk_pages(); ++j)
    emit_blocks(j, page_bytes() - header_bytes, header_bytes);
  for (std::uint32_t j = 1; j < chunk_pages(); ++j) {
    if (is_bin(j) && (bin(j)->state & dead) != 0) {
      emit(page_bytes(), State::held);
    } else {
      emit(header_bytes, State::metadata);
      emit_blocks(j, 0, page_bytes() - header_bytes);
    }
  }
}

}  // namespace heapwood::alloc
