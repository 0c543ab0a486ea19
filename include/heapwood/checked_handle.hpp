// SPDX-License-Identifier: MIT
// basic_checked_handle<A>: a checked heap as kernels see it, with the functions of a
// basic_heap_handle. An error is recorded and the kernel continues; a free that is an error frees
// nothing.
//
// A block lies between a head, whose last 16 bytes are a canary, and a guard of 16 to 31 bytes. Two
// bitmaps, with one bit per 16 bytes of the pool, say where blocks in use and freed blocks start.
// A freed block is filled with poison and stays in a ring, which is checked when the block leaves
// it. The ring is emptied when the heap is full.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heapwood/check_records.hpp"
#include "heapwood/heap_handle.hpp"

namespace heapwood {

namespace detail {

struct alignas(alloc::granule) CheckHead {
  std::uint64_t bytes;
  std::uint64_t distance;  // bytes from the start of the allocator's block to the user's
  Caller allocated;
  std::uint32_t is_aligned;
  std::uint32_t unused;
  alignas(alloc::granule) std::uint64_t canary[2];
};

// In device memory.
struct CheckTables {
  static constexpr std::uint32_t max_records = 64;

  std::byte* pool = nullptr;
  std::size_t pool_bytes = 0;
  std::uint32_t* in_use = nullptr;  // bitmaps: one bit per granule of the pool
  std::uint32_t* freed = nullptr;
  std::uint64_t* ring = nullptr;  // addresses of freed blocks; 0 = none
  std::uint32_t ring_mask = 0;
  std::uint64_t* ring_next = nullptr;
  std::uint32_t* record_count = nullptr;
  std::uint64_t* bytes_in_use = nullptr;  // written by CountInUse
  CheckRecord* records = nullptr;

