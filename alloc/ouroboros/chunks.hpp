// SPDX-License-Identifier: MIT
// The chunks of Ouroboros (section 3): pieces of memory of equal size, up to 8 KiB. A chunk is
// free, or holds the pages of one size class or a piece of a queue, or is part of a larger block.
// Class q has pages of 16 << q bytes, up to a chunk.
//
// Differs from the paper:
//   - free chunks are recorded in a bitmap with summaries (primitives/sum_map.hpp), which replaces
//     a bump allocation of never-used chunks and a queue of reusable ones; the use of a chunk is
//     recorded in a table, not in a header in front of it;
//   - a buddy allocator (primitives/buddy.hpp) whose pages are the chunks serves larger requests.
//     It starts with a quarter of the chunks. When one side is exhausted, it gets 64 adjacent
//     chunks from the other, which are one word of the bitmap; small requests also get a single
//     chunk if the buddy has no 64;
//   - memory beyond the max chunks has a buddy allocator of its own, for larger requests only.
//
// The words shared by all threads of a class are stored here too: tickets, counts, and the ends of
// its queue.
#pragma once

#include <cstdint>
#include <vector>

#include "alloc/primitives/buddy.hpp"
#include "alloc/primitives/sum_map.hpp"
#include "alloc/primitives/word.hpp"

namespace heapwood::alloc::ouroboros {

// The setting `chunk` on the command line.
inline constexpr AllocatorSetting chunk_setting = setting_of<&AllocatorOptions::chunk_bytes>(
    {.key = "chunk",
     .json = "chunk_bytes",
     .about = "bytes of a chunk; by default 8K, less in a small pool",
     .min = 256,
     .max = 8192});
inline constexpr AllocatorSetting search_setting = setting_of<&AllocatorOptions::chunk_search>(
    {.key = "search",
     .json = "chunk_search",
     .about = "where a search for a free chunk starts: at one hashed per thread, or at the first",
     .words = "spread lowest"});

struct Shape {
  std::uint32_t chunks = 0;
  unsigned chunk_shift = 13;  // log2 of the bytes of a chunk
  unsigned word_shift = 7;    // log2 of the bytes from one shared word to the next
  std::uint32_t slots = 0;    // max slots of a queue in an array
  // The number of chunks, the first of the pool, that are pieces of queues from the start.
  std::uint32_t pieces = 0;
  std::uint32_t max_pieces = 0;
  bool lowest_first = false;  // AllocatorOptions::ChunkSearch

  HEAPWOOD_INLINE std::uint32_t classes() const { return chunk_shift - 3; }
  HEAPWOOD_INLINE unsigned page_shift(std::uint32_t q) const { return 4 + q; }
  HEAPWOOD_INLINE std::uint32_t pages(std::uint32_t q) const { return 1u << (chunk_shift - 4 - q); }
  // Chunks for pages and pieces: three quarters, if possible in whole words of the bitmap.
  HEAPWOOD_INLINE std::uint32_t small() const {
    return chunks < 256 ? chunks / 4 * 3 : chunks / 256 * 192;
  }
};

// Marks the chunks that belong to the buddy at the start.
template <class Chunks>
struct MarkLarge {
  Chunks chunks;
  std::uint32_t first;
  HEAPWOOD_FN void operator()(std::size_t i) const {
    chunks.mark_large(first + static_cast<std::uint32_t>(i));
  }
};

class Chunks {
 public:
  static constexpr std::uint32_t none = ~0u;
  // Enough for 32 GiB in chunks of 8 KiB.
  static constexpr std::uint32_t max_chunks = (1u << 22) - 1;
  // One buddy for the chunks, and one for the memory beyond them, which may have no pages.
  static constexpr unsigned buddies = 2;

  // The words of a class. units: the bulk semaphore of its pages. placed, taken: tickets of its
  // queue. ready: entries that may be taken (chunk queues). free_slots, pieces: capacity for
  // entries. attached (arrays), first to linking (lists): state of queues in pieces. heads: the
  // chunks from which pages are being taken (chunk queues).
  enum Word : std::uint32_t {
    units,
    placed,
    taken,
    ready,
    free_slots,
    pieces,
    attached,
    first,
    front,
    last,
    end,
    linking,
    heads
  };
  static constexpr std::uint32_t max_heads = 8;

