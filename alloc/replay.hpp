// SPDX-License-Identifier: MIT
// What a recording (recording.hpp) tells afterwards, or while it is written: the life of every block, and the gaps
// between blocks. Host code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "alloc/recording.hpp"

namespace heapwood::alloc {

inline constexpr std::uint32_t never = ~0u;

// Times are numbers of events. A block is in use from `born` up to, and not including, `released`; its memory can be
// handed out again from `died` on, which is the same time where the allocator frees.
struct Block {
  std::uint64_t offset = 0, bytes = 0;
  std::uint32_t born = 0, released = never, died = never;
  std::uint32_t warp = 0;
  bool in_use(std::uint32_t time) const { return born < time && time <= released; }
  bool occupies(std::uint32_t time) const { return born < time && time <= died; }
};

struct Replay {
  std::vector<Block> blocks;          // by birth
  std::uint64_t unmatched_frees = 0;  // of addresses where no block was: 0 unless the recording was cut off
  std::uint64_t overlaps = 0;         // blocks born over memory in use: 0 for an allocator that keeps live memory
};

// The pool at a time, from the recording alone: what blocks were asked for, padded to the granule, counts as used,
// everything between as a gap. Below the mark (the end of the highest block so far) lies what the allocator has touched;
// the rest of the pool is one gap, and so hides what happens below.
struct Gaps {
  std::uint64_t used_bytes = 0, blocks = 0;  // used: as requested
  std::uint64_t gap_bytes = 0, largest_gap_bytes = 0;
  std::uint64_t mark_bytes = 0, below_bytes = 0, largest_below_bytes = 0;  // the mark; gaps below it
  double external() const { return share(largest_gap_bytes, gap_bytes); }
  double external_below() const { return share(largest_below_bytes, below_bytes); }

 private:
  static double share(std::uint64_t largest, std::uint64_t all) {
    return all ? 1 - static_cast<double>(largest) / static_cast<double>(all) : 0;
  }
};

// The gaps between blocks, kept up to date block by block.
class GapList {
 public:
  explicit GapList(std::uint64_t pool_bytes) {
    if (pool_bytes) add(0, pool_bytes);
  }
  void take(std::uint64_t begin, std::uint64_t end);
  void give(std::uint64_t begin, std::uint64_t end);
  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t largest() const { return sizes_.empty() ? 0 : *sizes_.rbegin(); }
  // The largest piece of a gap below `mark`, where no gap but the last one reaches beyond it.
  std::uint64_t largest_below(std::uint64_t mark) const;

 private:
  using Map = std::map<std::uint64_t, std::uint64_t>;
  void add(std::uint64_t begin, std::uint64_t end);
  Map::iterator remove(Map::iterator gap);

  Map gaps_;  // begin -> end
  std::multiset<std::uint64_t> sizes_;
  std::uint64_t bytes_ = 0;
};

// Takes a recording line by line.
class Replayer {
 public:
  // `frees`: with an allocator that never frees, released blocks keep their memory. `pool_bytes` 0: offsets are not of
  // the pool, and there are no gaps.
  Replayer(Frees frees, std::uint64_t pool_bytes) : frees_(frees), pool_bytes_(pool_bytes), list_(pool_bytes) {}

  void add(const RecordedEvent& event);
  const Replay& replay() const { return replay_; }
  Gaps gaps() const;
  // The block in use that begins at this offset, or nullptr.
  const Block* in_use_at(std::uint64_t offset) const;

  // How many bytes a request seems to be served with: the smallest distance from a block of that size to the next block
  // that there has been so far, headers and all. Exact once two blocks have lain side by side, if requests of a size are
  // always served alike; the size itself, padded, where no block ever lay behind one.
  std::uint64_t served_bytes(std::uint64_t requested) const;

 private:
  void born(const RecordedEvent& event);
  void freed(const RecordedEvent& event);
  void die(Block& block);
  void see_distance(std::uint64_t requested, std::uint64_t bytes);

  Frees frees_;
  std::uint64_t pool_bytes_;
  std::uint32_t time_ = 0;
  Replay replay_;
  std::map<std::uint64_t, std::uint32_t> at_;  // blocks that occupy memory, by offset: their numbers
  GapList list_;
  std::uint64_t used_ = 0, mark_ = 0;
  std::unordered_map<std::uint64_t, std::uint64_t> nearest_;  // by bytes requested
};

Replay replay(std::span<const RecordedEvent> events, Frees frees);

}  // namespace heapwood::alloc
