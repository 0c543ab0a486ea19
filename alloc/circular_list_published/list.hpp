// SPDX-License-Identifier: MIT
// The circular lists as published (RegEff sections 5.2 to 5.4, algorithm 3). A request searches
// from the offset of its multiprocessor for the first free chunk that is large enough. It locks
// each free chunk on its way and unlocks those that are too small. The chunk is split if it has at
// least twice the units (MAX_FRAG), and the offset moves behind the block. A free merges the next
// chunk if that is free, and then moves the offset behind it.
//
// Differs from the paper, so that every block has one owner and every call ends:
// - memory of a merged chunk is handed out only after the searches that may still read the header
//   in its middle have left (headers.hpp);
// - exhaustion is exact. A search that has found nothing makes one lap that locks only chunks that
//   are large enough, and returns nullptr if no large enough chunk was free or busy in that lap;
// - blocks are aligned to 16 bytes: a header takes 8 bytes of a unit of 16;
// - each offset has its own 32-byte sector.
//
// Template parameters switch to what the paper mentions but does not use (Links::both: a free also
// merges the previous chunk), and to the first two steps towards the redesigned lists
// (circular_list/circular_list.hpp): headers in a table, and searches that continue at a random
// chunk of the pre-split.
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

enum class Links { next, both };
enum class Walks { from_offset, drawn };

// Stores the position of the previous chunk in the 4 bytes before a header, or nothing.
struct NoPrevious {
  HEAPWOOD_INLINE void store(std::uint32_t, std::uint32_t) const {}
};
struct PreviousWords {
  std::byte* first = nullptr;
  HEAPWOOD_INLINE void store(std::uint32_t position, std::uint32_t previous) const {
    word(position).store(previous, simt::release);  // publishes the header of the previous chunk
  }
  HEAPWOOD_INLINE std::uint32_t load(std::uint32_t position) const {
    return word(position).load(simt::acquire);  // acquire: makes that header visible
  }

 private:
  HEAPWOOD_INLINE Word32 word(std::uint32_t position) const {
    return Word32(*as<std::uint32_t>(first + std::size_t{position} * granule));
  }
};