  // A chunk's state: bits of the caller below its kind, 0 (free), class + 1, or one of these.
  static constexpr unsigned kind_shift = 56;
  static constexpr std::uint32_t queue_piece = 0xfe, large = 0xff;
  static HEAPWOOD_INLINE std::uint32_t kind_of(std::uint64_t state) {
    return static_cast<std::uint32_t>(state >> kind_shift);
  }
  static HEAPWOOD_INLINE std::uint64_t of_kind(std::uint32_t kind) {
    return std::uint64_t{kind} << kind_shift;
  }

  // Lays out the tables from `offset` (a multiple of 256) on and returns the offset at which they
  // end. `maps`: the number of bitmaps of chunks that the caller needs.
  std::size_t plan(const Shape& shape, std::uint32_t maps, std::size_t offset) {
    shape_ = shape;
    words_at_ = offset;
    offset = round_up(offset + (std::size_t{shape.classes() * words} << shape.word_shift), 256);
    hints_at_ = offset;
    offset += hints * 64;
    levels_at_ = offset;
    offset += sizeof(std::uint32_t) * SumMap::table_entries;
    maps_at_ = offset;
    std::uint32_t levels[SumMap::table_entries] = {};
    map_words_ = SumMap::plan(shape.chunks, 0, levels);
    offset += (std::size_t{maps} + 1) * map_words_ * sizeof(std::uint64_t);
    states_at_ = offset;
    return offset + shape.chunks * sizeof(std::uint64_t);
  }
  // Writes the initial tables; called after they have been zeroed and the buddies created. `buddy`
  // points to their handles.
  template <class Device>
  void initialize(std::byte* base, const Buddy* buddy, std::byte* memory, const Device& device) {
    base_ = base;
    buddy_ = buddy;
    memory_ = memory;
    std::uint32_t levels[SumMap::table_entries] = {};
    std::vector<std::uint64_t> map(SumMap::plan(shape_.chunks, 0, levels));
    const std::uint32_t for_queues = shape_.pieces * shape_.classes();
    for (std::uint32_t c = for_queues; c < shape_.small(); ++c)
      map[c / 64] |= std::uint64_t{1} << c % 64;
    for (std::uint32_t level = 1, n = shape_.chunks; level <= levels[SumMap::table_entries - 1];
         ++level) {
      n = (n + 63) / 64;
      for (std::uint32_t i = 0; i < n; ++i) {
        const bool any = map[levels[level - 1] + i] != 0;
        map[levels[level] + i / 64] |= std::uint64_t{any} << i % 64;
      }
    }
    simt::device_upload(device.id(), base_ + levels_at_, levels, sizeof(levels));
    simt::device_upload(device.id(), base_ + maps_at_, map.data(), map.size() * sizeof(map[0]));
    const std::vector<std::uint64_t> queues(for_queues, of_kind(queue_piece));
    if (!queues.empty()) {
      simt::device_upload(device.id(), base_ + states_at_, queues.data(),
                          queues.size() * sizeof(queues[0]));
    }
    device.for_each(shape_.chunks - shape_.small(), MarkLarge<Chunks>{*this, shape_.small()});
  }
  HEAPWOOD_FN void mark_large(std::uint32_t c) const {
    state(c).store(of_kind(large), simt::relaxed);
  }

  HEAPWOOD_INLINE const Shape& shape() const { return shape_; }
  HEAPWOOD_INLINE std::byte* base() const { return base_; }
  HEAPWOOD_INLINE std::byte* chunk(std::uint32_t c) const {
    return memory_ + (std::size_t{c} << shape_.chunk_shift);
  }
  HEAPWOOD_INLINE std::byte* page(std::uint32_t c, std::uint32_t q, std::uint32_t i) const {
    return chunk(c) + (std::size_t{i} << shape_.page_shift(q));
  }
  // Returns the chunk that contains an address, and the offset in it.
  HEAPWOOD_INLINE std::uint32_t chunk_of(const void* block, std::uint32_t& offset) const {
    const auto pool_offset =
        static_cast<std::size_t>(static_cast<const std::byte*>(block) - memory_);
    offset = static_cast<std::uint32_t>(pool_offset) & ((1u << shape_.chunk_shift) - 1);
    return static_cast<std::uint32_t>(pool_offset >> shape_.chunk_shift);
  }
  // The size class of the chunk's pages, or `large` - 1 for a block of the buddy.
  HEAPWOOD_INLINE std::uint32_t class_of(std::uint32_t c) const {
    // relaxed: the kind is constant while a block of the chunk is in use.
    return c < shape_.chunks ? kind_of(state(c).load(simt::relaxed)) - 1 : large - 1;
  }

