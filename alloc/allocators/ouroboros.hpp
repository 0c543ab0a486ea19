// SPDX-License-Identifier: MIT
// The six Ouroboros allocators (Ouroboros). Per size class there is one queue of
// pages (P) or of chunks with free pages (C). Its slots are an array (S, section 4), or in chunks
// that are found through an array (VA, section 5.1) or that are a list (VL, section 5.2).
#pragma once

#include "simt/cxx20.hpp"  // first

#include <algorithm>

#include "alloc/ouroboros/array_queue.hpp"
#include "alloc/ouroboros/chunk_items.hpp"
#include "alloc/ouroboros/chunks.hpp"
#include "alloc/ouroboros/linked_queue.hpp"
#include "alloc/ouroboros/page_items.hpp"
#include "alloc/ouroboros/static_queue.hpp"

namespace heapwood::alloc {

// Ouroboros: M. Winter, D. Mlakar, M. Parger, M. Steinberger, "Ouroboros: Virtualized Queues for
// Dynamic Memory Management on GPUs", ICS 2020. Memory is divided into chunks of 8 KiB, a chunk
// into pages of one of ten size classes, 16 bytes to 8 KiB. Each class has a queue of free memory,
// accessed under a bulk semaphore. The queue contains pages (P) or chunks that have free pages (C).
// Its slots are an array (S), or are spread over pieces that are chunks themselves, found through
// an array of pointers (VA) or a list (VL).
//
//   page_items, chunk_items (P, C)                    the contents of the queue; PageSpill has the
//                                                     free pages without a slot
//   static_queue, array_queue, linked_queue           where its slots are (S, VA, VL)
//   queue_pieces                                      the common part of VA and VL
//   index_queue, ../bulk/bulk_semaphore               tickets and slots; which thread adds a chunk
//   chunks                                            memory
//
// malloc and free may run in the same kernel.
//
// The accesses of a page's last user happen before those of its next user. Every path between the
// two is a chain of a release and an acquire on one word, and the next release comes after that
// acquire:
//   a page, freed and taken (P)    its slot: put(), take();
//                                  or its chunk's list: PageSpill::add_list(), take_list();
//                                  or both, if take_spilled() moves it from the list to a slot
//   a page, freed and taken (C)    its bit: deallocate(), page_of(); counts of the chunk's state
//                                  keep the chain of all pages
//   an empty chunk (C)             the state: release_pages(), retire(); then the bitmap or
//                                  new_chunk()
//   a chunk in the bitmap          its bit: give_back(), refill_from_buddy_slow(); take()
//   a large block, and chunks      the buddy's bits; before or after them those of the bitmap
//   moved to or from the buddy
//   a chunk added to a class       the state: grow(), wait_for_chunk() (P); new_chunk(),
//                                  reserve() (C)
//   a chunk as a piece of a queue  its pointer (VA) or link (VL): attach(), piece_of()
// The semaphores and tickets only count. Lanes that act as one thread extend what one of them has
// acquired to the others by sync().
//
// Differs from the paper as a whole: requests larger than a chunk are served from the same chunks,
// by a buddy allocator; the paper uses an instance with larger chunks, or the device's malloc.
// Pools below 2 MiB have smaller chunks, so that there are enough of them.

template <class Items>
class Ouroboros {
 public:
  static constexpr auto& settings = Items::settings;

  template <class Thread>
  HEAPWOOD_INLINE void* allocate(Thread& thread, std::size_t bytes) const {
    return attempt_until(thread, wait_, [&]() -> void* {
      if (bytes > std::size_t{1} << items_.chunks().shape().chunk_shift)
        return allocate_large(self(), thread, bytes);
      const std::uint32_t q = class_of(bytes);
      void* block = nullptr;
      HEAPWOOD_ROLLED
      do {
        block = items_.allocate(self(), thread, q);
      } while (block == nullptr && !thread.aborted() &&
               ouroboros::Chunks::refill_from_buddy(&self()->chunks(), thread));
      return block;
    });
  }

  template <class Thread>
  HEAPWOOD_INLINE void deallocate(Thread& thread, void* block) const {
    if (block == nullptr) return;
    std::uint32_t offset = 0;
    const ouroboros::Chunks& chunks = items_.chunks();
    const std::uint32_t c = chunks.chunk_of(block, offset), q = chunks.class_of(c);
    if (q >= chunks.shape().classes()) return chunks.give_large(block);
    items_.deallocate(self(), thread, c, offset, q);
  }

