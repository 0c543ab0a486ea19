// SPDX-License-Identifier: MIT
// The circular lists as published (RegEff sections 5.2 to 5.4, algorithm 3). A request searches
// from the offset of its multiprocessor for the first free chunk that is large enough. It locks
// each free chunk on its way and unlocks those that are too small. The chunk is split if it has at
// least twice the units (MAX_FRAG), and the offset moves behind the block. A free merges the next
// chunk if that is free, and then moves the offset behind it.
//
// Differs from the paper, so that every block has one owner and every call ends:
// - headers are in a separate table (headers.hpp), 8 bytes per unit of 16 bytes;
// - exhaustion is exact. A search that has found nothing makes laps that lock only chunks that are
//   large enough, and returns nullptr after a lap in which no such chunk was free or busy;
// - blocks are aligned to 16 bytes; each offset has its own 32-byte sector.
//
// Walks::drawn is a step towards the redesigned lists (circular_list/circular_list.hpp): searches
// continue at a random chunk of the pre-split.
//
// Limits: the largest request is the largest chunk; no thread merges chunks for a request. 64 GiB
// of a larger pool are used. A request that finds nothing visits every chunk twice.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "alloc/circular_list/presplit.hpp"
#include "alloc/circular_list_published/headers.hpp"
#include "alloc/primitives/word.hpp"

namespace heapwood::alloc::published {

enum class Walks { from_offset, drawn };

template <class Headers, Offsets offset_count, Walks walks = Walks::from_offset>
class List {
 public:
  static constexpr AllocatorSetting settings[2] = {
      smallest_setting,
      setting_of<&AllocatorOptions::presplit>(
          {.key = "presplit",
           .json = "presplit",
           .about = "the first chunks are the paper's heaps (equation 1), or all of `smallest` "
                    "bytes, by default 1/1024 of the pool or less; larger requests are refused; "
                    "payload, root: its authors' chunks for tests and for builds",
           .words = "heap uniform payload root"})};

 private:
  // MAX_FRAG of the paper: a chunk with this many times the units is split.
  static constexpr std::uint32_t max_fragmentation = 2;
  static constexpr std::uint32_t hops_per_draw = 8, own_draws = 16, max_draws = 32;
  // Chunk size of a uniform pre-split if none is given: a power of two of bytes that gives about
  // max_uniform_chunks chunks, but at least min_uniform_chunk. A pool below 1 MiB has fewer chunks.
  static constexpr std::uint64_t max_uniform_chunks = 1024, min_uniform_chunk = 1024;

 public:
  template <class Thread>
  HEAPWOOD_INLINE void* allocate(Thread& thread, std::size_t bytes) {
    if (bytes > std::size_t{shape_.units} * granule) return nullptr;
    const auto units =
        static_cast<std::uint32_t>(((bytes == 0 ? 1 : bytes) + granule - 1) / granule);
    return attempt_until(thread, wait_, [&] { return search(thread, units); });
  }

  template <class Thread>
  HEAPWOOD_INLINE void deallocate(Thread& thread, void* block) {
    if (block == nullptr) return;
    const std::uint32_t position = position_of(block);
    std::uint32_t end = headers_.link_of_owned(position);
    Header next;
    const bool merges = headers_.try_lock(end, next);
    if (merges) {
      end = next.link;
      offset(mine(thread)).store(end, simt::relaxed);
    }
    headers_.free(position, end, merges);
  }