  HEAPWOOD_INLINE std::uint64_t* word_at(std::uint32_t q, std::uint32_t which) const {
    return as<std::uint64_t>(base_ + words_at_ +
                             (std::size_t{q * words + which} << shape_.word_shift));
  }
  HEAPWOOD_INLINE Word64 word(std::uint32_t q, std::uint32_t which) const {
    return Word64(*word_at(q, which));
  }
  HEAPWOOD_INLINE Word64 state(std::uint32_t c) const {
    return Word64(as<std::uint64_t>(base_ + states_at_)[c]);
  }
  // The caller's bitmaps, numbered from 0.
  HEAPWOOD_INLINE SumMap map(std::uint32_t i) const { return map_at(i + 1); }

  // Takes a free chunk, or returns `none` if the bitmap has none.
  template <class Thread>
  HEAPWOOD_INLINE std::uint32_t take(Thread& thread) const {
    HEAPWOOD_ROLLED
    for (bool is_last = false;; is_last = true) {
      const std::uint32_t c = find_and_take(thread);
      if (is_last) end_search(exhausted, c != none);
      if (c != none || is_last || says_empty(exhausted)) return c;
      begin_search(exhausted);
    }
  }
  // Frees a chunk that was in use. release: orders its last users' accesses before its next use.
  HEAPWOOD_INLINE void give_back(std::uint32_t c) const {
    map_at(0).set(c);
    clear_hint(exhausted);
    clear_hint(buddy_exhausted);
    clear_hint(no_full_word);
  }
  // Puts back a chunk that the caller has not used, because another one was missing. Leaves the
  // hint `exhausted` as it is.
  HEAPWOOD_INLINE void put_back(std::uint32_t c) const {
    map_at(0).set(c);
    clear_hint(no_full_word);
  }
  // Not 0 if the bitmap was empty when a thread last wanted a chunk.
  HEAPWOOD_INLINE std::uint32_t* exhausted_word() const { return hint_at(exhausted); }

  // Called by a thread that found no memory for a page: moves chunks from the buddy, one thread at
  // a time; the others wait for that thread, which is running. Returns whether the caller should
  // retry: true if there are free chunks, or after waiting for another thread. Called from places
  // where few values are in registers.
  template <class Thread>
  static HEAPWOOD_INLINE bool refill_from_buddy(const Chunks* self, Thread& thread) {
    return !self->says_empty(buddy_exhausted) && refill_from_buddy_slow(self, thread);
  }

  // Allocates a block larger than a chunk. Called on the copy of this object in device memory.
  template <class Thread>
  HEAPWOOD_INLINE void* take_large(Thread& thread, std::size_t bytes) const {
    // Tries the memory beyond the chunks first, because it serves only large blocks.
    void* block = buddy_[1].allocate(thread, bytes);
    HEAPWOOD_ROLLED
    for (bool again = block == nullptr; again;) {
      block = buddy_->allocate(thread, bytes);
      again = block == nullptr && bytes <= std::size_t{64} << shape_.chunk_shift &&
              move_chunks_to_buddy(thread);
    }
    return block;
  }
  HEAPWOOD_INLINE void give_large(void* block) const {
    const Buddy& owner = buddy_of(block);
    owner.deallocate(block);
    if (&owner == buddy_) clear_hint(buddy_exhausted);
  }
  HEAPWOOD_INLINE std::size_t bytes_of_large(const void* block) const {
    return buddy_of(block).bytes_of(block);
  }

  std::vector<std::uint64_t> read_states(const HostView& host) const {
    return host.read(as<const std::uint64_t>(base_ + states_at_), shape_.chunks);
  }