  // Bytes of the block's page, or of the chunks of a larger block. The block is in use.
  HEAPWOOD_INLINE std::size_t usable_size(const void* block) const {
    std::uint32_t offset = 0;
    const ouroboros::Chunks& chunks = items_.chunks();
    const std::uint32_t q = chunks.class_of(chunks.chunk_of(block, offset));
    return q < chunks.shape().classes() ? std::size_t{1} << chunks.shape().page_shift(q)
                                        : chunks.bytes_of_large(block);
  }

  // Section 6.2.1: initializes many pages of a class without a malloc for each. A run is a chunk
  // whose pages are allocated together and freed one by one; a larger block is a run of one.
  HEAPWOOD_INLINE std::uint32_t blocks_per_run(std::size_t bytes) const {
    const ouroboros::Shape& shape = items_.chunks().shape();
    return bytes > std::size_t{1} << shape.chunk_shift ? 1 : shape.pages(class_of(bytes));
  }
  // Returns the first of blocks_per_run() adjacent blocks, or nullptr. `bytes`: a power of two.
  template <class Thread>
  HEAPWOOD_INLINE void* allocate_run(Thread& thread, std::size_t bytes) const {
    const ouroboros::Chunks& chunks = items_.chunks();
    if (bytes > std::size_t{1} << chunks.shape().chunk_shift)
      return allocate_large(self(), thread, bytes);
    const std::uint32_t q = class_of(bytes);
    std::uint32_t c = ouroboros::Chunks::none;
    HEAPWOOD_ROLLED
    do {
      c = Items::take_whole_chunk(self(), thread, q);
    } while (c == ouroboros::Chunks::none && !thread.aborted() &&
             ouroboros::Chunks::refill_from_buddy(&self()->chunks(), thread));
    return c == ouroboros::Chunks::none ? nullptr : chunks.page(c, q, 0);
  }

  template <class Visitor>
  void walk(const HostView& host, Visitor visit) const {
    visit(Region{0, tables_, Region::State::metadata});
    std::size_t end = tables_;
    items_.walk(host, [&](const Region& region) {
      end = region.offset + region.bytes;
      visit(region);
    });
    if (unused_ > 0) visit(Region{end, unused_, Region::State::metadata});
  }

 protected:
  // `limit`: the maximum number of chunks; the rest of a larger pool serves large requests.
  template <class Device>
  void lay_out(const AllocatorTraits& traits, Pool pool, const AllocatorOptions& options,
               const Device& device, std::uint32_t limit = ouroboros::Chunks::max_chunks) {
    static_assert(sizeof(Items) <= items_bytes &&
                  ouroboros::Chunks::buddies * sizeof(Buddy) <= buddy_bytes);
    check_pool(traits, pool);
    wait_ = options.wait_when_full;
    ouroboros::Shape shape;
    shape.chunk_shift = simt::highest_bit(std::clamp<std::size_t>(
        options.chunk_bytes != 0 ? options.chunk_bytes : pool.bytes / 256, 256, 8192));
    shape.word_shift = pool.bytes < std::size_t{8} << 20 ? 3 : 7;
    shape.lowest_first = options.chunk_search == AllocatorOptions::ChunkSearch::lowest;
    // Makes as many chunks as fit into the pool together with their tables.
    std::size_t max_chunks = std::min<std::size_t>(pool.bytes >> shape.chunk_shift, limit);
    std::uint32_t pages = 0;
    for (;; max_chunks = pages) {
      shape.chunks = static_cast<std::uint32_t>(max_chunks);
      Items::choose(shape, pool.bytes, options.queue_slots);
      tables_ = round_up(items_.plan(shape, buddy_bytes + items_bytes), 256);
      pages = tables_ < pool.bytes ? Buddy::pages_in(pool.bytes - tables_, shape.chunk_shift) : 0;
      if (pages >= max_chunks) break;
    }
    if (shape.small() <= shape.pieces * shape.classes()) {
      throw Error(Exit::usage, std::string(traits.id) +
                                   ": the pool is too small for its queues; give a larger pool");
    }
    // The first buddy manages only the chunks, so each of its blocks can become chunks.
    const std::size_t of_chunks = Buddy::bytes_for(shape.chunks, shape.chunk_shift),
                      rest = pool.bytes - tables_ - of_chunks;
    std::byte* const first = pool.base + tables_;
    simt::device_fill(device.id(), pool.base, 0, tables_);
    Buddy buddies[ouroboros::Chunks::buddies];
    buddies[0] = Buddy::create(first, of_chunks, shape.chunk_shift, device, shape.small());
    const bool has_more = shape.chunks == limit && Buddy::pages_in(rest, shape.chunk_shift) > 0;
    if (has_more) buddies[1] = Buddy::create(first + of_chunks, rest, shape.chunk_shift, device);
    unused_ = has_more ? 0 : rest;
    simt::device_upload(device.id(), pool.base, buddies, sizeof(buddies));
    items_.reset(pool.base, reinterpret_cast<const Buddy*>(pool.base), buddies[0].page(0), device);
    simt::device_upload(device.id(), pool.base + buddy_bytes, &items_, sizeof(items_));
  }

