// SPDX-License-Identifier: MIT
// The chunks of Ouroboros (section 3): equal pieces of memory, of up to 8 KiB, that are free, or hold the pages of one
// size class, or a piece of a queue. Class q has pages of 16 << q bytes, up to a whole chunk.
// Differs from the paper: which chunks are free is a bitmap with summaries (primitives/sum_map.hpp), in place of a bump
// of never-used chunks and a queue of those to be reused; what a chunk is says a table, not a header in front of it.
// Here are also the words that all threads of a class share: tickets, counts, and the ends of its queue.
#pragma once

#include <cstdint>
#include <vector>

#include "alloc/primitives/sum_map.hpp"

namespace heapwood::alloc::ouroboros {

struct Shape {
  std::uint32_t chunks = 0;
  std::uint32_t rows = 0;        // a power of two, at least `chunks`
  unsigned chunk_shift = 13;     // log2 of the bytes of a chunk
  unsigned word_shift = 7;       // log2 of the bytes from one shared word to the next
  std::uint32_t for_queues = 0;  // chunks that are pieces of queues from the beginning: the first ones

  SIMT_INLINE std::uint32_t classes() const { return chunk_shift - 3; }
  SIMT_INLINE unsigned page_shift(std::uint32_t q) const { return 4 + q; }
  SIMT_INLINE std::uint32_t pages(std::uint32_t q) const { return 1u << (chunk_shift - 4 - q); }
};

class Chunks {
 public:
  static constexpr std::uint32_t none = ~0u;
  static constexpr std::uint32_t most_chunks = (1u << 22) - 1;  // 32 GiB of 8 KiB

  // Of a class. units: the bulk semaphore of its pages. placed, taken: tickets of its queue. ready: entries that may be
  // taken (chunk queues). room, attached, first, last: of queues in pieces. heads: the open chunks (chunk queues).
  enum Word : std::uint32_t { units, placed, taken, ready, room, attached, first, last, heads };
  static constexpr std::uint32_t most_heads = 8;

  // A chunk's state: {class + 1, or 0: free, or queue_piece} above bits of the caller's.
  static constexpr unsigned kind_shift = 56;
  static constexpr std::uint32_t queue_piece = 0xff;
  static SIMT_INLINE std::uint32_t kind_of(std::uint64_t state) {
    return static_cast<std::uint32_t>(state >> kind_shift);
  }
  static SIMT_INLINE std::uint64_t of_kind(std::uint32_t kind) { return std::uint64_t{kind} << kind_shift; }

  // Where the tables end if they begin at `at`, a multiple of 256. The memory is at the end of all tables: settle().
  std::size_t plan(const Shape& shape, std::size_t at) {
    shape_ = shape;
    words_at_ = at;
    at = round_up(at + (std::size_t{shape.classes() * words} << shape.word_shift), 256);
    dry_at_ = at;
    at += 128;
    levels_at_ = at;
    at += sizeof(std::uint32_t) * SumMap::table_entries;
    map_at_ = at;
    std::uint32_t levels[SumMap::table_entries] = {};
    at += SumMap::plan(shape.chunks, 0, levels) * sizeof(std::uint64_t);
    states_at_ = at;
    return at + shape.chunks * sizeof(std::uint64_t);
  }
  // Returns the offset behind the memory.
  std::size_t settle(std::byte* base, std::size_t tables_end) {
    base_ = base;
    memory_at_ = round_up(tables_end, 256);
    return memory_at_ + (std::size_t{shape_.chunks} << shape_.chunk_shift);
  }

  // On tables that are zero.
  template <class Device>
  void reset(const Device& device) const {
    std::uint32_t levels[SumMap::table_entries] = {};
    std::vector<std::uint64_t> map(SumMap::plan(shape_.chunks, 0, levels));
    for (std::uint32_t c = shape_.for_queues; c < shape_.chunks; ++c) map[c / 64] |= std::uint64_t{1} << c % 64;
    for (std::uint32_t level = 1, n = shape_.chunks; level <= levels[SumMap::table_entries - 1]; ++level) {
      n = (n + 63) / 64;
      for (std::uint32_t i = 0; i < n; ++i) {
        const bool any = map[levels[level - 1] + i] != 0;
        map[levels[level] + i / 64] |= std::uint64_t{any} << i % 64;
      }
    }
    simt::device_upload(device.id(), base_ + levels_at_, levels, sizeof(levels));
    simt::device_upload(device.id(), base_ + map_at_, map.data(), map.size() * sizeof(map[0]));
    const std::vector<std::uint64_t> queues(shape_.for_queues, of_kind(queue_piece));
    if (!queues.empty()) {
      simt::device_upload(device.id(), base_ + states_at_, queues.data(), queues.size() * sizeof(queues[0]));
    }
  }

