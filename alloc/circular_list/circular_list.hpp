// SPDX-License-Identifier: MIT
// A pool as one circular list of chunks, searched first fit from a moving offset: the allocators of
// RegEff section 5, by template arguments. A chunk is split if it has at least twice the requested
// units (the paper's maximum fragmentation of 2). A free absorbs the next chunk if that is free, or
// with Joins::all (the paper's future work) all free chunks that follow.
//
// Differs from the paper:
// - headers are in a table beside the memory (presplit.hpp);
// - the list is divided into pieces (presplit.hpp). A search that does not succeed within a few
//   chunks of the offset, or that meets a chunk held by another thread, continues in a random
//   piece: first among the large enough ones of the caller's heap, then among larger ones, then
//   among those of the rest of the pool; only then does it visit all pieces in turn;
// - lanes of a warp that make the same request together share one search and get adjacent blocks;
// - a search merges a free chunk that is too small with the free ones after it;
// - a request larger than a piece of the rest and than what the heaps can serve takes whole
//   pieces of the rest;
// - exhaustion is exact: nullptr only after two laps in which every chunk was used or too small.
//   A chunk that is being split, merged or freed must be visited again.
//
// Limits: the largest request is the rest, half of the pool or more. Units are 16 bytes in pools up
// to 16 GiB and double with every doubling beyond, because a link has 30 bits. Overhead: 4 or 8
// bytes per unit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "alloc/circular_list/presplit.hpp"
#include "alloc/primitives/lane_group.hpp"
#include "alloc/primitives/word.hpp"

namespace heapwood::alloc {

enum class Joins { one, all };  // how many free chunks after a freed block are merged with it

template <class Headers, Offsets offset_count, Joins joins = Joins::one>
class CircularList {
 public:
  static constexpr AllocatorSetting settings[1] = {smallest_setting};

  template <class Thread>
  HEAPWOOD_INLINE void* allocate(Thread& thread, std::size_t bytes) {
    const std::uint64_t wanted =
        bytes == 0 ? 1 : (bytes - 1 + (std::uint64_t{1} << unit_shift_)) >> unit_shift_;
    if (bytes > (std::uint64_t{shape_.units} << unit_shift_)) return nullptr;
    const auto units = static_cast<std::uint32_t>(wanted);
    const bool large = units > shape_.rest_piece();
    return attempt_until(thread, wait_, [&]() -> void* {
      if (units <= shape_.root() || !large) {
        void* block = attempt(thread, units);
        if (block != nullptr || !large) return block;
      }
      return join_pieces(thread, units);
    });
  }

  template <class Thread>
  HEAPWOOD_INLINE void deallocate(Thread& thread, void* block) {
    if (block == nullptr) return;
    const auto position =
        static_cast<std::uint32_t>((static_cast<std::byte*>(block) - memory_) >> unit_shift_);
    std::uint32_t link = headers_.link_of_owned(position);
    headers_.mark_busy(position, link);
    const Piece piece = shape_.piece(position);
    if (link > piece.end) return free_pieces(position, link);
    const std::uint32_t absorbed = absorb(link, piece.end, joins == Joins::one ? 1 : ~0u);
    // A free that merges chunks moves the offset to the merged chunk's end (from the paper).
    if (absorbed != 0) move_offset(thread, link);
    if (absorbed != 1) pieces_.add_free_chunks(shape_.index(piece.begin), 1 - absorbed);
    pieces_.start(shape_.index(piece.begin)).store(position, simt::relaxed);
    headers_.publish_free(position, link);
  }

