// SPDX-License-Identifier: MIT
// A pool as one circular list of chunks, first fit from a moving offset: the allocators of RegEff section 5. What
// differs between the four is a template argument: headers in one word or two, one offset or one a multiprocessor.
// Differs from the paper:
//   - headers are in a table beside the memory (header_words.hpp). In the pool, as published, a thread that stalls
//     between reading a link and following it writes into user data; the paper assumes that this takes too long to
//     happen;
//   - a walk that a few chunks from the offset do not end, or that meets a chunk in another thread's hands, goes on at
//     a chunk of the pre-split that is large enough, drawn by hash; where that one is full, at one of the larger half
//     of them, and so on to the heap's root, and then behind the heaps. Only then does it go round the whole list. The
//     published walkers stay near the offset, where thousands of others have just taken everything;
//   - the chunks of the pre-split begin at anchors, which are never absorbed, so that a walk can begin there any time;
//   - a walker joins a free chunk that is too small to the free ones behind it; the published one joins in frees only;
//   - requests above a heap's largest chunk have an offset of their own, behind the heaps, where alone they are served;
//   - "full" is found out exactly: nullptr only after two laps in which every chunk was used or too small. A chunk that
//     is being split, joined or freed is waited for. The published walkers circle for ever.
// A chunk is split if it has at least twice the units asked for (the paper's maximum fragmentation of 2); a free
// absorbs the chunk behind it, if that is free.
// Limits: a request is served by one chunk, so the largest is the largest chunk. Units are 16 bytes up to pools of 8
// GiB, and double with every doubling beyond, because a link has 29 bits. Overhead: 4 or 8 bytes a unit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "alloc/primitives/presplit.hpp"

namespace heapwood::alloc {

// Offset i begins at its own heap, the last one behind them. An offset has its own 32-byte sector.
struct FirstOffset {
  static constexpr unsigned stride = 8;
  std::uint32_t* offsets;
  std::uint32_t heap_units;
  SIMT_FN void operator()(std::size_t i) const { offsets[i * stride] = static_cast<std::uint32_t>(i) * heap_units; }
};

template <class Headers, bool PerMultiprocessor>
class CircularList {
 public:
  template <class Thread>
  SIMT_INLINE void* allocate(Thread& thread, std::size_t bytes) {
    const std::uint64_t wanted = bytes == 0 ? 1 : (bytes - 1 + (std::uint64_t{1} << unit_shift_)) >> unit_shift_;
    if (bytes > (std::uint64_t{shape_.units} << unit_shift_)) return nullptr;
    const auto units = static_cast<std::uint32_t>(wanted);
    return attempt_until(thread, wait_, [&] { return attempt(thread, units); });
  }

  template <class Thread>
  SIMT_INLINE void deallocate(Thread& thread, void* block) {
    if (block == nullptr) return;
    const auto at = static_cast<std::uint32_t>((static_cast<std::byte*>(block) - memory_) >> unit_shift_);
    std::uint32_t link = headers_.owned(at);
    headers_.mark_busy(at, link);
    const std::uint32_t behind = link & header::next;  // lives on: only this thread may absorb it
    if (absorb(behind, link)) offset(offset_of(thread, at)).store(link & header::next, simt::relaxed);
    headers_.publish_free(at, link);
  }

  template <class Visitor>
  void walk(const HostView& host, Visitor visit) const {
    visit(Region{0, memory_offset_, Region::State::metadata});
    Window window{host, headers_, shape_.units};
    for (std::uint32_t at = 0; at < shape_.units;) {
      const auto [link, free] = window.read(at);
      const std::uint32_t next = link & header::next;
      if (next <= at) throw Error(Exit::failed, "circular list: broken link at unit " + std::to_string(at));
      visit(Region{memory_offset_ + bytes(at), bytes(next - at), free ? Region::State::free : Region::State::used});
      at = next;
    }
    const std::size_t end = memory_offset_ + bytes(shape_.units);
    if (end < pool_bytes_) visit(Region{end, pool_bytes_ - end, Region::State::metadata});
  }

 protected:
  template <class Device>
  void lay_out(const AllocatorTraits& traits, Pool pool, const AllocatorOptions& options, const Device& device) {
    check_pool(traits, pool);
    wait_ = options.wait_when_full;
    pool_bytes_ = pool.bytes;
    const std::uint32_t wanted_heaps = PerMultiprocessor ? std::max(1u, device.multiprocessors()) : 1;
    // A small pool has fewer heaps than that; then some offsets are not used.
    const std::uint32_t most_heaps =
        static_cast<std::uint32_t>(std::clamp<std::uint64_t>(pool.bytes / 1024, 1, wanted_heaps));
    const std::size_t table_offset =
        256 + round_up((most_heaps + 1) * FirstOffset::stride * sizeof(std::uint32_t), 256);
    const std::size_t rest = pool.bytes - table_offset - 256 - Headers::entry_bytes;
    std::uint64_t units = 0;
    for (unit_shift_ = 4; (units = rest / (bytes(1) + Headers::entry_bytes)) >= header::next;) ++unit_shift_;
    memory_offset_ = table_offset + round_up((units + 1) * Headers::entry_bytes, 256);
    memory_ = pool.base + memory_offset_;
    offsets_ = reinterpret_cast<std::uint32_t*>(pool.base + 256);
    headers_ = Headers::at(pool.base + table_offset, units + 1);
    const std::size_t smallest = (options.smallest_chunk + bytes(1) - 1) >> unit_shift_;
    shape_ = PresplitShape::choose(static_cast<std::uint32_t>(units), most_heaps,
                                   static_cast<std::uint32_t>(std::min<std::size_t>(smallest, units)));
    simt::device_fill(device.id(), pool.base, 0, memory_offset_);
    device.for_each(shape_.headers(), Presplit<Headers>{headers_, shape_});
    device.for_each(shape_.heaps + 1, FirstOffset{offsets_, shape_.heap_units});
  }