  // Of a bitmap. A pool is a multiple of 256 bytes, so the last word may be half used.
  SIMT_INLINE std::size_t words() const { return (pool_bytes / alloc::granule + 31) / 32; }
  // The bit of the granule at `address`, which is in the pool.
  SIMT_INLINE simt::atomic_ref<std::uint32_t> word(std::uint32_t* map,
                                                   std::uint64_t address) const {
    return simt::atomic_ref<std::uint32_t>(map[granule_of(address) / 32]);
  }
  static SIMT_INLINE std::uint32_t bit_of(std::size_t granule) { return 1u << (granule % 32); }
  SIMT_INLINE std::size_t granule_of(std::uint64_t address) const {
    return (address - reinterpret_cast<std::uint64_t>(pool)) / alloc::granule;
  }
  SIMT_INLINE std::uint64_t address_of(std::size_t granule) const {
    return reinterpret_cast<std::uint64_t>(pool) + granule * alloc::granule;
  }
};

inline constexpr unsigned char guard_byte = 0xa5, poison_byte = 0xdb;
inline constexpr std::uint64_t canary_word = 0xa5a5a5a5a5a5a5a5u;
// Of a large block only the beginning and the end are poisoned.
inline constexpr std::size_t max_poison = 1024;

// Index of the first of the bytes that is not `value`; `bytes` if there is none.
SIMT_INLINE std::size_t first_other(const unsigned char* at, std::size_t bytes,
                                    unsigned char value) {
  SIMT_ROLLED
  for (std::size_t i = 0; i < bytes; ++i) {
    if (at[i] != value) return i;
  }
  return bytes;
}

}  // namespace detail

inline namespace SIMT_TARGET {

template <class A>
class basic_checked_handle : public handle_operations<basic_checked_handle<A>> {
  using Base = handle_operations<basic_checked_handle<A>>;
  using Head = detail::CheckHead;

 public:
  basic_checked_handle() = default;
  basic_checked_handle(const basic_heap_handle<A>& base, const detail::CheckTables& tables,
                       std::uint32_t kernel)
      : heap_(base), tables_(tables), kernel_(kernel) {}

  SIMT_INLINE void* malloc(std::size_t bytes) const { return allocate(bytes, alloc::granule, 0); }
  SIMT_INLINE void* malloc(std::size_t bytes, const call_site& where) const {
    return at(where).malloc(bytes);
  }
  SIMT_INLINE void free(void* block) const { deallocate(block, 0); }
  SIMT_INLINE void free(void* block, const call_site& where) const { at(where).free(block); }

  // A handle whose calls are reported with this place: h.at(HEAPWOOD_HERE).make<T>().
  SIMT_INLINE basic_checked_handle at(const call_site& where) const {
    basic_checked_handle copy = *this;
    copy.where_ = where;
    return copy;
  }

  SIMT_INLINE void* aligned_alloc(std::size_t alignment, std::size_t bytes) const {
    return allocate(bytes, alignment < alloc::granule ? alloc::granule : alignment, 1);
  }
  SIMT_INLINE void aligned_free(void* block) const { deallocate(block, 1); }

  SIMT_INLINE void* realloc(void* block, std::size_t old_bytes, std::size_t new_bytes) const {
    if (block != nullptr && is_in_use(block) && head_of(block)->bytes != old_bytes) {
      record(check_kind::wrong_size, block, head_of(block), 0, old_bytes);
      old_bytes = head_of(block)->bytes;
    }
    return Base::realloc(block, old_bytes, new_bytes);
  }
  // The size given to realloc may be left out: a checked block has a header.
  SIMT_INLINE void* realloc(void* block, std::size_t new_bytes) const {
    const bool is_block = block != nullptr && is_in_use(block);
    return Base::realloc(block, is_block ? head_of(block)->bytes : 0, new_bytes);
  }

  SIMT_INLINE bool owns(const void* address) const { return heap_.owns(address); }
  // Less than that of an ordinary heap of the same size by what a block costs.
  SIMT_INLINE std::size_t max_request() const {
    const std::size_t max = heap_.max_request();
    return max > overhead ? (max - overhead) / alloc::granule * alloc::granule : 0;
  }
  SIMT_INLINE std::size_t usable_size(const void* block) const { return head_of(block)->bytes; }

  // Checks the guards of a block in use. `block` is where a block starts.
  SIMT_FN void check_guards(void* block) const {
    const Head* const head = head_of(block);
    const auto* const user = static_cast<const unsigned char*>(block);
    const std::size_t before =
        detail::first_other(user - alloc::granule, alloc::granule, detail::guard_byte);
    if (before < alloc::granule) {
      record(check_kind::underrun, block, head,
             static_cast<std::int64_t>(before) - static_cast<std::int64_t>(alloc::granule));
    }
    const std::size_t guard = guard_bytes(head->bytes),
                      after = detail::first_other(user + head->bytes, guard, detail::guard_byte);
    if (after < guard)
      record(check_kind::overrun, block, head, static_cast<std::int64_t>(head->bytes + after));
  }
  // Checks the poison of a freed block.
  SIMT_FN void check_poison(void* block) const {
    const Head* const head = head_of(block);
    const auto* const user = static_cast<const unsigned char*>(block);
    const std::size_t part = poison_part(head->bytes);
    std::size_t at = detail::first_other(user, part, detail::poison_byte);
    if (at == part) {
      const std::size_t last = head->bytes - part;
      at = last + detail::first_other(user + last, part, detail::poison_byte);
    }
    if (at < head->bytes)
      record(check_kind::write_after_free, block, head, static_cast<std::int64_t>(at));
  }

  SIMT_INLINE const detail::CheckTables& tables() const { return tables_; }

 private:
  static constexpr std::size_t overhead = sizeof(Head) + alloc::granule;

  static SIMT_INLINE Head* head_of(void* block) { return static_cast<Head*>(block) - 1; }
  static SIMT_INLINE const Head* head_of(const void* block) {
    return static_cast<const Head*>(block) - 1;
  }
  static SIMT_INLINE std::size_t guard_bytes(std::size_t bytes) {
    return alloc::padded(bytes) - bytes + alloc::granule;
  }
  static SIMT_INLINE std::size_t poison_part(std::size_t bytes) {
    return bytes < detail::max_poison ? bytes : detail::max_poison;
  }
  static SIMT_INLINE std::uint64_t number(const void* address) {
    return reinterpret_cast<std::uint64_t>(address);
  }
  // Whether a freed block is kept in the ring.
  SIMT_INLINE bool is_kept(std::size_t bytes) const { return bytes <= tables_.pool_bytes / 64; }

  SIMT_INLINE detail::Caller caller() const {
    const simt::ThisThread thread;
    return {thread.block_index(), thread.thread_index(), kernel_, where_};
  }
  SIMT_INLINE bool is_in_use(const void* block) const {
    return owns(block) && number(block) % alloc::granule == 0 &&
           // relaxed: the caller has the address from the thread that allocated the block
           (tables_.word(tables_.in_use, number(block)).load(simt::relaxed) &
            detail::CheckTables::bit_of(tables_.granule_of(number(block)))) != 0;
  }

  SIMT_FN void* allocate(std::size_t bytes, std::size_t alignment, std::uint32_t is_aligned) const {
    if constexpr (simt::this_thread_runs) {
      const std::size_t max = heap_.max_request();
      // The allocator's blocks are aligned to the granule.
      const std::size_t slack = alignment > alloc::granule ? alignment : 0;
      // Larger ones are refused before a sum of them could wrap.
      const bool may_fit = bytes <= max && slack <= max;
      const std::size_t all = may_fit ? alloc::padded(bytes) + overhead + slack : 0;
      std::byte* origin = nullptr;
      SIMT_ROLLED
      for (unsigned turn = 0; may_fit && all <= max && origin == nullptr && turn < 2; ++turn) {
        if (turn == 1) empty_ring();
        origin = static_cast<std::byte*>(heap_.try_malloc(all));
      }
      if (origin == nullptr) {
        heap_.count_refusal(bytes);
        return nullptr;
      }
      const std::uint64_t at =
          (number(origin) + sizeof(Head) + alignment - 1) / alignment * alignment;
      auto* const user = reinterpret_cast<unsigned char*>(at);
      Head* const head = head_of(static_cast<void*>(user));
      head->bytes = bytes;
      head->distance = at - number(origin);
      head->allocated = caller();
      head->is_aligned = is_aligned;
      head->canary[0] = head->canary[1] = detail::canary_word;
      SIMT_ROLLED
      for (std::size_t i = 0; i < guard_bytes(bytes); ++i) user[bytes + i] = detail::guard_byte;
      const std::uint32_t bit = detail::CheckTables::bit_of(tables_.granule_of(at));
      // relaxed: the bit of a block that is not in use yet.
      tables_.word(tables_.freed, at).fetch_and(~bit, simt::relaxed);
      // release: publishes the head to the host's checks and to a thread that frees the block
      // although it has no right to.
      tables_.word(tables_.in_use, at).fetch_or(bit, simt::release);
      return user;
    } else {
      detail::called_on_host("malloc");
    }
  }

  SIMT_FN void deallocate(void* block, std::uint32_t is_aligned) const {
    if constexpr (simt::this_thread_runs) {
      if (block == nullptr) return;
      if (!owns(block)) return record(check_kind::foreign_pointer, block, nullptr);
      if (number(block) % alloc::granule != 0) return record(check_kind::no_block, block, nullptr);
      const std::uint32_t bit = detail::CheckTables::bit_of(tables_.granule_of(number(block)));
      const auto in_use = tables_.word(tables_.in_use, number(block));
      const auto freed = tables_.word(tables_.freed, number(block));
      Head* const head = head_of(block);
      if (is_in_use(block)) {
        if (head->is_aligned != is_aligned) return record(check_kind::wrong_free, block, head);
        // relaxed: the next operation publishes it. Before that one, so that of two threads that
        // free a block at the same time the later one finds this bit set.
        freed.fetch_or(bit, simt::relaxed);
      }
      // acq_rel: one thread frees the block; it has the head from the thread that allocated it.
      if ((in_use.fetch_and(~bit, simt::acq_rel) & bit) == 0) {
        const bool twice = (freed.load(simt::relaxed) & bit) != 0;
        return record(twice ? check_kind::double_free : check_kind::no_block, block, nullptr);
      }
      check_guards(block);
      fill_poison(block);
      if (!is_kept(head->bytes)) return give_back(block);
      using Word = simt::atomic_ref<std::uint64_t>;
      // relaxed: a place in the ring.
      const std::uint64_t place = Word(*tables_.ring_next).fetch_add(1, simt::relaxed);
      // acq_rel: hands the block over to the thread that takes it out of the ring.
      const std::uint64_t old =
          Word(tables_.ring[place & tables_.ring_mask]).exchange(number(block), simt::acq_rel);
      if (old != 0) leave_ring(reinterpret_cast<void*>(old));
    } else {
      detail::called_on_host("free");
    }
  }

  SIMT_FN void fill_poison(void* block) const {
    auto* const user = static_cast<unsigned char*>(block);
    const std::size_t bytes = head_of(block)->bytes, part = poison_part(bytes);
    SIMT_ROLLED
    for (std::size_t i = 0; i < part; ++i) user[i] = user[bytes - part + i] = detail::poison_byte;
  }
  SIMT_FN void leave_ring(void* block) const {
    check_poison(block);
    give_back(block);
  }
  SIMT_FN void give_back(void* block) const {
    heap_.free(static_cast<std::byte*>(block) - head_of(block)->distance);
  }
  SIMT_FN void empty_ring() const {
    SIMT_ROLLED
    for (std::uint32_t i = 0; i <= tables_.ring_mask; ++i) {
      simt::atomic_ref<std::uint64_t> word(tables_.ring[i]);
      // relaxed: a hint. acq_rel: as in deallocate().
      if (word.load(simt::relaxed) == 0) continue;
      const std::uint64_t old = word.exchange(0, simt::acq_rel);
      if (old != 0) leave_ring(reinterpret_cast<void*>(old));
    }
  }

  SIMT_FN void record(check_kind kind, const void* block, const Head* head, std::int64_t offset = 0,
                      std::uint64_t given = 0) const {
    // relaxed: a place; the host reads the records when no kernel runs.
    const std::uint32_t place =
        simt::atomic_ref<std::uint32_t>(*tables_.record_count).fetch_add(1, simt::relaxed);
    if (place >= detail::CheckTables::max_records) return;
    detail::CheckRecord& to = tables_.records[place];
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

}  // namespace SIMT_TARGET
}  // namespace heapwood
