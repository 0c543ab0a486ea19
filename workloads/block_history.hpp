// SPDX-License-Identifier: MIT
// Reconstructs the life of every block and the gaps between blocks from a recording
// (alloc/recording/recording.hpp). Host code.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <unordered_map>
#include <vector>

#include "alloc/recording/recording.hpp"

namespace heapwood::workloads {

inline constexpr std::uint32_t never = ~0u;

// A block's life, in numbers of events. The block is in use from event `born` up to, and not
// including, `released`. Its memory is reusable from `died` on: `released` if the allocator frees.
struct Block {
  std::uint64_t offset = 0, bytes = 0;
  std::uint32_t born = 0, released = never, died = never;
  std::uint32_t warp = 0;
  bool in_use(std::uint32_t time) const { return born < time && time <= released; }
  bool occupies(std::uint32_t time) const { return born < time && time <= died; }
};

// The blocks that a recording describes.
struct BlockHistory {
  std::vector<Block> blocks;  // in order of birth
  // Frees of addresses at which no block was recorded: 0 unless the recording was cut off.
  std::uint64_t unmatched_frees = 0;
  // Blocks allocated over memory in use: 0 for an allocator that keeps live memory.
  std::uint64_t overlaps = 0;
};

// The state of the pool at one time, from the recording alone. The requested bytes of blocks,
// padded to the granule, count as used; everything between them counts as gaps. The mark is the end
// of the highest block so far. Memory below the mark has been touched; the rest of the pool is one
// large gap, which would hide the gaps below it, so these are also reported alone.
struct Gaps {
  std::uint64_t used_bytes = 0, blocks = 0;  // bytes as requested
  std::uint64_t gap_bytes = 0, largest_gap_bytes = 0;
  // The mark, and the gaps below it.
  std::uint64_t mark_bytes = 0, below_bytes = 0, largest_below_bytes = 0;
  double external() const { return share(largest_gap_bytes, gap_bytes); }
  double external_below() const { return share(largest_below_bytes, below_bytes); }

 private:
  static double share(std::uint64_t largest, std::uint64_t all) {
    return all ? 1 - static_cast<double>(largest) / static_cast<double>(all) : 0;
  }
};

// The gaps between blocks, updated with each block.
class GapList {
 public:
  explicit GapList(std::uint64_t pool_bytes) {
    if (pool_bytes) add(0, pool_bytes);
  }
  void take(std::uint64_t begin, std::uint64_t end);
  void give(std::uint64_t begin, std::uint64_t end);
  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t largest() const { return sizes_.empty() ? 0 : *sizes_.rbegin(); }
  // The largest part of a gap below `mark`; only the last gap may extend beyond it.
  std::uint64_t largest_below(std::uint64_t mark) const;

 private:
  using Map = std::map<std::uint64_t, std::uint64_t>;
  void add(std::uint64_t begin, std::uint64_t end);
  Map::iterator remove(Map::iterator gap);

  Map gaps_;  // begin -> end
  std::multiset<std::uint64_t> sizes_;
  std::uint64_t bytes_ = 0;
};

// Makes the history of a recording event by event.
class HistoryBuilder {
 public:
  // `frees`: if the allocator never frees, released blocks keep their memory. `pool_bytes`: 0 if
  // offsets are not relative to a pool; then there are no gaps.
  HistoryBuilder(alloc::Frees frees, std::uint64_t pool_bytes)
      : frees_(frees), pool_bytes_(pool_bytes), list_(pool_bytes) {}

  void add(const alloc::RecordedEvent& event);
  const BlockHistory& history() const { return history_; }
  Gaps gaps() const;
  // The block in use that begins at this offset, or nullptr.
  const Block* in_use_at(std::uint64_t offset) const;

  // Estimates how many bytes a request occupies: the min distance so far from a block of that size
  // to the next block, headers included. If requests of one size always occupy the same number of
  // bytes, this is exact once two such blocks have been adjacent. Returns the padded size if no
  // block was ever found after one.
  std::uint64_t served_bytes(std::uint64_t requested) const;

 private:
  void allocate_block(const alloc::RecordedEvent& event);
  void free_block(const alloc::RecordedEvent& event);
  void release_memory(Block& block);
  void record_distance(std::uint64_t requested, std::uint64_t bytes);

  alloc::Frees frees_;
  std::uint64_t pool_bytes_;
  std::uint32_t time_ = 0;
  BlockHistory history_;
  // The numbers of the blocks that occupy memory, by offset.
  std::map<std::uint64_t, std::uint32_t> at_;
  GapList list_;
  std::uint64_t used_ = 0, mark_ = 0;
  std::unordered_map<std::uint64_t, std::uint64_t> nearest_;  // by bytes requested
};

}  // namespace heapwood::workloads