  template <class Visitor>
  void walk(const HostView& host, Visitor visit) const {
    visit(Region{0, memory_offset_, Region::State::metadata});
    Window window{host, headers_, shape_.units};
    // Adjacent free pieces of the rest are one region: a large request can take them together.
    std::uint32_t run = 0;
    const auto end_run = [&](std::uint32_t position) {
      if (run != 0)
        visit(Region{memory_offset_ + bytes(position - run), bytes(run), Region::State::free});
      run = 0;
    };
    for (std::uint32_t position = 0; position < shape_.units;) {
      const auto [next, free] = window.read(position);
      if (next <= position)
        throw Error(Exit::failed, "circular list: broken link at unit " + std::to_string(position));
      const Piece piece = shape_.piece(position);
      if (free && position >= shape_.rest() && position == piece.begin && next == piece.end) {
        run += next - position;
      } else {
        end_run(position);
        visit(Region{memory_offset_ + bytes(position), bytes(next - position),
                     free ? Region::State::free : Region::State::used});
      }
      position = next;
    }
    end_run(shape_.units);
    const std::size_t end = memory_offset_ + bytes(shape_.units);
    if (end < pool_bytes_) visit(Region{end, pool_bytes_ - end, Region::State::metadata});
  }

 protected:
  template <class Device>
  void lay_out(const AllocatorTraits& traits, Pool pool, const AllocatorOptions& options,
               const Device& device) {
    check_pool(traits, pool);
    wait_ = options.wait_when_full;
    pool_bytes_ = pool.bytes;
    const std::uint32_t wanted_heaps =
        offset_count == Offsets::per_multiprocessor ? std::max(1u, device.multiprocessors()) : 1;
    // A small pool has fewer heaps than offsets; then some offsets are not used.
    const std::uint32_t max_heaps =
        static_cast<std::uint32_t>(std::clamp<std::uint64_t>(pool.bytes / 1024, 1, wanted_heaps));
    const std::size_t table_offset =
        256 + round_up((max_heaps + 1) * FirstOffset::stride * sizeof(std::uint32_t), 256);
    // The table of pieces takes space from the units, whose number in turn determines the table's
    // size. Repeat until both fit.
    for (std::size_t pieces_bytes = 0, needed = 0;; pieces_bytes = needed) {
      const std::size_t rest =
          pool.bytes - table_offset - 512 - Headers::entry_bytes - pieces_bytes;
      std::uint64_t units = 0;
      for (unit_shift_ = 4; (units = rest / (bytes(1) + Headers::entry_bytes)) >= header::next;)
        ++unit_shift_;
      const std::size_t smallest = (options.smallest_chunk + bytes(1) - 1) >> unit_shift_;
      shape_ =
          PresplitShape::choose(static_cast<std::uint32_t>(units), max_heaps,
                                static_cast<std::uint32_t>(std::min<std::size_t>(smallest, units)));
      needed = PieceTable::bytes(shape_.table_size());
      if (needed <= pieces_bytes) break;
    }
    const std::size_t pieces_offset =
        table_offset + round_up((std::size_t{shape_.units} + 1) * Headers::entry_bytes, 256);
    memory_offset_ = pieces_offset + round_up(PieceTable::bytes(shape_.table_size()), 256);
    memory_ = pool.base + memory_offset_;
    offsets_ = as<std::uint32_t>(pool.base + 256);
    headers_ = Headers::in_table(pool.base + table_offset, std::uint64_t{shape_.units} + 1);
    pieces_ = PieceTable::in_table(pool.base + pieces_offset, shape_.table_size());
    simt::device_fill(device.id(), pool.base, 0, memory_offset_);
    device.for_each(shape_.headers(), Presplit<Headers>{headers_, pieces_, shape_});
    // The last offset is for requests that take whole pieces; it starts at the end of the heaps.
    device.for_each(shape_.heaps + 1, FirstOffset{offsets_, shape_.heap_units()});
  }

 private:
  // A search proceeds in turns. First it draws pieces of the heaps: from all that are large enough
  // and, after every draws_per_level turns, from half as many. Then it draws pieces of the rest.
  // Finally it makes laps over all pieces.
  static constexpr std::uint32_t hops_from_offset = 4, hops_per_turn = 8, draws_per_level = 16,
                                 first_rest_turn = draws_per_level * 32,
                                 first_lap = first_rest_turn + 4 * draws_per_level, own_turns = 18,
                                 max_hops_turn = 16;