  // Reports all chunks, and the buddy's blocks. is_used(c, q, i): whether page i of chunk c, of
  // class q, is in use. A chunk for which is_empty(c) holds is one free region.
  template <class Visitor, class IsEmpty, class IsUsed>
  void walk(const HostView& host, Visitor visit, IsEmpty is_empty, IsUsed is_used) const {
    using State = Region::State;
    const std::size_t bytes = std::size_t{1} << shape_.chunk_shift;
    const auto states = read_states(host);
    const auto visit_chunk = [&](std::uint32_t c) {
      const std::uint32_t kind = c < shape_.chunks ? kind_of(states[c]) : large;
      if (kind == large) return false;
      const std::size_t offset = static_cast<std::size_t>(chunk(c) - base_);
      if (kind == 0 || kind == queue_piece || is_empty(c)) {
        visit(Region{offset, bytes, kind == queue_piece ? State::metadata : State::free});
        return true;
      }
      const std::uint32_t q = kind - 1;
      const std::size_t page_bytes = std::size_t{1} << shape_.page_shift(q);
      for (std::uint32_t i = 0; i < shape_.pages(q); ++i) {
        visit(Region{offset + i * page_bytes, page_bytes,
                     is_used(c, q, i) ? State::used : State::free});
      }
      return true;
    };
    const auto both = host.read(buddy_, buddies);
    both[0].walk(host, base_, visit, visit_chunk);
    if (both[1].pages() > 0) both[1].walk(host, base_, visit);
  }

 private:
  static constexpr std::uint32_t words = heads + max_heads;  // words per class
  // exhausted: the bitmap has no chunk. buddy_exhausted: the buddy has none either. no_full_word:
  // the bitmap has no word of 64 free chunks. refilling: a thread is moving chunks from the buddy.
  enum Hint : std::uint32_t { exhausted, buddy_exhausted, no_full_word, refilling, hints };

  HEAPWOOD_INLINE SumMap map_at(std::uint32_t i) const {
    return {as<std::uint64_t>(base_ + maps_at_) + std::size_t{i} * map_words_,
            as<const std::uint32_t>(base_ + levels_at_), shape_.chunks};
  }
  HEAPWOOD_INLINE std::uint32_t* hint_at(Hint which) const {
    return as<std::uint32_t>(base_ + hints_at_ + which * 64);
  }
  HEAPWOOD_INLINE Word32 hint(Hint which) const { return Word32(*hint_at(which)); }
  HEAPWOOD_INLINE const Buddy& buddy_of(const void* block) const {
    return buddy_[buddy_[1].owns(block) ? 1 : 0];
  }

  // The first three hints become `empty` after a search that found nothing, and must not stay so
  // when memory has been freed since. A search sets its hint to `searching` before it begins and,
  // if it fails, changes `searching` to `empty`. A thread that has freed memory sets the hint to 0.
  // All are read-modify-writes, so they have an order. If the 0 comes before `searching`, release
  // and acquire make what was freed visible to the search. If it comes later, the search finds 0
  // instead of `searching` and leaves it. Of threads that search at the same time only the last to
  // begin need see everything: one that finds memory sets the hint to 0, since there may be more.
  static constexpr std::uint32_t empty = 1, searching = 2;

  HEAPWOOD_INLINE void clear_hint(Hint which) const { hint(which).fetch_and(0, simt::release); }
  // relaxed: it is only a hint.
  HEAPWOOD_INLINE bool says_empty(Hint which) const {
    return hint(which).load(simt::relaxed) == empty;
  }
  HEAPWOOD_INLINE void begin_search(Hint which) const {
    hint(which).exchange(searching, simt::acquire);
  }
  HEAPWOOD_INLINE void end_search(Hint which, bool has_found) const {
    if (has_found) return clear_hint(which);
    std::uint32_t expected = searching;
    // relaxed: the search's beginning has ordered what was freed before it.
    hint(which).compare_exchange_strong(expected, empty, simt::relaxed, simt::relaxed);
  }

