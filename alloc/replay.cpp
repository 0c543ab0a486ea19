// SPDX-License-Identifier: MIT
#include "alloc/recording.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace heapwood::alloc {

Replay replay(std::span<const RecordedEvent> events, Frees frees) {
  Replay result;
  std::map<std::uint64_t, std::uint32_t> at;  // blocks that occupy memory, by offset: their numbers
  for (std::size_t i = 0; i < events.size(); ++i) {
    const RecordedEvent& event = events[i];
    const std::uint64_t offset = event.offset();
    const auto time = static_cast<std::uint32_t>(i);
    if (event.kind() == RecordedEvent::Kind::allocate) {
      const std::uint64_t end = offset + padded(event.bytes);
      auto next = at.lower_bound(offset);
      if (next != at.begin()) {
        const auto before = std::prev(next);
        const Block& block = result.blocks[before->second];
        if (block.offset + padded(block.bytes) > offset) next = before;
      }
      // An allocator that never frees may come round and hand memory out again.
      while (next != at.end() && next->first < end) {
        Block& old = result.blocks[next->second];
        old.died = time;
        result.overlaps += old.released > time;
        next = at.erase(next);
      }
      at[offset] = static_cast<std::uint32_t>(result.blocks.size());
      result.blocks.push_back({offset, event.bytes, time, never, never, event.warp()});
    } else if (event.kind() == RecordedEvent::Kind::free) {
      const auto found = at.find(offset);
      if (found == at.end() || result.blocks[found->second].released != never) {
        ++result.unmatched_frees;
        continue;
      }
      Block& block = result.blocks[found->second];
      block.released = time;
      if (frees == Frees::never) continue;
      block.died = time;
      at.erase(found);
    }
  }
  return result;
}

namespace {

// Gaps between blocks, kept up to date block by block.
class GapList {
 public:
  explicit GapList(std::uint64_t pool_bytes) {
    if (pool_bytes) add(0, pool_bytes);
  }
  void take(std::uint64_t begin, std::uint64_t end) {
    auto gap = gaps_.upper_bound(begin);
    if (gap == gaps_.begin()) return;
    --gap;
    const auto [first, last] = *gap;
    if (last < end) return;  // over another block: an allocator that does not keep live memory
    remove(gap);
    if (first < begin) add(first, begin);
    if (end < last) add(end, last);
  }
  void give(std::uint64_t begin, std::uint64_t end) {
    auto next = gaps_.lower_bound(begin);
    if (next != gaps_.end() && next->first == end) {
      end = next->second;
      next = remove(next);
    }
    if (next != gaps_.begin()) {
      const auto before = std::prev(next);
      if (before->second == begin) {
        begin = before->first;
        remove(before);
      }
    }
    add(begin, end);
  }
  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t largest() const { return sizes_.empty() ? 0 : *sizes_.rbegin(); }

 private:
  using Map = std::map<std::uint64_t, std::uint64_t>;
  void add(std::uint64_t begin, std::uint64_t end) {
    gaps_[begin] = end;
    sizes_.insert(end - begin);
    bytes_ += end - begin;
  }
  Map::iterator remove(Map::iterator gap) {
    sizes_.erase(sizes_.find(gap->second - gap->first));
    bytes_ -= gap->second - gap->first;
    return gaps_.erase(gap);
  }

  Map gaps_;  // begin -> end
  std::multiset<std::uint64_t> sizes_;
  std::uint64_t bytes_ = 0;
};

}  // namespace

std::vector<Gaps> gaps(const Replay& replay, std::uint64_t pool_bytes, std::span<const std::uint32_t> times) {
  struct Change {
    std::uint32_t time, block;
    bool born;
  };
  std::vector<Change> changes;
  changes.reserve(2 * replay.blocks.size());
  for (std::uint32_t i = 0; i < replay.blocks.size(); ++i) {
    changes.push_back({replay.blocks[i].born, i, true});
    if (replay.blocks[i].died != never) changes.push_back({replay.blocks[i].died, i, false});
  }
  // A block that dies makes room for the one that is born over it at the same time.
  std::sort(changes.begin(), changes.end(),
            [](const Change& a, const Change& b) { return a.time != b.time ? a.time < b.time : a.born < b.born; });
  GapList list(pool_bytes);
  Gaps now;
  std::vector<Gaps> result;
  auto change = changes.begin();
  for (const std::uint32_t time : times) {
    for (; change != changes.end() && change->time < time; ++change) {
      const Block& block = replay.blocks[change->block];
      const std::uint64_t end = block.offset + padded(block.bytes);
      if (change->born) {
        list.take(block.offset, end);
        now.used_bytes += block.bytes;
        ++now.blocks;
      } else {
        list.give(block.offset, end);
        now.used_bytes -= block.bytes;
        --now.blocks;
      }
    }
    now.gap_bytes = list.bytes();
    now.largest_gap_bytes = list.largest();
    result.push_back(now);
  }
  return result;
}

}  // namespace heapwood::alloc