  // The state of a search. `more` is the number of chunks that it may still visit in its piece;
  // during a lap, whether the search began in the middle of its piece.
  struct Walk {
    std::uint32_t position;
    Piece piece;
    std::uint32_t turn = 0, more = hops_from_offset;
  };

  // Reads headers for walk() in batches, because the table of a large pool takes gigabytes.
  struct Window {
    const HostView& host;
    Headers headers;
    std::uint32_t last;
    std::uint32_t first = 0;
    std::vector<std::uint32_t> a = {}, b = {};

    std::pair<std::uint32_t, bool> read(std::uint32_t position) {
      if (a.empty() || position - first >= a.size()) {
        first = position;
        const std::size_t count =
            std::min<std::size_t>(std::size_t{1} << 20, std::size_t{last} - position + 1);
        if constexpr (requires { headers.word; }) {
          a = host.read(headers.word + position, count);
        } else {
          a = host.read(headers.links + position, count);
          b = host.read(headers.state + position, count);
        }
      }
      const std::uint32_t i = position - first;
      if constexpr (requires { headers.word; }) {
        return {a[i] & header::next, (a[i] & header::used) == 0};
      } else {
        return {a[i], b[i] == Headers::free};
      }
    }
  };

  std::size_t bytes(std::uint32_t units) const { return std::size_t{units} << unit_shift_; }

  template <class Thread>
  HEAPWOOD_INLINE std::uint32_t heap(Thread& thread) const {
    return offset_count == Offsets::per_multiprocessor ? thread.sm() % shape_.heaps : 0;
  }
  // Offset i: a hint where searches begin, written by many threads. relaxed: visit() detects a
  // position where no chunk begins.
  HEAPWOOD_INLINE Word32 offset(std::uint32_t i) const {
    return Word32(offsets_[i * FirstOffset::stride]);
  }

  // Moves the caller's offset to the end of a new block, unless the block is in the rest of the
  // pool: offsets stay within the heaps.
  template <class Thread>
  HEAPWOOD_INLINE void move_offset(Thread& thread, std::uint32_t to) const {
    if (to < shape_.rest()) offset(heap(thread)).store(to, simt::relaxed);
  }

  // Merges the free chunks from `link` on into the caller's chunk, until that reaches `enough` or
  // `max_chunks` have been merged. Returns how many were merged.
  HEAPWOOD_INLINE std::uint32_t absorb(std::uint32_t& link, std::uint32_t enough,
                                       std::uint32_t max_chunks) const {
    std::uint32_t absorbed = 0;
    HEAPWOOD_ROLLED
    for (std::uint32_t next = 0;
         absorbed < max_chunks && link < enough && headers_.take(link, next); ++absorbed) {
      headers_.erase(link);
      link = next;
    }
    return absorbed;
  }

  template <class Thread>
  HEAPWOOD_INLINE void* attempt(Thread& thread, std::uint32_t units) {
    // Lanes that make the same request together share the blocks of one chunk; the remaining lanes
    // continue alone. The key is an address in the pool: lanes may call with different pools.
    LaneGroup<Thread> group(thread, thread.together(memory_ + units));
    HEAPWOOD_ROLLED
    for (;;) {
      const std::uint64_t found =
          group.once([&] { return search(thread, units, shape_.units_for(units, group.size())); });
      const auto position = high(found), end = low(found);
      const std::uint32_t blocks = group.has_one_lane() ? end != 0 : (end - position) / units,
                          i = group.rank();
      const std::uint32_t mine = position + i * units;
      if (!group.has_one_lane() && i < blocks) {
        // search() has published the chunk as one block. So far other threads can find only the
        // first lane's header. A thread that follows its link before the other headers are written
        // reads 0 and starts again.
        headers_.publish_used(mine, i + 1 < blocks ? mine + units : end);
      }
      // All headers must be written before any lane returns: a lane may free its block immediately,
      // and that free reads the next lane's header.
      group.sync();
      if (i < blocks) return memory_ + (std::uint64_t{mine} << unit_shift_);
      if (blocks == 0) return nullptr;
      group = LaneGroup<Thread>(thread, 1u << thread.lane());
    }
  }