  template <class Visitor>
  void walk(const HostView& host, Visitor visit) const {
    visit(Region{0, memory_offset_, Region::State::metadata});
    std::vector<std::byte> window;
    std::uint32_t first = 0;
    for (std::uint32_t position = 0; position < shape_.units;) {
      constexpr std::size_t entry = Headers::entry_bytes;
      if (position - first >= window.size() / entry) {
        first = position & ~headers_.group_mask;
        const std::size_t left = (shape_.units | headers_.group_mask) + std::size_t{1} - first;
        window = host.read(headers_.address(first), entry * std::min<std::size_t>(left, 1 << 17));
      }
      const Header h =
          Headers::decode(window.data() + (headers_.address(position) - headers_.address(first)));
      if (h.link <= position || h.link > shape_.units)
        throw Error(Exit::failed, "circular list: broken link at unit " + std::to_string(position));
      visit(Region{memory_offset_ + block_offset(position), block_offset(h.link - position),
                   h.state == State::free ? Region::State::free : Region::State::used});
      position = h.link;
    }
    const std::size_t end = memory_offset_ + block_offset(shape_.units);
    if (end < pool_bytes_) visit(Region{end, pool_bytes_ - end, Region::State::metadata});
  }

 protected:
  template <class Device>
  void lay_out(const AllocatorTraits& traits, Pool pool, const AllocatorOptions& options,
               const Device& device) {
    check_pool(traits, pool);
    wait_ = options.wait_when_full;
    pool_bytes_ = pool.bytes;
    // A small pool has fewer offsets than multiprocessors.
    const auto max_offsets = static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(pool.bytes / 1024, 1, std::max(1u, device.multiprocessors())));
    const std::uint32_t offsets = offset_count == Offsets::per_multiprocessor ? max_offsets : 1;
    const std::size_t tables = round_up(offsets * FirstOffset::stride * 4, 256);
    constexpr std::size_t entry = Headers::entry_bytes;
    headers_.group_mask = pool.bytes < 1 << 16 ? 0 : 255;
    const std::size_t padding = 2 * granule + (headers_.group_mask + 2) * entry;
    const std::size_t units = std::min<std::size_t>(
        (pool.bytes - tables - padding) / (granule + entry), ~std::uint32_t{0} - 31);
    memory_offset_ = round_up(tables + ((units | headers_.group_mask) + 1) * entry, granule);
    memory_ = pool.base + memory_offset_;
    headers_.first = pool.base + tables;
    offsets_ = as<std::uint32_t>(pool.base);
    using enum AllocatorOptions::Presplit;
    const auto presplit = options.presplit;
    std::size_t chunk =
        presplit == root || presplit == payload ? options.request_bytes : options.smallest_chunk;
    if (presplit == uniform && chunk == 0)
      chunk = std::max(min_uniform_chunk, simt::bit_floor(pool.bytes / max_uniform_chunks));
    const auto units_of_chunk = static_cast<std::uint32_t>(
        std::clamp<std::size_t>((chunk + granule - 1) / granule, 1, units));
    shape_ = (presplit == uniform ? Shape::uniform
              : presplit == root
                  ? Shape::from_root
                  : Shape::choose)(static_cast<std::uint32_t>(units), offsets, units_of_chunk);
    simt::device_fill(device.id(), pool.base, 0, memory_offset_);
    device.for_each(shape_.headers(), WriteHeaders<Headers>{headers_, shape_});
    device.for_each(shape_.offsets, FirstOffset{offsets_, shape_.units_per_offset()});
  }

 private:
  static HEAPWOOD_INLINE std::size_t block_offset(std::uint32_t position) {
    return std::size_t{position} * granule;
  }
  HEAPWOOD_INLINE std::uint32_t position_of(void* block) const {
    return static_cast<std::uint32_t>((static_cast<std::byte*>(block) - memory_) / granule);
  }
  template <class Thread>
  HEAPWOOD_INLINE std::uint32_t mine(Thread& thread) const {
    return offset_count == Offsets::per_multiprocessor ? thread.sm() % shape_.offsets : 0;
  }
  // relaxed: see headers.hpp.
  HEAPWOOD_INLINE Word32 offset(std::uint32_t i) const {
    return Word32(offsets_[i * FirstOffset::stride]);
  }

