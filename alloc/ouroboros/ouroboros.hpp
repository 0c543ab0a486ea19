// SPDX-License-Identifier: MIT
// Ouroboros: M. Winter, D. Mlakar, M. Parger, M. Steinberger, "Ouroboros: Virtualized Queues for Dynamic Memory
// Management on GPUs", ICS 2020. Memory is divided into chunks of 8 KiB, a chunk into pages of one of ten size classes,
// 16 bytes to 8 KiB. What is free is in a queue a class, access to which a bulk semaphore regulates. The queue has
// pages (P) or chunks that have free pages (C); its slots are an array (S), or in pieces that are chunks themselves,
// found through an array of pointers (VA) or a list (VL).
//
//   page_items.hpp, chunk_items.hpp                      P, C        what is in the queue
//   static_queue.hpp, array_queue.hpp, linked_queue.hpp  S, VA, VL   where its slots are (queue_pieces.hpp: VA and VL)
//   index_queue.hpp, chunks.hpp, ../primitives/bulk_semaphore.hpp    tickets and slots; memory; who brings a chunk
//
// malloc and free may run in the same kernel. What the paper leaves open or to chance is said in the parts' headers.
// Differs from the paper as a whole: three quarters of the pool are chunks, and a buddy allocator in the last quarter
// serves requests above a chunk; the paper asks an instance with larger chunks, or the device's malloc. Chunks shrink
// with pools below 2 MiB, so that there are enough of them.
#pragma once

#include <algorithm>

#include "alloc/ouroboros/chunks.hpp"
#include "alloc/primitives/large_part.hpp"

namespace heapwood::alloc {

template <class Items>
class Ouroboros {
 public:
  template <class Thread>
  SIMT_INLINE void* allocate(Thread& thread, std::size_t bytes) const {
    return attempt_until(thread, wait_, [&]() -> void* {
      if (bytes > std::size_t{1} << items_.chunks().shape().chunk_shift) return large_.allocate(thread, bytes);
      const std::uint32_t q = bytes <= granule ? 0 : simt::highest_bit((bytes - 1) / granule) + 1;
      return items_.allocate(self(), thread, q);
    });
  }

  template <class Thread>
  SIMT_INLINE void deallocate(Thread& thread, void* block) const {
    if (block == nullptr) return;
    if (large_.owns(block)) return large_.deallocate(thread, block);
    items_.deallocate(self(), thread, block);
  }

  template <class Visitor>
  void walk(const HostView& host, Visitor visit) const {
    const ouroboros::Chunks& chunks = items_.chunks();
    visit(Region{0, chunks.memory_at(), Region::State::metadata});
    items_.walk(host, visit);
    const std::size_t end = chunks.memory_at() + (std::size_t{chunks.shape().chunks} << chunks.shape().chunk_shift);
    if (end < large_at_) visit(Region{end, large_at_ - end, Region::State::metadata});
    large_.walk(host, chunks.base(), visit);
  }

 protected:
  template <class Device>
  void lay_out(const AllocatorTraits& traits, Pool pool, const AllocatorOptions& options, const Device& device) {
    static_assert(sizeof(Items) <= items_bytes);
    check_pool(traits, pool);
    wait_ = options.wait_when_full;
    large_at_ = pool.bytes / 4 * 3 / 256 * 256;
    ouroboros::Shape shape;
    shape.chunk_shift = simt::highest_bit(std::clamp<std::size_t>(pool.bytes / 256, 256, 8192));
    shape.word_shift = pool.bytes < std::size_t{8} << 20 ? 3 : 7;
    shape.for_queues = Items::pieces * shape.classes();
    // The most chunks that fit, whichever length of the queues allows that.
    ouroboros::Shape best = shape;
    for (shape.rows = 1; shape.rows <= ouroboros::Chunks::most_chunks; shape.rows *= 2) {
      shape.chunks = 0;
      for (std::uint32_t step = shape.rows; step > 0; step /= 2) {
        shape.chunks += step;
        if (shape.chunks > std::min(shape.rows, ouroboros::Chunks::most_chunks) || end_of(pool, shape) > large_at_) {
          shape.chunks -= step;
        }
      }
      if (shape.chunks > best.chunks) best = shape;
    }
    if (best.chunks <= best.for_queues) {
      throw Error(Exit::usage, std::string(traits.id) + ": the pool is too small for its queues");
    }
    end_of(pool, best);
    simt::device_fill(device.id(), pool.base, 0, items_.chunks().memory_at());
    simt::device_upload(device.id(), pool.base + LargePart::head_bytes, &items_, sizeof(items_));
    items_.reset(device);
    large_ = LargePart::create(pool.base, pool.base + large_at_, pool.bytes - large_at_,
                               std::min(best.chunk_shift, 12u), device);
  }

 private:
  // At the base: the large part's description, a copy of the items' for functions out of line, the tables, the chunks.
  static constexpr std::size_t items_bytes = 256;
  SIMT_INLINE const Items* self() const {
    return reinterpret_cast<const Items*>(items_.chunks().base() + LargePart::head_bytes);
  }

  // Lays the items out; returns the offset behind the chunks.
  std::size_t end_of(Pool pool, const ouroboros::Shape& shape) {
    return items_.settle(pool.base, items_.plan(shape, LargePart::head_bytes + items_bytes));
  }

  Items items_;
  LargePart large_;
  std::size_t large_at_ = 0;
  bool wait_ = false;
};

}  // namespace heapwood::alloc