  SIMT_INLINE const Shape& shape() const { return shape_; }
  SIMT_INLINE std::byte* base() const { return base_; }
  SIMT_INLINE std::size_t memory_at() const { return memory_at_; }
  SIMT_INLINE std::byte* chunk(std::uint32_t c) const {
    return base_ + memory_at_ + (std::size_t{c} << shape_.chunk_shift);
  }
  SIMT_INLINE std::byte* page(std::uint32_t c, std::uint32_t q, std::uint32_t i) const {
    return chunk(c) + (std::size_t{i} << shape_.page_shift(q));
  }
  // Of an address in the memory: its chunk, and its offset in there.
  SIMT_INLINE std::uint32_t chunk_of(const void* block, std::uint32_t& offset) const {
    const auto at = static_cast<std::size_t>(static_cast<const std::byte*>(block) - (base_ + memory_at_));
    offset = static_cast<std::uint32_t>(at) & ((1u << shape_.chunk_shift) - 1);
    return static_cast<std::uint32_t>(at >> shape_.chunk_shift);
  }

  SIMT_INLINE std::uint64_t* word_at(std::uint32_t q, std::uint32_t which) const {
    return reinterpret_cast<std::uint64_t*>(base_ + words_at_ + (std::size_t{q * words + which} << shape_.word_shift));
  }
  SIMT_INLINE simt::atomic_ref<std::uint64_t> word(std::uint32_t q, std::uint32_t which) const {
    return simt::atomic_ref<std::uint64_t>(*word_at(q, which));
  }
  SIMT_INLINE simt::atomic_ref<std::uint64_t> state(std::uint32_t c) const {
    return simt::atomic_ref<std::uint64_t>(reinterpret_cast<std::uint64_t*>(base_ + states_at_)[c]);
  }

  // A free chunk, now the caller's; none: there is none. Threads search from places of their own.
  template <class Thread>
  SIMT_INLINE std::uint32_t take(const Thread& thread) const {
    // relaxed, here and below: a hint for threads that wait for a chunk.
    const simt::atomic_ref<std::uint32_t> dry(*dry_word());
    const SumMap free = map();
    const std::uint32_t spread = (thread.worker() * 32 + thread.lane() + 1) * 2654435769u;
    std::uint32_t c = static_cast<std::uint32_t>((std::uint64_t{spread} * shape_.chunks) >> 32);
    SIMT_ROLLED
    while ((c = free.find(c)) != SumMap::none) {
      if (free.take(c) == 0) continue;
      if (dry.load(simt::relaxed) != 0) dry.store(0, simt::relaxed);
      return c;
    }
    dry.store(1, simt::relaxed);
    return none;
  }
  SIMT_INLINE void give_back(std::uint32_t c) const {
    map().set(c);
    const simt::atomic_ref<std::uint32_t> dry(*dry_word());
    if (dry.load(simt::relaxed) != 0) dry.store(0, simt::relaxed);
  }
  // Of one that could not be used for want of another.
  SIMT_INLINE void put_back(std::uint32_t c) const { map().set(c); }
  // Not 0 if the last thread that asked for a chunk has found none.
  SIMT_INLINE std::uint32_t* dry_word() const { return reinterpret_cast<std::uint32_t*>(base_ + dry_at_); }

  std::vector<std::uint64_t> read_states(const HostView& host) const {
    return host.read(reinterpret_cast<const std::uint64_t*>(base_ + states_at_), shape_.chunks);
  }

  // Reports every chunk. is_used(c, q, i): is page i of chunk c, of class q, in use?
  template <class Visitor, class IsUsed>
  void walk(const HostView& host, Visitor visit, IsUsed is_used) const {
    using State = Region::State;
    const std::size_t bytes = std::size_t{1} << shape_.chunk_shift;
    const auto states = read_states(host);
    for (std::uint32_t c = 0; c < shape_.chunks; ++c) {
      const std::size_t at = memory_at_ + c * bytes;
      const std::uint32_t kind = kind_of(states[c]);
      if (kind == 0 || kind == queue_piece) {
        visit(Region{at, bytes, kind == 0 ? State::free : State::metadata});
        continue;
      }
      const std::uint32_t q = kind - 1;
      const std::size_t page_bytes = std::size_t{1} << shape_.page_shift(q);
      for (std::uint32_t i = 0; i < shape_.pages(q); ++i) {
        visit(Region{at + i * page_bytes, page_bytes, is_used(c, q, i) ? State::used : State::free});
      }
    }
  }

 private:
  static constexpr std::uint32_t words = heads + most_heads;  // of a class

  SIMT_INLINE SumMap map() const {
    return {reinterpret_cast<std::uint64_t*>(base_ + map_at_),
            reinterpret_cast<const std::uint32_t*>(base_ + levels_at_), shape_.chunks};
  }

  std::byte* base_ = nullptr;
  Shape shape_;
  std::size_t words_at_ = 0, dry_at_ = 0, levels_at_ = 0, map_at_ = 0, states_at_ = 0, memory_at_ = 0;
};

}  // namespace heapwood::alloc::ouroboros
