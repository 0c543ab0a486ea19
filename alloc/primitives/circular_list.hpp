// SPDX-License-Identifier: MIT
// A pool as one circular list of chunks, first fit from a moving offset: the allocators of RegEff section 5. What
// differs between them are template arguments: headers in one word or two, one offset or one a multiprocessor, and
// whether a free joins all free chunks behind it (the paper's future work) or one.
// Differs from the paper:
//   - headers are in a table beside the memory (header_words.hpp). In the pool, as published, a thread that stalls
//     between reading a link and following it writes into user data; the paper assumes that this takes too long to
//     happen;
//   - the list is cut into pieces (presplit.hpp) that free chunks do not grow beyond. A walk that a few chunks from the
//     offset do not end, or that meets a chunk in another thread's hands, goes on in a piece drawn by hash among those of
//     the caller's heap that were made large enough, later among the larger ones, then among those of the rest, and only
//     then goes round all pieces. The published walkers stay near the offset, where thousands of others have just taken
//     everything;
//   - a piece counts its free chunks, and one that has none costs a walk one load;
//   - lanes of a warp that ask together for the same make one walk, and get blocks side by side;
//   - a walker joins a free chunk that is too small to the free ones behind it; the published one joins in frees only;
//   - a request above a piece of the rest, and above what the heaps can serve, takes whole pieces there;
//   - "full" is found out exactly: nullptr only after two laps in which every chunk was used or too small. A chunk that
//     is being split, joined or freed has to be looked at again. The published walkers circle for ever.
// A chunk is split if it has at least twice the units asked for (the paper's maximum fragmentation of 2); a free
// absorbs the chunk behind it, if that is free.
// Limits: the largest request is the rest, half of the pool or more. Units are 16 bytes up to pools of 16 GiB, and double
// with every doubling beyond, because a link has 30 bits. Overhead: 4 or 8 bytes a unit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "alloc/primitives/lane_group.hpp"
#include "alloc/primitives/presplit.hpp"