  // One search by take(). It starts at a chunk hashed per thread, or with `lowest_first` at the
  // first chunk. A thread that loses the lowest chunk to another one skips a hashed number of
  // chunks, from a range that grows with every loss.
  template <class Thread>
  HEAPWOOD_INLINE std::uint32_t find_and_take(const Thread& thread) const {
    const SumMap free = map_at(0);
    const std::uint32_t seed = seed_of(thread);
    const auto hashed = [seed](std::uint32_t range) { return scaled(seed, range); };
    // Starts among the chunks that the bitmap has initially: threads that start after these would
    // all meet at the first one.
    const std::uint32_t max_range = shape_.small();
    std::uint32_t c = shape_.lowest_first ? 0 : hashed(max_range), range = 64;  // bits of a word
    HEAPWOOD_ROLLED
    while ((c = free.find(c)) != SumMap::none) {
      if (free.take(c) != 0) return c;
      if (!shape_.lowest_first) continue;
      c += hashed(range);
      range = range * 4 < max_range ? range * 4 : max_range;
    }
    return none;
  }
  template <class Thread>
  static HEAPWOOD_OUTLINE bool refill_from_buddy_slow(const Chunks* self, Thread thread) {
    const Word32 refilling_now = self->hint(refilling);
    // acquire: makes the chunks that the last thread moved visible.
    if (refilling_now.exchange(1, simt::acquire) != 0) {
      return simt::wait_until(thread, [&] { return refilling_now.load(simt::relaxed) == 0; });
    }
    // True if the last thread has moved chunks, unless another thread has found none since.
    bool has_chunks =
        self->hint(exhausted).load(simt::relaxed) == 0 && self->map_at(0).find(0) != SumMap::none;
    if (!has_chunks) {
      self->begin_search(buddy_exhausted);
      HEAPWOOD_ROLLED
      for (std::uint32_t n = 64; n > 0 && !has_chunks; n = n == 64 ? 1 : 0) {
        void* const block =
            self->buddy_->allocate(thread, std::size_t{n} << self->shape_.chunk_shift);
        if (block == nullptr) continue;
        std::uint32_t offset = 0;
        const std::uint32_t c = self->chunk_of(block, offset);
        // relaxed: setting the chunks' bits publishes their states.
        HEAPWOOD_ROLLED
        for (std::uint32_t i = 0; i < n; ++i)
          self->state(c + i).fetch_sub(of_kind(large), simt::relaxed);
        self->map_at(0).raise(c, n == 64 ? ~std::uint64_t{0} : 1);
        if (n == 64) self->clear_hint(no_full_word);
        has_chunks = true;
      }
      self->end_search(buddy_exhausted, has_chunks);
    }
    if (has_chunks) self->clear_hint(exhausted);
    refilling_now.store(0, simt::release);
    return has_chunks;
  }

  // Moves 64 adjacent chunks to the buddy. Returns false if there are none.
  template <class Thread>
  HEAPWOOD_INLINE bool move_chunks_to_buddy(const Thread& thread) const {
    if (says_empty(no_full_word)) return false;
    begin_search(no_full_word);
    const SumMap free = map_at(0);
    const std::uint32_t rows = shape_.chunks / 64, start = scaled(seed_of(thread), rows);
    HEAPWOOD_ROLLED
    for (std::uint32_t i = 0; i < rows; ++i) {
      const std::uint32_t c = (i + start < rows ? i + start : i + start - rows) * 64;
      if (free.look(c) != ~std::uint64_t{0}) continue;
      const std::uint64_t got = free.take(c, ~std::uint64_t{0});
      if (got == ~std::uint64_t{0}) {
        HEAPWOOD_ROLLED
        for (std::uint32_t k = 0; k < 64; ++k)
          state(c + k).fetch_add(of_kind(large), simt::relaxed);
        buddy_->adopt(c, 64);
        clear_hint(buddy_exhausted);
        end_search(no_full_word, true);
        return true;
      }
      if (got != 0) {
        // Frees the chunks that were taken. Other chunks of the word may have been freed meanwhile,
        // so the word may be full now.
        free.raise(c, got);
        clear_hint(exhausted);
        clear_hint(no_full_word);
      }
    }
    end_search(no_full_word, false);
    return false;
  }

  std::byte* base_ = nullptr;
  std::byte* memory_ = nullptr;
  const Buddy* buddy_ = nullptr;
  Shape shape_;
  std::size_t words_at_ = 0, hints_at_ = 0, levels_at_ = 0, maps_at_ = 0, states_at_ = 0;
  std::uint32_t map_words_ = 0;
};

}  // namespace heapwood::alloc::ouroboros