 private:
  static HEAPWOOD_INLINE std::uint32_t class_of(std::size_t bytes) {
    return bytes <= granule ? 0 : simt::highest_bit((bytes - 1) / granule) + 1;
  }

  // Layout from the pool's base: the buddies' handles, a copy of the items for functions that are
  // not inlined, the tables, the buddies.
  static constexpr std::size_t buddy_bytes = 128, items_bytes = 256;
  HEAPWOOD_INLINE const Items* self() const {
    return reinterpret_cast<const Items*>(items_.chunks().base() + buddy_bytes);
  }

  // Takes the thread by value: the address of a thread kept in registers must not escape.
  template <class Thread>
  static HEAPWOOD_OUTLINE void* allocate_large(const Items* items, Thread thread,
                                               std::size_t bytes) {
    void* block = items->chunks().take_large(thread, bytes);
    if (block == nullptr && Items::collect(items, thread))
      block = items->chunks().take_large(thread, bytes);
    return block;
  }

  Items items_;
  std::size_t tables_ = 0, unused_ = 0;
  bool wait_ = false;
};

template <class A, class Slots>
using OuroborosOfPages = LaidOut<A, Ouroboros<ouroboros::PageItems<ouroboros::IndexQueue<Slots>>>>;
template <class A, class Slots>
using OuroborosOfChunks =
    LaidOut<A, Ouroboros<ouroboros::ChunkItems<ouroboros::IndexQueue<Slots>>>>;

struct OuroborosPS : OuroborosOfPages<OuroborosPS, ouroboros::StaticQueue> {
  static constexpr AllocatorTraits traits{
      .id = "ouroboros-p-s",
      .label = "Ouroboros-P-S",
      .paper = "Ouroboros 4",
      .note = "queues of pages in an array; a buddy above 8 KiB",
      .smallest_pool = 8192};
};

struct OuroborosPVA : OuroborosOfPages<OuroborosPVA, ouroboros::ArrayQueue> {
  static constexpr AllocatorTraits traits{
      .id = "ouroboros-p-va",
      .label = "Ouroboros-P-VA",
      .paper = "Ouroboros 5.1",
      .note = "queues of pages in chunks, found through an array; a buddy above 8 KiB",
      .smallest_pool = 8192};
};

struct OuroborosPVL : OuroborosOfPages<OuroborosPVL, ouroboros::LinkedQueue> {
  static constexpr AllocatorTraits traits{
      .id = "ouroboros-p-vl",
      .label = "Ouroboros-P-VL",
      .paper = "Ouroboros 5.2",
      .note = "queues of pages in chunks, which are a list; a buddy above 8 KiB",
      .smallest_pool = 8192};
};

struct OuroborosCS : OuroborosOfChunks<OuroborosCS, ouroboros::StaticQueue> {
  static constexpr AllocatorTraits traits{
      .id = "ouroboros-c-s",
      .label = "Ouroboros-C-S",
      .paper = "Ouroboros 4",
      .note = "queues of chunks with free pages in an array; a buddy above 8 KiB",
      .smallest_pool = 8192};
};

struct OuroborosCVA : OuroborosOfChunks<OuroborosCVA, ouroboros::ArrayQueue> {
  static constexpr AllocatorTraits traits{
      .id = "ouroboros-c-va",
      .label = "Ouroboros-C-VA",
      .paper = "Ouroboros 5.1",
      .note =
          "queues of chunks with free pages in chunks, found through an array; a buddy above 8 KiB",
      .smallest_pool = 8192};
};

struct OuroborosCVL : OuroborosOfChunks<OuroborosCVL, ouroboros::LinkedQueue> {
  static constexpr AllocatorTraits traits{
      .id = "ouroboros-c-vl",
      .label = "Ouroboros-C-VL",
      .paper = "Ouroboros 5.2",
      .note = "queues of chunks with free pages in chunks, which are a list; a buddy above 8 KiB",
      .smallest_pool = 8192};
};

}  // namespace heapwood::alloc