  // Finds a chunk for one block or more, up to `wanted` units, and marks it used. Returns
  // {begin:32, end:32}, or 0 if there is none.
  template <class Thread>
  HEAPWOOD_INLINE std::uint64_t search(Thread& thread, std::uint32_t units,
                                       std::uint32_t wanted) const {
    Walk w{.position = offset(heap(thread)).load(simt::relaxed), .piece = {}};
    w.piece = shape_.piece(w.position);
    HEAPWOOD_ROLLED
    for (;;) {
      Visit v = headers_.visit(w.position, units, w.piece.end);
      if (v.found == Found::claimed) {
        // Merges following free chunks until there is enough for all lanes. The chunk is taken if
        // there is enough for one lane.
        std::uint32_t absorbed = absorb(
            v.link, w.position + wanted < w.piece.end ? w.position + wanted : w.piece.end, ~0u);
        const bool enough = v.link - w.position >= units;
        if (enough) {
          v.link = split_off(thread, w, v.link, units, wanted, absorbed);
        } else {
          headers_.publish_free(w.position, v.link);
        }
        if (absorbed != 0) pieces_.add_free_chunks(shape_.index(w.piece.begin), 0 - absorbed);
        if (enough) return std::uint64_t{w.position} << 32 | v.link;
      }
      if (!advance(thread, w, v, units, wanted)) return 0;
    }
  }

  // Frees the units of a chunk after the first `wanted`. If there are none, counts the chunk in
  // `removed`. Returns the new end of the chunk.
  template <class Thread>
  HEAPWOOD_INLINE std::uint32_t split_off(Thread& thread, const Walk& w, std::uint32_t end,
                                          std::uint32_t units, std::uint32_t wanted,
                                          std::uint32_t& removed) const {
    if (end - w.position >= wanted + units) {
      headers_.publish_free(w.position + wanted, end);  // written before the link that leads to it
      end = w.position + wanted;
    } else {
      ++removed;
    }
    // Published before lanes of the warp wait for each other: no lane may wait for a chunk that
    // another lane of its warp still holds.
    headers_.publish_used(w.position, end);
    pieces_.start(shape_.index(w.piece.begin)).store(end, simt::relaxed);
    move_offset(thread, end);
    return end;
  }

  // Advances to the next position. Returns false if the search is over.
  template <class Thread>
  HEAPWOOD_INLINE bool advance(Thread& thread, Walk& w, const Visit& v, std::uint32_t units,
                               std::uint32_t wanted) const {
    const bool lap = w.turn >= first_lap;
    if (v.found == Found::nothing) {
      // No chunk begins here: the chunk was absorbed after its position was read, or a block that
      // began in another piece covers it.
      if (w.position != w.piece.begin && (lap || w.more != 0)) {
        if (lap && thread.aborted()) return false;
        if (lap && w.more == 0) w.turn = first_lap;
        w.more = lap ? 0 : w.more - 1;
        w.position = w.piece.begin;
        return true;
      }
    } else if (lap) {
      // A chunk that another thread held during the last lap may be free by now, so the laps start
      // again. That thread is running, so this ends.
      if (v.found == Found::busy || v.found == Found::claimed) w.turn = first_lap;
      if (v.link < w.piece.end && v.link > w.position) {
        w.position = v.link;
        return (v.link & 255) != 0 || !thread.aborted();  // a lap over a large pool takes seconds
      }
      if (w.more != 0) {
        w.more = 0;
        w.position = w.piece.begin;
        return true;
      }
    } else if (v.found != Found::busy && v.link < w.piece.end && w.more != 0) {
      --w.more;
      w.position = v.link;
      return true;
    }
    const bool full = v.found != Found::busy && v.found != Found::nothing;
    return lap ? next_piece_of_lap(thread, w, units) : draw_piece(thread, w, full, units, wanted);
  }