template <template <Storage> class Form, Offsets offset_count, Storage storage = Storage::in_pool,
          Links links = Links::next, Walks walks = Walks::from_offset>
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
  static constexpr bool in_pool = storage == Storage::in_pool, doubly = links == Links::both;
  static_assert(in_pool || !doubly, "the table has no place for a second link");
  static_assert(!in_pool || walks == Walks::from_offset,
                "only a table has a header at every drawn position");

  static constexpr std::uint32_t header_bytes = !in_pool ? 0 : doubly ? 16 : 8;
  static constexpr std::uint32_t min_chunk = doubly ? 2 : 1;  // units
  // MAX_FRAG of the paper: a chunk with this many times the units is split.
  static constexpr std::uint32_t max_fragmentation = 2;
  // How many times a search that has found only merged chunks waits for one.
  static constexpr std::uint32_t max_polls = 64;
  static constexpr std::uint32_t hops_per_draw = 8, own_draws = 16, max_draws = 32;
  // Chunk size of a uniform pre-split if none is given: a power of two of bytes that gives about
  // max_uniform_chunks chunks, but at least min_uniform_chunk. A pool below 1 MiB has fewer chunks.
  static constexpr std::uint64_t max_uniform_chunks = 1024, min_uniform_chunk = 1024;

  using Headers = Form<storage>;
  using Previous = std::conditional_t<doubly, PreviousWords, NoPrevious>;

 public:
  template <class Thread>
  HEAPWOOD_INLINE void* allocate(Thread& thread, std::size_t bytes) {
    if (bytes > std::size_t{shape_.units} * granule) return nullptr;
    const auto wanted = static_cast<std::uint32_t>(
        ((bytes == 0 ? 1 : bytes) + header_bytes + granule - 1) / granule);
    const std::uint32_t units = wanted < min_chunk ? min_chunk : wanted;
    return attempt_until(thread, wait_, [&] { return search(thread, units); });
  }

  template <class Thread>
  HEAPWOOD_INLINE void deallocate(Thread& thread, void* block) {
    if (block == nullptr) return;
    std::uint32_t position = position_of(block), end = headers_.link_of_owned(position), period = 0;
    Header next;
    if (headers_.try_lock(end, next)) {
      merge(position, end, next.link);
      // Moved before the merged chunk is free. Otherwise that chunk could be merged with the one at
      // the link, and the offset would lead to a dead header. release: publishes the header at the
      // link to readers of the offset.
      offset(mine(thread)).store(next.link, simt::release);
      end = next.link;
      period = in_pool ? grace_.reusable_after() : 0;
    }
    if constexpr (doubly) {
      // Protects the previous chunk's header, which may be merged meanwhile.
      const Section section = grace_.enter(thread);
      Header before;
      const std::uint32_t previous = previous_.load(position);
      if (position != 0 && headers_.try_lock(previous, before)) {
        if (before.link == position) {
          merge(previous, position, end);
          position = previous;
          period = grace_.reusable_after();
        } else {
          headers_.publish(previous, State::free, before.period, before.link);
        }
      }
      headers_.publish(position, State::free, period, end);
      grace_.leave(section);
    } else {
      headers_.publish(position, State::free, period, end);
    }
  }

  template <class Visitor>
  void walk(const HostView& host, Visitor visit) const {
    std::size_t metadata = 0;  // offset at which the current metadata region begins
    std::vector<std::byte> window;
    std::uint32_t first = 0;
    for (std::uint32_t position = 0; position < shape_.units;) {
      constexpr std::size_t stride = Headers::stride;
      if (window.empty() || (position - first) * stride + 8 > window.size()) {
        first = position;
        window =
            host.read(headers_.address(position),
                      std::min<std::size_t>(std::size_t{1} << 20,
                                            std::size_t{shape_.units - position} * stride + 8));
      }
      const Header h = Headers::decode(window.data() + (position - first) * stride);
      if (h.link <= position || h.link > shape_.units)
        throw Error(Exit::failed, "circular list: broken link at unit " + std::to_string(position));
      const std::size_t begin = memory_offset_ + block_offset(position),
                        end = memory_offset_ + block_offset(h.link) - header_bytes;
      if (end > begin) {
        if (begin > metadata) visit(Region{metadata, begin - metadata, Region::State::metadata});
        const bool free = h.state == State::free;
        visit(Region{begin, end - begin, free ? Region::State::free : Region::State::used});
        metadata = end;
      }
      position = h.link;
    }
    if (metadata < pool_bytes_)
      visit(Region{metadata, pool_bytes_ - metadata, Region::State::metadata});
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
    const std::uint32_t groups = std::min(max_offsets, Grace::max_groups);
    const std::size_t groups_offset = 64,
                      offsets_offset = groups_offset + groups * sizeof(GraceGroup),
                      tables = round_up(offsets_offset + offsets * FirstOffset::stride * 4, 256);
    constexpr std::size_t table_entry = in_pool ? 0 : Headers::stride;
    const std::size_t units = std::min<std::size_t>(
        (pool.bytes - tables - 2 * granule - 2 * table_entry) / (granule + table_entry),
        ~std::uint32_t{0} - 31);
    memory_offset_ = round_up(tables + (units + 1) * table_entry, granule);
    memory_ = pool.base + memory_offset_;
    headers_.first = in_pool ? memory_ + granule - 8 : pool.base + tables;
    if constexpr (doubly) previous_.first = memory_ + granule - 12;
    offsets_ = as<std::uint32_t>(pool.base + offsets_offset);
    grace_ = Grace(reinterpret_cast<GraceWords*>(pool.base),
                   reinterpret_cast<GraceGroup*>(pool.base + groups_offset), groups);
    using enum AllocatorOptions::Presplit;
    const auto presplit = options.presplit;
    std::size_t chunk = presplit == root || presplit == payload
                            ? options.request_bytes + header_bytes
                            : options.smallest_chunk;
    if (presplit == uniform && chunk == 0)
      chunk = std::max(min_uniform_chunk, simt::bit_floor(pool.bytes / max_uniform_chunks));
    const auto units_of_chunk = static_cast<std::uint32_t>(
        std::clamp<std::size_t>((chunk + granule - 1) / granule, min_chunk, units));
    shape_ = (presplit == uniform ? Shape::uniform
              : presplit == root
                  ? Shape::from_root
                  : Shape::choose)(static_cast<std::uint32_t>(units), offsets, units_of_chunk);
    simt::device_fill(device.id(), pool.base, 0, tables);
    device.for_each(shape_.headers(), WriteHeaders<Headers, Previous>{headers_, previous_, shape_});
    device.for_each(shape_.offsets, FirstOffset{offsets_, shape_.units_per_offset()});
  }

 private:
  static HEAPWOOD_INLINE std::size_t block_offset(std::uint32_t position) {
    return (std::size_t{position} + in_pool) * granule;
  }
  HEAPWOOD_INLINE std::uint32_t position_of(void* block) const {
    return static_cast<std::uint32_t>((static_cast<std::byte*>(block) - memory_) / granule) -
           in_pool;
  }
  template <class Thread>
  HEAPWOOD_INLINE std::uint32_t mine(Thread& thread) const {
    return offset_count == Offsets::per_multiprocessor ? thread.sm() % shape_.offsets : 0;
  }
  HEAPWOOD_INLINE Word32 offset(std::uint32_t i) const {
    return Word32(offsets_[i * FirstOffset::stride]);
  }

  // Merges the locked chunk at `second`, which ends at `end`, with the caller's chunk before it.
  HEAPWOOD_INLINE void merge(std::uint32_t position, std::uint32_t second,
                             std::uint32_t end) const {
    headers_.publish(position, State::busy, 0, end);
    headers_.publish(second, State::dead, 0, end);
    previous_.store(end, position);
  }

  // Searches from the offset, as published, first past merged chunks that other threads may still
  // read; then it waits for such a chunk; before it refuses, it makes a lap from the start.
  template <class Thread>
  HEAPWOOD_INLINE void* search(Thread& thread, std::uint32_t units) const {
    std::uint32_t polls = 0;
    bool refusing = false, merged = false;
    HEAPWOOD_ROLLED
    for (unsigned turn = 0;; ++turn) {
      Section section;
      if (in_pool) section = grace_.enter(thread);
      std::uint32_t position = 0, end = 0;
      const bool stops = merged && polls < max_polls;
      const Result result = lap(thread, units, refusing, stops, position, end, merged);
      if (result == Result::found) end = take(thread, position, end, units);
      if (in_pool) grace_.leave(section);
      // Begins and ends periods even if no thread waits for one.
      if (in_pool && (merged || refusing)) grace_.poll([this] { move_offsets(); });
      if (result == Result::found) return memory_ + block_offset(position);
      if (result == Result::refused || thread.aborted()) return nullptr;
      if (result == Result::merged_chunk) {
        ++polls;
        // A long pause: the threads that the grace period waits for need the processor.
        thread.pause(turn + 64);
      } else if (!refusing) {
        refusing = !merged || stops || polls > 0;
      } else {
        thread.pause(turn);
      }
    }
  }

  enum class Result : std::uint32_t { found, nothing, busy, merged_chunk, refused };

  // One lap, from the offset or, if it is `refusing`, from the start of the pool, whose header is
  // never dead. Sets `merged` if a chunk was large enough, but other threads may still read in it.
  // Results: found: the chunk from `position` to `end` is locked. merged_chunk (only if `stops`):
  // such a chunk. busy: a refusing lap has met a large enough chunk that may become free; refused:
  // it has met none.
  template <class Thread>
  HEAPWOOD_INLINE Result lap(Thread& thread, std::uint32_t units, bool refusing, bool stops,
                             std::uint32_t& position, std::uint32_t& end, bool& merged) const {
    // acquire: makes the header at the offset visible.
    position = refusing ? 0 : offset(mine(thread)).load(simt::acquire);
    std::uint32_t start = position, hops = 0, draws = 0;
    bool wrapped = false, seen_busy = false;
    HEAPWOOD_ROLLED
    for (;;) {
      Header h;
      bool locked = false;
      if (refusing) h = headers_.snapshot(position);
      if (!refusing || (h.state == State::free && h.link - position >= units))
        locked = headers_.try_lock(position, h);
      const bool large = h.link - position >= units;
      if (locked) {
        if (large && (!in_pool || grace_.has_passed(h.period))) {
          end = h.link;
          return Result::found;
        }
        headers_.publish(position, State::free, h.period, h.link);
        merged |= large;
        if (large && stops) return Result::merged_chunk;
      }
      seen_busy |= large && h.state != State::used;
      if (walks == Walks::drawn && !refusing && ++hops % hops_per_draw == 0 && draws < max_draws &&
          draw(thread, units, draws, h.link)) {
        start = h.link;
        wrapped = false;
      } else if (h.link < position) {
        wrapped = true;
      }
      if ((h.link & 255) == 0 && thread.aborted()) return Result::busy;
      if (wrapped && h.link >= start) break;
      position = h.link;
    }
    return !refusing ? Result::nothing : seen_busy ? Result::busy : Result::refused;
  }

  // Splits the locked chunk, publishes the block and moves the offset behind it. Returns its end.
  //
  // No thread may get the remainder while a link still leads past it. The chunk behind it could be
  // merged with it, and a search that begins after the grace period would follow that link into
  // user data. So the remainder is busy until all links lead to it, and the offset is moved last.
  // The chunk at `end` cannot be merged with the block meanwhile, because the caller owns the
  // block.
  template <class Thread>
  HEAPWOOD_INLINE std::uint32_t take(Thread& thread, std::uint32_t position, std::uint32_t end,
                                     std::uint32_t units) const {
    if (end - position >= units + min_chunk && (end - position) / max_fragmentation >= units) {
      const std::uint32_t rest = position + units;
      if constexpr (in_pool) {
        headers_.init(rest, State::busy, end);
      } else {  // a thread with an old position may find the remainder immediately
        headers_.publish(rest, State::busy, 0, end);
      }
      previous_.store(rest, position);
      headers_.publish(position, State::used, 0, rest);
      previous_.store(end, rest);
      headers_.publish(rest, State::free, 0, end);
      end = rest;
    } else {
      headers_.publish(position, State::used, 0, end);
    }
    // release: publishes the header at `end` to readers of the offset.
    offset(mine(thread)).store(end, simt::release);
    return end;
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

  // Moves offsets that lead to a dead header to the next one that is not.
  HEAPWOOD_INLINE void move_offsets() const {
    HEAPWOOD_ROLLED
    for (std::uint32_t i = 0; i < (offset_count == Offsets::one ? 1 : shape_.offsets); ++i) {
      std::uint32_t seen = offset(i).load(simt::acquire), to = seen;  // acquire: see lap()
      Header h;
      HEAPWOOD_ROLLED
      while ((h = headers_.snapshot(to)).state == State::dead) to = h.link;
      // release: publishes the header at the new position. An offset that another thread has
      // changed meanwhile stays: its new chunk was not dead at that time.
      if (to != seen) offset(i).compare_exchange_strong(seen, to, simt::release, simt::relaxed);
    }
  }

  std::byte* memory_ = nullptr;
  std::uint32_t* offsets_ = nullptr;
  Headers headers_;
  Previous previous_;
  Grace grace_;
  Shape shape_;
  bool wait_ = false;
  std::size_t memory_offset_ = 0, pool_bytes_ = 0;
};

}  // namespace heapwood::alloc::published