namespace heapwood::alloc {

// Offset i begins at its own heap, the last one behind them. An offset has its own 32-byte sector.
struct FirstOffset {
  static constexpr unsigned stride = 8;
  std::uint32_t* offsets;
  std::uint32_t heap_units;
  SIMT_FN void operator()(std::size_t i) const { offsets[i * stride] = static_cast<std::uint32_t>(i) * heap_units; }
};

enum class Offsets { one, per_multiprocessor };
enum class Joins { one, all };  // free chunks behind a block that is freed

template <class Headers, Offsets offset_count, Joins joins = Joins::one>
class CircularList {
 public:
  template <class Thread>
  SIMT_INLINE void* allocate(Thread& thread, std::size_t bytes) {
    const std::uint64_t wanted = bytes == 0 ? 1 : (bytes - 1 + (std::uint64_t{1} << unit_shift_)) >> unit_shift_;
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
  SIMT_INLINE void deallocate(Thread& thread, void* block) {
    if (block == nullptr) return;
    const auto at = static_cast<std::uint32_t>((static_cast<std::byte*>(block) - memory_) >> unit_shift_);
    std::uint32_t link = headers_.owned(at);
    headers_.mark_busy(at, link);
    const Piece piece = shape_.piece(at);
    if (link > piece.end) return free_pieces(at, link);
    const std::uint32_t absorbed = absorb(link, piece.end, joins == Joins::one ? 1 : ~0u);
    // The offset of the paper; what was not merged is no news to it.
    if (absorbed != 0) move_offset(thread, link);
    if (absorbed != 1) pieces_.count(shape_.index(piece.begin), 1 - absorbed);
    pieces_.start(shape_.index(piece.begin)).store(at, simt::relaxed);
    headers_.publish_free(at, link);
  }

  template <class Visitor>
  void walk(const HostView& host, Visitor visit) const {
    visit(Region{0, memory_offset_, Region::State::metadata});
    Window window{host, headers_, shape_.units};
    // Free pieces of the rest, one behind the other, are one region: a large request can have them.
    std::uint32_t run = 0;
    const auto end_run = [&](std::uint32_t at) {
      if (run != 0) visit(Region{memory_offset_ + bytes(at - run), bytes(run), Region::State::free});
      run = 0;
    };
    for (std::uint32_t at = 0; at < shape_.units;) {
      const auto [next, free] = window.read(at);
      if (next <= at) throw Error(Exit::failed, "circular list: broken link at unit " + std::to_string(at));
      const Piece piece = shape_.piece(at);
      if (free && at >= shape_.rest() && at == piece.begin && next == piece.end) {
        run += next - at;
      } else {
        end_run(at);
        visit(Region{memory_offset_ + bytes(at), bytes(next - at), free ? Region::State::free : Region::State::used});
      }
      at = next;
    }
    end_run(shape_.units);
    const std::size_t end = memory_offset_ + bytes(shape_.units);
    if (end < pool_bytes_) visit(Region{end, pool_bytes_ - end, Region::State::metadata});
  }

 protected:
  template <class Device>
  void lay_out(const AllocatorTraits& traits, Pool pool, const AllocatorOptions& options, const Device& device) {
    check_pool(traits, pool);
    wait_ = options.wait_when_full;
    pool_bytes_ = pool.bytes;
    const std::uint32_t wanted_heaps =
        offset_count == Offsets::per_multiprocessor ? std::max(1u, device.multiprocessors()) : 1;
    // A small pool has fewer heaps than that; then some offsets are not used.
    const std::uint32_t most_heaps =
        static_cast<std::uint32_t>(std::clamp<std::uint64_t>(pool.bytes / 1024, 1, wanted_heaps));
    const std::size_t table_offset =
        256 + round_up((most_heaps + 1) * FirstOffset::stride * sizeof(std::uint32_t), 256);
    // What the table of pieces needs is lost to the units.
    for (std::size_t pieces_bytes = 0, needed = 0;; pieces_bytes = needed) {
      const std::size_t rest = pool.bytes - table_offset - 512 - Headers::entry_bytes - pieces_bytes;
      std::uint64_t units = 0;
      for (unit_shift_ = 4; (units = rest / (bytes(1) + Headers::entry_bytes)) >= header::next;) ++unit_shift_;
      const std::size_t smallest = (options.smallest_chunk + bytes(1) - 1) >> unit_shift_;
      shape_ = PresplitShape::choose(static_cast<std::uint32_t>(units), most_heaps,
                                     static_cast<std::uint32_t>(std::min<std::size_t>(smallest, units)));
      needed = PieceTable::bytes(shape_.table_size());
      if (needed <= pieces_bytes) break;
    }
    const std::size_t pieces_offset =
        table_offset + round_up((std::size_t{shape_.units} + 1) * Headers::entry_bytes, 256);
    memory_offset_ = pieces_offset + round_up(PieceTable::bytes(shape_.table_size()), 256);
    memory_ = pool.base + memory_offset_;
    offsets_ = reinterpret_cast<std::uint32_t*>(pool.base + 256);
    headers_ = Headers::at(pool.base + table_offset, std::uint64_t{shape_.units} + 1);
    pieces_ = PieceTable::at(pool.base + pieces_offset, shape_.table_size());
    simt::device_fill(device.id(), pool.base, 0, memory_offset_);
    device.for_each(shape_.headers(), Presplit<Headers>{headers_, pieces_, shape_});
    device.for_each(shape_.heaps + 1, FirstOffset{offsets_, shape_.heap_units()});
  }

 private:
  // A walk's turns: draws in heaps, a few among so many pieces and then among half as many; draws in the rest; laps.
  static constexpr std::uint32_t hops_from_offset = 4, hops_a_turn = 8, draws_a_level = 16,
                                 first_rest_turn = draws_a_level * 32, first_lap = first_rest_turn + 4 * draws_a_level,
                                 own_turns = 18, most_hops_turn = 16;

  // Where a walk is. `more` hops are left in its piece; in a lap, whether it has begun in the middle of its piece.
  struct Walk {
    std::uint32_t at;
    Piece piece;
    std::uint32_t turn = 0, more = hops_from_offset;
  };

  // Reads headers for walk() a stretch at a time: the table of a large pool is gigabytes.
  struct Window {
    const HostView& host;
    Headers headers;
    std::uint32_t last;
    std::uint32_t first = 0;
    std::vector<std::uint32_t> a = {}, b = {};

    std::pair<std::uint32_t, bool> read(std::uint32_t at) {
      if (a.empty() || at - first >= a.size()) {
        first = at;
        const std::size_t count = std::min<std::size_t>(std::size_t{1} << 20, std::size_t{last} - at + 1);
        if constexpr (requires { headers.word; }) {
          a = host.read(headers.word + at, count);
        } else {
          a = host.read(headers.links + at, count);
          b = host.read(headers.state + at, count);
        }
      }
      const std::uint32_t i = at - first;
      if constexpr (requires { headers.word; }) {
        return {a[i] & header::next, (a[i] & header::used) == 0};
      } else {
        return {a[i], b[i] == Headers::free};
      }
    }
  };

  std::size_t bytes(std::uint32_t units) const { return std::size_t{units} << unit_shift_; }

  template <class Thread>
  SIMT_INLINE std::uint32_t heap(Thread& thread) const {
    return offset_count == Offsets::per_multiprocessor ? thread.sm() % shape_.heaps : 0;
  }
  // A hint where to begin, stored by whoever comes last: relaxed, and wrong values are found out by visit().
  SIMT_INLINE simt::atomic_ref<std::uint32_t> offset(std::uint32_t i) const {
    return simt::atomic_ref<std::uint32_t>(offsets_[i * FirstOffset::stride]);
  }

  // The caller's, to where a block has just ended; those in the rest do not lead it away from the heaps.
  template <class Thread>
  SIMT_INLINE void move_offset(Thread& thread, std::uint32_t to) const {
    if (to < shape_.rest()) offset(heap(thread)).store(to, simt::relaxed);
  }

  // Joins free chunks behind one's own, from `link` on, to it, up to `most` of them and up to where it reaches `enough`.
  // Returns how many.
  SIMT_INLINE std::uint32_t absorb(std::uint32_t& link, std::uint32_t enough, std::uint32_t most) const {
    std::uint32_t absorbed = 0;
    SIMT_ROLLED
    for (std::uint32_t next = 0; absorbed < most && link < enough && headers_.take(link, next); ++absorbed) {
      headers_.erase(link);
      link = next;
    }
    return absorbed;
  }

  template <class Thread>
  SIMT_INLINE void* attempt(Thread& thread, std::uint32_t units) {
    // Lanes that ask for the same together act as one, and get what one chunk has for them. The others go on alone.
    LaneGroup<Thread> group(thread, thread.together(reinterpret_cast<const void*>(static_cast<std::uintptr_t>(units))));
    SIMT_ROLLED
    for (;;) {
      const std::uint64_t found = group.once([&] { return search(thread, units, group.size()); });
      const auto at = static_cast<std::uint32_t>(found >> 32), end = static_cast<std::uint32_t>(found);
      const std::uint32_t blocks = group.alone() ? end != 0 : (end - at) / units, i = group.rank();
      const std::uint32_t mine = at + i * units;
      if (!group.alone() && i < blocks) {
        // search() has published the whole as one block. Of these headers only the first lane's can be found yet, and a
        // walker that it leads ahead of the others begins again.
        headers_.publish_used(mine, i + 1 < blocks ? mine + units : end);
      }
      // A lane's neighbour may free its block at once, and looks at the header behind it.
      group.sync();
      if (i < blocks) return memory_ + (std::uint64_t{mine} << unit_shift_);
      if (blocks == 0) return nullptr;
      group = LaneGroup<Thread>(thread, 1u << thread.lane());
    }
  }

  // A chunk for up to `lanes` blocks, at least one: {begin:32, end:32}, in use. 0 if there is none.
  template <class Thread>
  SIMT_INLINE std::uint64_t search(Thread& thread, std::uint32_t units, std::uint32_t lanes) const {
    Walk w{.at = offset(heap(thread)).load(simt::relaxed), .piece = {}};
    w.piece = shape_.piece(w.at);
    SIMT_ROLLED
    for (;;) {
      Visit v = headers_.visit(w.at, units, w.piece.end);
      if (v.found == Found::claimed) {
        // As many as the lanes want, or as one of them needs.
        std::uint32_t absorbed =
            absorb(v.link, w.at + units * lanes < w.piece.end ? w.at + units * lanes : w.piece.end, ~0u);
        const bool enough = v.link - w.at >= units;
        if (enough) {
          v.link = cut(thread, w, v.link, units, units * lanes, absorbed);
        } else {
          headers_.publish_free(w.at, v.link);
        }
        if (absorbed != 0) pieces_.count(shape_.index(w.piece.begin), 0 - absorbed);
        if (enough) return std::uint64_t{w.at} << 32 | v.link;
      }
      if (!go_on(thread, w, v, units, lanes)) return 0;
    }
  }

  // Gives back what is behind `wanted` units; counts in `gone` if nothing is. Returns where the chunk ends now.
  template <class Thread>
  SIMT_INLINE std::uint32_t cut(Thread& thread, const Walk& w, std::uint32_t end, std::uint32_t units,
                                std::uint32_t wanted, std::uint32_t& gone) const {
    if (end - w.at >= wanted + units) {
      headers_.publish_free(w.at + wanted, end);  // before the link that leads to it
      end = w.at + wanted;
    } else {
      ++gone;
    }
    // Before lanes of the warp wait for each other: none of them may wait for a chunk that another one still holds.
    headers_.publish_used(w.at, end);
    pieces_.start(shape_.index(w.piece.begin)).store(end, simt::relaxed);
    move_offset(thread, end);
    return end;
  }

  // Moves on to the next position to look at. False if the walk is over.
  template <class Thread>
  SIMT_INLINE bool go_on(Thread& thread, Walk& w, const Visit& v, std::uint32_t units, std::uint32_t lanes) const {
    const bool lap = w.turn >= first_lap;
    if (v.found == Found::nothing) {
      // Absorbed after the position was read, or in a block that began in another piece.
      if (w.at != w.piece.begin && (lap || w.more != 0)) {
        if (lap && thread.aborted()) return false;
        if (lap && w.more == 0) w.turn = first_lap;
        w.more = lap ? 0 : w.more - 1;
        w.at = w.piece.begin;
        return true;
      }
    } else if (lap) {
      // Memory may appear where a thread is at work, this one among them. That is no wait for a free that may never come.
      if (v.found == Found::busy || v.found == Found::claimed) w.turn = first_lap;
      if (v.link < w.piece.end && v.link > w.at) {
        w.at = v.link;
        return true;
      }
      if (w.more != 0) {
        w.more = 0;
        w.at = w.piece.begin;
        return true;
      }
    } else if (v.found != Found::busy && v.link < w.piece.end && w.more != 0) {
      --w.more;
      w.at = v.link;
      return true;
    }
    const bool full = v.found != Found::busy && v.found != Found::nothing;
    return lap ? next_of_lap(thread, w, units) : draw(thread, w, full, units, lanes);
  }

  // Goes to where walks through the piece `w.piece` begin. False if that is full or too small.
  SIMT_INLINE bool enter(Walk& w, std::uint32_t units) const {
    // Both are in flight together.
    const std::uint32_t free_chunks = pieces_.free_chunks(shape_.index(w.piece.begin)).load(simt::relaxed);
    const std::uint32_t start = pieces_.start(shape_.index(w.piece.begin)).load(simt::relaxed);
    const bool inside = start > w.piece.begin && start < w.piece.end;
    w.at = inside ? start : w.piece.begin;
    w.more = w.turn < first_lap ? hops_from_offset + hops_a_turn * (w.turn < most_hops_turn ? w.turn : most_hops_turn)
                                : inside;
    return free_chunks != 0 && w.piece.end - w.piece.begin >= units;
  }

  // The next piece of a lap that is large enough and not full. Laps are over when two have ended since the last time that a
  // chunk was in another thread's hands; the walk came into the first one in the middle.
  template <class Thread>
  SIMT_INLINE bool next_of_lap(Thread& thread, Walk& w, std::uint32_t units) const {
    SIMT_ROLLED
    for (std::uint32_t begin = w.piece.end;; begin = w.piece.end) {
      if (begin >= shape_.units) {
        if (++w.turn > first_lap + 3 || thread.aborted()) return false;
        if (w.turn == first_lap + 1) thread.pause(64);
        begin = 0;
      }
      w.piece = shape_.piece(begin);
      if (w.piece.end - begin < units) {
        w.piece.end = shape_.past_smaller(begin);
      } else if (enter(w, units)) {
        return true;
      } else if (const std::uint32_t index = shape_.index(begin); pieces_.none_around(index)) {
        const std::uint32_t behind = shape_.begin_of(PieceTable::behind(index));
        w.piece.end = behind > w.piece.end ? behind : w.piece.end;
      }
    }
  }

  // A piece that may have room, another one for each thread and turn: of the caller's heap, then of any, and of the larger
  // half of those if one was full; then of the rest; then the next one, from which on a lap goes round all. False where
  // that has none.
  template <class Thread>
  SIMT_INLINE bool draw(Thread& thread, Walk& w, bool full, std::uint32_t units, std::uint32_t lanes) const {
    const std::uint32_t wanted = units * lanes < shape_.root() || units > shape_.root() ? units * lanes : shape_.root();
    SIMT_ROLLED
    for (;; full = true) {
      std::uint32_t h = (thread.worker() * 32 + thread.lane() + w.turn * 0x5bd1e995u) * 0x9e3779b1u;
      h = (h ^ h >> 15) * 0x85ebca77u;
      h ^= h >> 13;
      const auto of = [&](std::uint32_t n) { return static_cast<std::uint32_t>(std::uint64_t{h} * n >> 32); };
      const std::uint32_t fit = w.turn < first_rest_turn ? shape_.fits(wanted) >> w.turn / draws_a_level : 0;
      const bool own = offset_count == Offsets::per_multiprocessor && w.turn < own_turns && fit != 0;
      const std::uint32_t in_heaps = own ? fit : fit * shape_.heaps;
      // What needs a good part of a piece of the rest finds few of its size in a heap.
      const bool rest_too = fit == 0 || (!own && wanted > shape_.rest_piece() / 1024);
      const std::uint32_t n = of(in_heaps + (rest_too ? shape_.rest_pieces() : 0));
      if (n < in_heaps) {
        h *= 0x9e3779b1u;
        w.piece = shape_.piece(shape_.position(own ? heap(thread) : of(shape_.heaps), 1 + (own ? n : n % fit)));
      } else {
        w.piece = shape_.piece(shape_.rest() + ((n - in_heaps) << shape_.rest_shift));
        if (fit == 0 && w.turn < first_rest_turn) w.turn = first_rest_turn;
      }
      w.turn += full ? draws_a_level : 1;
      if (w.turn >= first_lap) {
        w.turn = first_lap + 1;
        return next_of_lap(thread, w, units);
      }
      if (enter(w, units)) return true;
    }
  }

  // Whole pieces of the rest, one behind the other, for a request that is larger than one. Until it has all, nothing is
  // erased, and every piece that it holds is busy: who looks for memory there looks again. All of this is compiled in:
  // a call out of line makes a kernel that is short of registers spill around it.
  template <class Thread>
  SIMT_INLINE void* join_pieces(Thread& thread, std::uint32_t units) const {
    if (units > shape_.units - shape_.rest()) return nullptr;
    std::uint32_t at = offset(shape_.heaps).load(simt::relaxed), first = at;  // it holds what is between them
    bool again = false;                                                       // a chunk was in another thread's hands
    SIMT_ROLLED
    for (unsigned laps = 0;;) {
      const Piece piece = shape_.piece(at);
      Visit v = headers_.visit(at, 1, piece.end);  // that of the tail is used
      if (v.found == Found::claimed) {
        std::uint32_t end = v.link, absorbed = 0;
        SIMT_ROLLED
        while (end < piece.end && (v = headers_.visit(end, 1, piece.end)).found == Found::claimed) {
          headers_.erase(end);
          end = v.link;
          ++absorbed;
        }
        if (absorbed != 0) pieces_.count(shape_.index(at), 0 - absorbed);
        if (end == piece.end) {
          headers_.mark_busy(at, end);
          at = end;
          if (at - first < units) continue;
          for (std::uint32_t p = first; p < at; p += shape_.rest_piece()) {
            pieces_.count(shape_.index(p), ~0u);
            if (p != first) headers_.erase(p);
          }
          offset(shape_.heaps).store(at < shape_.units ? at : shape_.rest(), simt::relaxed);
          headers_.publish_used(first, at);
          return memory_ + (std::uint64_t{first} << unit_shift_);
        }
        headers_.publish_free(at, end);
      }
      again |= v.found == Found::busy;
      for (std::uint32_t p = first; p < at; p += shape_.rest_piece()) {
        headers_.publish_free(p, shape_.piece(p).end);
      }
      at = piece.end;
      if (at >= shape_.units || shape_.units - at < units) {
        if (again) laps = 0;
        if (++laps > 2 || thread.aborted()) return nullptr;
        if (again) thread.pause(64);
        again = false;
        at = shape_.rest();
      }
      first = at;
    }
  }

  // A block of several pieces becomes that again, the last one first.
  SIMT_INLINE void free_pieces(std::uint32_t at, std::uint32_t end) const {
    for (std::uint32_t begin = end; begin != at;) {
      const Piece piece = shape_.piece(begin - 1);
      begin = piece.begin;
      pieces_.count(shape_.index(begin), 1);
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