  // Moves to the start position of `w.piece`. Returns false if that is full or too small.
  HEAPWOOD_INLINE bool enter_piece(Walk& w, std::uint32_t units) const {
    // Both loads are issued before either result is used.
    const std::uint32_t free_chunks =
        pieces_.free_chunks(shape_.index(w.piece.begin)).load(simt::relaxed);
    const std::uint32_t start = pieces_.start(shape_.index(w.piece.begin)).load(simt::relaxed);
    const bool inside = start > w.piece.begin && start < w.piece.end;
    w.position = inside ? start : w.piece.begin;
    w.more =
        w.turn < first_lap
            ? hops_from_offset + hops_per_turn * (w.turn < max_hops_turn ? w.turn : max_hops_turn)
            : inside;
    return free_chunks != 0 && w.piece.end - w.piece.begin >= units;
  }

  // Advances to the next piece of a lap that is large enough and not full. The search ends after
  // two complete laps, or three since a chunk was last held by a thread. The incomplete lap in
  // which it starts, or in which it meets such a chunk, does not count.
  template <class Thread>
  HEAPWOOD_INLINE bool next_piece_of_lap(Thread& thread, Walk& w, std::uint32_t units) const {
    HEAPWOOD_ROLLED
    for (std::uint32_t begin = w.piece.end;; begin = w.piece.end) {
      if (begin >= shape_.units) {
        if (++w.turn > first_lap + 3 || thread.aborted()) return false;
        if (w.turn == first_lap + 1) thread.pause(64);
        begin = 0;
      }
      w.piece = shape_.piece(begin);
      if (w.piece.end - begin < units) {
        w.piece.end = shape_.past_smaller(begin);
      } else if (enter_piece(w, units)) {
        return true;
      } else if (const std::uint32_t index = shape_.index(begin); pieces_.is_group_full(index)) {
        const std::uint32_t behind = shape_.begin_of(PieceTable::next_group(index));
        w.piece.end = behind > w.piece.end ? behind : w.piece.end;
      }
    }
  }

  // Draws a piece that may have space, a different one for each thread and turn: first from the
  // caller's heap, then from any heap, then from the rest. After a full piece, or after
  // `draws_per_level` others, only the larger half of the heaps' pieces remains to draw from. At
  // the end a lap over all pieces starts at the next piece. Returns false if that lap finds none.
  template <class Thread>
  HEAPWOOD_INLINE bool draw_piece(Thread& thread, Walk& w, bool full, std::uint32_t units,
                                  std::uint32_t wanted) const {
    if (wanted > shape_.root() && units <= shape_.root()) wanted = shape_.root();
    HEAPWOOD_ROLLED
    for (;; full = true) {
      std::uint32_t h = (thread.worker() * 32 + thread.lane() + w.turn * 0x5bd1e995u) * 0x9e3779b1u;
      h = (h ^ h >> 15) * 0x85ebca77u;
      h ^= h >> 13;
      const auto of = [&](std::uint32_t n) { return scaled(h, n); };
      const std::uint32_t fit =
          w.turn < first_rest_turn ? shape_.fits(wanted) >> w.turn / draws_per_level : 0;
      const bool own =
          offset_count == Offsets::per_multiprocessor && w.turn < own_turns && fit != 0;
      const std::uint32_t in_heaps = own ? fit : fit * shape_.heaps;
      // Heaps have few pieces of the size that a request for a large part of a piece of the rest
      // needs, so such a request draws from the rest as well.
      const bool rest_too = fit == 0 || (!own && wanted > shape_.rest_piece() / 1024);
      const std::uint32_t n = of(in_heaps + (rest_too ? shape_.rest_pieces() : 0));
      if (n < in_heaps) {
        h *= 0x9e3779b1u;
        w.piece = shape_.piece(
            shape_.position(own ? heap(thread) : of(shape_.heaps), 1 + (own ? n : n % fit)));
      } else {
        w.piece = shape_.piece(shape_.rest() + ((n - in_heaps) << shape_.rest_shift));
        if (fit == 0 && w.turn < first_rest_turn) w.turn = first_rest_turn;
      }
      w.turn += full ? draws_per_level : 1;
      if (w.turn >= first_lap) {
        w.turn = first_lap + 1;
        return next_piece_of_lap(thread, w, units);
      }
      if (enter_piece(w, units)) return true;
    }
  }

