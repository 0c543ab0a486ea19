// SPDX-License-Identifier: MIT
// basic_checked_handle<A>: a checked heap as kernels see it, with the functions of a
// basic_heap_handle. An error is recorded and the kernel continues; a free that is an error frees
// nothing.
//
// A block lies between a head, whose last 16 bytes are a canary, and a guard of 16 to 31 bytes.
// Two bitmaps, with one bit per 16 bytes of the pool, say where blocks in use and freed blocks
// start. A freed block is filled with poison and stays in a ring, which is checked when the block
// leaves it. The ring is emptied when the heap is full.
//
// A head is used only if its 32-bit checksum is right. The memory of a block whose head was
// overwritten is not used again until reset(). Writes anywhere in the blocks of the pool therefore
// do not crash a check, a free or a list of leaks. Not protected: what the allocator itself keeps
// in the pool (with Heapwood, tables before the first block), and the bitmaps, the ring and
// the records, which are in memory of their own.
#pragma once

#include "simt/cxx20.hpp"  // first

#include <cstddef>
#include <cstdint>

#include "heapwood/check_head.hpp"
#include "heapwood/heap_handle.hpp"

namespace heapwood {

inline namespace HEAPWOOD_TARGET {

template <class A>
class basic_checked_handle : public handle_operations<basic_checked_handle<A>> {
  using Base = handle_operations<basic_checked_handle<A>>;
  using Head = detail::CheckHead;
  using Sizes = detail::BlockSizes;

 public:
  using allocator_type = A;

  // A handle of no heap, which can be assigned to.
  basic_checked_handle() = default;
  basic_checked_handle(const basic_heap_handle<A>& base, const detail::CheckTables& tables,
                       std::uint32_t kernel)
      : heap_(base), tables_(tables), kernel_(kernel) {}

  HEAPWOOD_INLINE void* allocate(std::size_t bytes) const {
    return allocate(bytes, alloc::granule, 0);
  }
  HEAPWOOD_INLINE void deallocate(void* block) const { deallocate(block, 0); }

  // A copy of the handle whose calls are reported with this place: h.at(HEAPWOOD_HERE).make<T>().
  HEAPWOOD_INLINE basic_checked_handle at(const call_site& where) const {
    basic_checked_handle copy = *this;
    copy.where_ = where;
    return copy;
  }

  HEAPWOOD_INLINE void* aligned_alloc(std::size_t alignment, std::size_t bytes) const {
    return allocate(bytes, alignment < alloc::granule ? alloc::granule : alignment, 1);
  }
  HEAPWOOD_INLINE void aligned_free(void* block) const { deallocate(block, 1); }

  HEAPWOOD_INLINE void* realloc(void* block, std::size_t old_bytes, std::size_t new_bytes) const {
    Sizes sizes;
    if (!is_in_use(block) || !read_head(block, sizes)) {
      // The old block is not valid: free() records that error.
      return Base::realloc(block, readable_bytes(block, old_bytes), new_bytes);
    }
    if (sizes.bytes != old_bytes)
      record(check_kind::wrong_size, block, head_of(block), 0, old_bytes);
    return Base::realloc(block, sizes.bytes, new_bytes);
  }
  // realloc without the old size, which the header of a checked block has.
  HEAPWOOD_INLINE void* realloc(void* block, std::size_t new_bytes) const {
    Sizes sizes;
    if (is_in_use(block) && !read_head(block, sizes))
      sizes.bytes = readable_bytes(block, new_bytes);
    return Base::realloc(block, sizes.bytes, new_bytes);
  }

  HEAPWOOD_INLINE bool owns(const void* address) const { return heap_.owns(address); }
  // Smaller than in an ordinary heap of this size, by the bytes that checking adds to a block.
  HEAPWOOD_INLINE std::size_t max_request() const {
    const std::size_t max = heap_.max_request();
    return max > overhead ? (max - overhead) / alloc::granule * alloc::granule : 0;
  }
  // The requested size of a block; 0 if no block in use starts there or its head was overwritten.
  HEAPWOOD_INLINE std::size_t usable_size(const void* block) const {
    Sizes sizes;
    return is_in_use(block) && read_head(block, sizes) ? sizes.bytes : 0;
  }

  // Checks a block in use, which starts at `block`.
  HEAPWOOD_FN void check_in_use(void* block) const {
    Sizes sizes;
    if (read_head_or_record(block, sizes)) check_guards(block, sizes.bytes);
  }
  // Checks a freed block that is kept back from reuse, in the ring of such blocks.
  HEAPWOOD_FN void check_freed(void* block) const {
    Sizes sizes;
    if (read_head_or_record(block, sizes)) check_poison(block, sizes.bytes);
  }

  HEAPWOOD_INLINE const detail::CheckTables& tables() const { return tables_; }

 private:
  static constexpr std::size_t overhead = sizeof(Head) + alloc::granule;

  static HEAPWOOD_INLINE Head* head_of(void* block) { return static_cast<Head*>(block) - 1; }
  static HEAPWOOD_INLINE const Head* head_of(const void* block) {
    return static_cast<const Head*>(block) - 1;
  }
  static HEAPWOOD_INLINE std::uint64_t number(const void* address) {
    return reinterpret_cast<std::uint64_t>(address);
  }
  // Whether a freed block is kept in the ring.
  HEAPWOOD_INLINE bool is_kept(std::size_t bytes) const { return bytes <= tables_.pool_bytes / 64; }

  HEAPWOOD_INLINE detail::Caller caller() const {
    const simt::ThisThread thread;
    return {thread.block_index(), thread.thread_index(), kernel_, where_};
  }
  HEAPWOOD_INLINE bool is_in_use(const void* block) const {
    return owns(block) && number(block) % alloc::granule == 0 &&
           // relaxed: the caller got the address from the thread that allocated the block
           (tables_.word(tables_.in_use, number(block)).load(simt::relaxed) &
            detail::CheckTables::bit_of(tables_.granule_of(number(block)))) != 0;
  }

  HEAPWOOD_INLINE bool read_head(const void* block, Sizes& sizes) const {
    return tables_.read_head(*head_of(block), number(block), sizes);
  }
  HEAPWOOD_INLINE bool read_head_or_record(const void* block, Sizes& sizes) const {
    const bool is_intact = read_head(block, sizes);
    if (!is_intact) record(check_kind::overwritten_head, block, nullptr);
    return is_intact;
  }
  // `bytes`, or fewer if they would extend beyond the pool.
  HEAPWOOD_INLINE std::size_t readable_bytes(const void* block, std::size_t bytes) const {
    if (!owns(block)) return bytes;
    const std::size_t rest = tables_.pool_bytes - tables_.offset_of(number(block));
    return bytes < rest ? bytes : rest;
  }

  HEAPWOOD_FN void* allocate(std::size_t bytes, std::size_t alignment,
                             std::uint32_t is_aligned) const {
    if constexpr (simt::this_thread_runs) {
      const std::size_t max = heap_.max_request();
      // Alignment needs no slack up to a granule, to which the allocator's blocks are aligned.
      const std::size_t slack = alignment > alloc::granule ? alignment : 0;
      // Larger requests are refused before a sum could overflow.
      const bool is_in_range = bytes <= max && slack <= max;
      const std::size_t all = is_in_range ? alloc::padded(bytes) + overhead + slack : 0;
      const bool may_fit = is_in_range && all <= max;
      std::byte* origin = nullptr;
      HEAPWOOD_ROLLED
      for (unsigned turn = 0; may_fit && origin == nullptr && turn < 2; ++turn) {
        if (turn == 1) empty_ring();
        origin = static_cast<std::byte*>(heap_.try_allocate(all));
      }
      if (origin == nullptr) {
        heap_.count_refusal(bytes, may_fit);
        return nullptr;
      }
      const std::uint64_t address =
          (number(origin) + sizeof(Head) + alignment - 1) / alignment * alignment;
      auto* const user = reinterpret_cast<unsigned char*>(address);
      Head* const head = head_of(static_cast<void*>(user));
      head->bytes = bytes;
      head->distance = address - number(origin);
      head->allocated = caller();
      head->is_aligned = is_aligned;
      head->checksum = head->sum(address);
      detail::write_guards(user, bytes);
      const std::uint32_t bit = detail::CheckTables::bit_of(tables_.granule_of(address));
      // relaxed: the block is not in use yet, so no other thread needs this bit.
      tables_.word(tables_.freed, address).fetch_and(~bit, simt::relaxed);
      // release: publishes the head to the host's checks and to threads that free the block
      // wrongly.
      tables_.word(tables_.in_use, address).fetch_or(bit, simt::release);
      return user;
    } else {
      detail::called_on_host("malloc");
    }
  }

  HEAPWOOD_FN void deallocate(void* block, std::uint32_t is_aligned) const {
    if constexpr (simt::this_thread_runs) {
      if (block == nullptr) return;
      // Reject addresses that cannot be a block, and frees of the wrong kind.
      if (!owns(block)) return record(check_kind::foreign_pointer, block, nullptr);
      if (number(block) % alloc::granule != 0) return record(check_kind::no_block, block, nullptr);
      const std::uint32_t bit = detail::CheckTables::bit_of(tables_.granule_of(number(block)));
      const auto in_use = tables_.word(tables_.in_use, number(block));
      const auto freed = tables_.word(tables_.freed, number(block));
      Head* const head = head_of(block);
      Sizes sizes;
      if (is_in_use(block)) {
        if (head->is_aligned != is_aligned && read_head(block, sizes))
          return record(check_kind::wrong_free, block, head);
        // relaxed: the next operation publishes this bit. It is set first, so that of two threads
        // that free a block at the same time the later one finds it.
        freed.fetch_or(bit, simt::relaxed);
      }
      // acq_rel: only one thread frees the block; it sees the head as the allocating thread wrote
      // it.
      if ((in_use.fetch_and(~bit, simt::acq_rel) & bit) == 0) {
        const bool twice = (freed.load(simt::relaxed) & bit) != 0;
        return record(twice ? check_kind::double_free : check_kind::no_block, block, nullptr);
      }
      if (!read_head_or_record(block, sizes)) return;
      check_guards(block, sizes.bytes);
      // Poison the block and write its guards again: damage found later was done after the free.
      auto* const user = static_cast<unsigned char*>(block);
      detail::write_guards(user, sizes.bytes);
      detail::fill_poison(user, sizes.bytes);
      // Keep it in the ring, and free the block that it replaces there.
      if (!is_kept(sizes.bytes)) return give_back(block, sizes);
      using Word = simt::atomic_ref<std::uint64_t>;
      // relaxed: an index in the ring orders nothing.
      const std::uint64_t index = Word(*tables_.ring_next).fetch_add(1, simt::relaxed);
      // acq_rel: hands the block over to the thread that takes it out of the ring.
      const std::uint64_t old =
          Word(tables_.ring[index & tables_.ring_mask]).exchange(number(block), simt::acq_rel);
      if (old != 0) leave_ring(reinterpret_cast<void*>(old));
    } else {
      detail::called_on_host("free");
    }
  }

  HEAPWOOD_FN void check_guards(void* block, std::size_t bytes) const {
    const auto* const user = static_cast<const unsigned char*>(block);
    const std::int64_t before = detail::damage_before(user);
    if (before != 0) record(check_kind::underrun, block, head_of(block), before);
    const std::size_t after = detail::damage_after(user, bytes);
    if (after != bytes + detail::guard_bytes(bytes))
      record(check_kind::overrun, block, head_of(block), static_cast<std::int64_t>(after));
  }
  HEAPWOOD_FN void check_poison(void* block, std::size_t bytes) const {
    const std::int64_t damaged =
        detail::damage_after_free(static_cast<const unsigned char*>(block), bytes);
    if (damaged != static_cast<std::int64_t>(bytes + detail::guard_bytes(bytes)))
      record(check_kind::write_after_free, block, head_of(block), damaged);
  }
  HEAPWOOD_FN void leave_ring(void* block) const {
    Sizes sizes;
    if (!read_head_or_record(block, sizes)) return;
    check_poison(block, sizes.bytes);
    give_back(block, sizes);
  }
  HEAPWOOD_FN void give_back(void* block, const Sizes& sizes) const {
    heap_.deallocate(static_cast<std::byte*>(block) - sizes.distance);
  }
  HEAPWOOD_FN void empty_ring() const {
    HEAPWOOD_ROLLED
    for (std::uint32_t i = 0; i <= tables_.ring_mask; ++i) {
      simt::atomic_ref<std::uint64_t> word(tables_.ring[i]);
      // relaxed: a hint. acq_rel: takes the block over from the thread that put it into the ring.
      if (word.load(simt::relaxed) == 0) continue;
      const std::uint64_t old = word.exchange(0, simt::acq_rel);
      if (old != 0) leave_ring(reinterpret_cast<void*>(old));
    }
  }

  HEAPWOOD_FN void record(check_kind kind, const void* block, const Head* head,
                          std::int64_t offset = 0, std::uint64_t given = 0) const {
    // relaxed: the host reads the records when no kernel runs.
    const std::uint64_t index =
        simt::atomic_ref<std::uint64_t>(*tables_.record_count).fetch_add(1, simt::relaxed);
    if (index >= detail::CheckTables::max_records) return;
    detail::CheckRecord& to = tables_.records[index];
    to.kind = kind;
    to.caller = caller();
    if (head != nullptr) {
      to.allocated = head->allocated;
      to.bytes = head->bytes;
    }
    to.address = number(block);
    to.offset = offset;
    to.given = given;
  }

  basic_heap_handle<A> heap_;
  detail::CheckTables tables_;
  std::uint32_t kernel_ = 0;
  call_site where_;
};

}  // namespace HEAPWOOD_TARGET
}  // namespace heapwood