  // Searches from the offset, as published, and then in laps from the start of the pool.
  template <class Thread>
  HEAPWOOD_INLINE void* search(Thread& thread, std::uint32_t units) const {
    HEAPWOOD_ROLLED
    for (unsigned turn = 0;; ++turn) {
      std::uint32_t position = 0, end = 0;
      const Result result = lap(thread, units, turn > 0, position, end);
      if (result == Result::found) {
        take(thread, position, end, units);
        return memory_ + block_offset(position);
      }
      if (result == Result::refused || thread.aborted()) return nullptr;
      if (turn > 0) thread.pause(turn);
    }
  }

  enum class Result : std::uint32_t { found, nothing, busy, refused };

  // One lap, from the offset or, if it is `refusing`, from the start of the pool, which is never
  // merged. found: the chunk from `position` to `end` is locked. busy: a refusing lap has met a
  // large enough chunk that may become free; refused: it has met none.
  template <class Thread>
  HEAPWOOD_INLINE Result lap(Thread& thread, std::uint32_t units, bool refusing,
                             std::uint32_t& position, std::uint32_t& end) const {
    position = refusing ? 0 : offset(mine(thread)).load(simt::relaxed);
    std::uint32_t start = position, hops = 0, draws = 0;
    bool wrapped = false, seen_busy = false;
    HEAPWOOD_ROLLED
    for (;;) {
      // A chunk that another thread locks first has been free: it counts as busy.
      Header h, seen;
      if (refusing) seen = headers_.snapshot(position);
      const bool tries = !refusing || (seen.state == State::free && seen.link - position >= units);
      const bool locked = tries && headers_.try_lock(position, h);
      if (refusing && !locked) h = seen;
      const bool large = h.link - position >= units;
      if (locked && large) {
        end = h.link;
        return Result::found;
      }
      if (locked) headers_.leave(position, State::free);
      seen_busy |= large && h.state != State::used;
      ++hops;
      if (walks == Walks::drawn && !refusing && hops % hops_per_draw == 0 && draws < max_draws &&
          draw(thread, units, draws, h.link)) {
        start = h.link;
        wrapped = false;
      } else if (h.link < position) {
        wrapped = true;
      }
      // Counted in hops: the links between large chunks are multiples of every power of two.
      if (hops % 256 == 0 && thread.aborted()) return Result::busy;
      if (wrapped && h.link >= start) break;
      position = h.link;
    }
    return !refusing ? Result::nothing : seen_busy ? Result::busy : Result::refused;
  }

  // Splits the locked chunk if it is large, makes it a block and moves the offset behind the block.
  template <class Thread>
  HEAPWOOD_INLINE void take(Thread& thread, std::uint32_t position, std::uint32_t end,
                            std::uint32_t units) const {
    if (end - position > units && (end - position) / max_fragmentation >= units) {
      headers_.split(position, position + units, end);
      end = position + units;
    } else {
      headers_.leave(position, State::used);
    }
    offset(mine(thread)).store(end, simt::relaxed);
  }

  // Draws a chunk of the pre-split that was large enough: in the caller's heaps, later in any.
  template <class Thread>
  HEAPWOOD_INLINE bool draw(Thread& thread, std::uint32_t units, std::uint32_t& draws,
                            std::uint32_t& to) const {
    const std::uint32_t fit = shape_.fits(units);
    if (fit == 0) return false;
    std::uint32_t h = (thread.worker() * 32 + thread.lane() + draws * 0x5bd1e995u) * 0x9e3779b1u;
    h = (h ^ h >> 15) * 0x85ebca77u;
    h ^= h >> 13;
    const bool own = draws++ < own_draws;
    const std::uint32_t among = own ? shape_.heaps_per_offset() : shape_.heaps;
    const std::uint32_t heap = (own ? mine(thread) * among : 0) + scaled(h * 0x9e3779b1u, among);
    to = shape_.chunk(heap, 1 + scaled(h, fit)).position;
    return true;
  }

  std::byte* memory_ = nullptr;
  std::uint32_t* offsets_ = nullptr;
  Headers headers_;
  Shape shape_;
  bool wait_ = false;
  std::size_t memory_offset_ = 0, pool_bytes_ = 0;
};

}  // namespace heapwood::alloc::published