  // Takes adjacent whole pieces of the rest, for a request larger than one. No header of these
  // pieces is erased until all are held, and each piece that is held is marked busy, so threads
  // that search there visit it again. Everything is inlined: around a call, a kernel that is short
  // of registers would spill them.
  template <class Thread>
  HEAPWOOD_INLINE void* join_pieces(Thread& thread, std::uint32_t units) const {
    if (units > shape_.units - shape_.rest()) return nullptr;
    // The thread holds the pieces in [first, position).
    std::uint32_t position = offset(shape_.heaps).load(simt::relaxed), first = position;
    bool again = false;  // a chunk was held by another thread
    HEAPWOOD_ROLLED
    for (unsigned laps = 0;;) {
      // Claim the free chunks of the next piece, and hold the piece if it is wholly free.
      const Piece piece = shape_.piece(position);
      // At the list's tail this finds `used`.
      Visit v = headers_.visit(position, 1, piece.end);
      if (v.found == Found::claimed) {
        std::uint32_t end = v.link, absorbed = 0;
        HEAPWOOD_ROLLED
        while (end < piece.end && (v = headers_.visit(end, 1, piece.end)).found == Found::claimed) {
          headers_.erase(end);
          end = v.link;
          ++absorbed;
        }
        if (absorbed != 0) pieces_.add_free_chunks(shape_.index(position), 0 - absorbed);
        if (end == piece.end) {
          headers_.mark_busy(position, end);
          position = end;
          if (position - first < units) continue;
          // Turns the pieces that are held into one block.
          for (std::uint32_t p = first; p < position; p += shape_.rest_piece()) {
            pieces_.add_free_chunks(shape_.index(p), ~0u);
            if (p != first) headers_.erase(p);
          }
          offset(shape_.heaps)
              .store(position < shape_.units ? position : shape_.rest(), simt::relaxed);
          headers_.publish_used(first, position);
          return memory_ + (std::uint64_t{first} << unit_shift_);
        }
        headers_.publish_free(position, end);
      }
      // Releases all pieces and starts again after this one.
      again |= v.found == Found::busy;
      for (std::uint32_t p = first; p < position; p += shape_.rest_piece()) {
        headers_.publish_free(p, shape_.piece(p).end);
      }
      position = piece.end;
      if (position >= shape_.units || shape_.units - position < units) {
        if (again) laps = 0;
        if (++laps > 2 || thread.aborted()) return nullptr;
        if (again) thread.pause(64);
        again = false;
        position = shape_.rest();
      }
      first = position;
    }
  }

  // Splits a block of several pieces into those pieces, the last one first.
  HEAPWOOD_INLINE void free_pieces(std::uint32_t position, std::uint32_t end) const {
    for (std::uint32_t begin = end; begin != position;) {
      const Piece piece = shape_.piece(begin - 1);
      begin = piece.begin;
      pieces_.add_free_chunks(shape_.index(begin), 1);
      headers_.publish_free(begin, piece.end);
    }
  }

  std::byte* memory_ = nullptr;
  std::uint32_t* offsets_ = nullptr;
  Headers headers_;
  PieceTable pieces_;
  PresplitShape shape_;
  std::uint32_t unit_shift_ = 4;  // log2 of the bytes of a unit
  bool wait_ = false;
  std::size_t memory_offset_ = 0, pool_bytes_ = 0;
};

}  // namespace heapwood::alloc