 private:
  static constexpr unsigned hops_from_offset = 4, hops_a_turn = 16, draws_a_level = 8, endless = ~0u;

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
        return {a[i] & ~(header::used | header::busy), (a[i] & header::used) == 0};
      } else {
        return {a[i], b[i] == Headers::free};
      }
    }
  };

  std::size_t bytes(std::uint32_t units) const { return std::size_t{units} << unit_shift_; }

  template <class Thread>
  SIMT_INLINE std::uint32_t heap(Thread& thread) const {
    return PerMultiprocessor ? thread.sm() % shape_.heaps : 0;
  }
  // The offset that what happens at `at` moves: the caller's, or that of the rest.
  template <class Thread>
  SIMT_INLINE std::uint32_t offset_of(Thread& thread, std::uint32_t at) const {
    return at < shape_.rest() ? heap(thread) : shape_.heaps;
  }
  // A hint where to begin, stored by whoever comes last: relaxed, and wrong values are found out by visit().
  SIMT_INLINE simt::atomic_ref<std::uint32_t> offset(std::uint32_t i) const {
    return simt::atomic_ref<std::uint32_t>(offsets_[i * FirstOffset::stride]);
  }

  // Where one of the chunks 1 ... count of a heap begins, another one for each thread and turn.
  template <class Thread>
  SIMT_INLINE std::uint32_t draw(Thread& thread, std::uint32_t count, std::uint32_t turn) const {
    std::uint32_t h = (thread.worker() * 32 + thread.lane() + (turn << 24)) * 0x9e3779b1u;
    h = (h ^ h >> 15) * 0x85ebca77u;
    h ^= h >> 13;
    return shape_.position(heap(thread), 1 + static_cast<std::uint32_t>(std::uint64_t{h} * count >> 32));
  }

  // Joins the chunk behind one's own to it; `link` is one's own.
  SIMT_INLINE bool absorb(std::uint32_t behind, std::uint32_t& link) const {
    std::uint32_t link_behind = 0;
    if (!headers_.take(behind, link_behind)) return false;
    headers_.erase(behind);
    link = (link & header::anchor) | (link_behind & header::next);
    return true;
  }

  // The block at the start of a claimed chunk that has the units.
  template <class Thread>
  SIMT_INLINE void* cut(Thread& thread, std::uint32_t at, std::uint32_t link, std::uint32_t units) {
    std::uint32_t next = link & header::next;
    if (next - at >= 2 * units) {
      headers_.publish_free(at + units, next);  // before the link that leads to it
      next = at + units;
    }
    headers_.publish_used(at, (link & header::anchor) | next);
    offset(offset_of(thread, at)).store(next, simt::relaxed);
    return memory_ + (std::uint64_t{at} << unit_shift_);
  }

  template <class Thread>
  SIMT_INLINE void* attempt(Thread& thread, std::uint32_t units) {
    // Chunks passed since the offset or the last draw; endless when draws are over, or no chunk of a heap is so large.
    std::uint32_t hops = units > shape_.root ? endless : 0;
    std::uint32_t turn = 0;  // draws, then laps
    std::uint32_t at = offset(units > shape_.root ? shape_.heaps : heap(thread)).load(simt::relaxed);
    std::uint32_t anchor = shape_.rest();  // the last one met
    SIMT_ROLLED
    for (;;) {
      Visit v = headers_.visit(at, units);
      if (v.found == Found::claimed) {
        SIMT_ROLLED
        while ((v.link & header::next) - at < units && absorb(v.link & header::next, v.link)) {
        }
        if ((v.link & header::next) - at >= units) return cut(thread, at, v.link, units);
        headers_.publish_free(at, v.link);
      }
      const bool at_anchor = (v.link & header::anchor) != 0;
      if (at_anchor) anchor = at;
      const bool passes = v.found != Found::nothing && v.found != Found::busy;
      // A draw ends at the next anchor, as the chunk drawn is full. Later draws are of larger chunks, and look further.
      const bool ends = !passes || (hops != 0 && at_anchor) || hops == hops_from_offset + hops_a_turn * turn;
      if (hops != endless && ends) {
        const std::uint32_t count = shape_.fits(units) >> turn / draws_a_level;
        at = count != 0 ? draw(thread, count, turn) : offset(shape_.heaps).load(simt::relaxed);
        hops = count != 0 ? 0 : endless;
        turn = count == 0 ? 0 : turn + (passes ? draws_a_level : 1);
      } else if (passes) {
        at = v.link & header::next;
        hops += hops != endless;
        if (at != 0) continue;
        if (hops == endless && ++turn > 2) return nullptr;
        if (units > shape_.root) at = shape_.rest();  // nothing in front of it can be large enough
      } else {
        // Waits for a thread that is running, not for a free that may never come.
        if (thread.aborted()) return nullptr;
        if (v.found == Found::nothing) at = anchor;  // absorbed after the position was read
        thread.pause(64);
      }
    }
  }

  std::byte* memory_ = nullptr;
  std::uint32_t* offsets_ = nullptr;
  Headers headers_;
  PresplitShape shape_;
  std::uint32_t unit_shift_ = 4;  // log2 of the bytes of a unit
  bool wait_ = false;
  std::size_t memory_offset_ = 0, pool_bytes_ = 0;
};

}  // namespace heapwood::alloc
