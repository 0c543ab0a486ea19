// SPDX-License-Identifier: MIT
#include "workloads/block_history.hpp"

#include <algorithm>

namespace heapwood::workloads {

void GapList::take(std::uint64_t begin, std::uint64_t end) {
  auto gap = gaps_.upper_bound(begin);
  if (gap == gaps_.begin()) return;
  --gap;
  const auto [first, last] = *gap;
  // The block overlaps another one, because the allocator does not keep live memory.
  if (last < end) return;
  remove(gap);
  if (first < begin) add(first, begin);
  if (end < last) add(end, last);
}

void GapList::give(std::uint64_t begin, std::uint64_t end) {
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

std::uint64_t GapList::largest_below(std::uint64_t mark) const {
  if (gaps_.empty()) return 0;
  const auto [begin, end] = *gaps_.rbegin();
  if (end <= mark) return largest();
  const std::uint64_t part = begin < mark ? mark - begin : 0;
  // Only the part of the last gap below the mark counts. If the last gap is the largest of all, the
  // largest other gap is the second largest.
  auto size = sizes_.rbegin();
  if (*size == end - begin) ++size;
  return size == sizes_.rend() ? part : std::max(part, *size);
}

void GapList::add(std::uint64_t begin, std::uint64_t end) {
  gaps_[begin] = end;
  sizes_.insert(end - begin);
  bytes_ += end - begin;
}

GapList::Map::iterator GapList::remove(Map::iterator gap) {
  sizes_.erase(sizes_.find(gap->second - gap->first));
  bytes_ -= gap->second - gap->first;
  return gaps_.erase(gap);
}

void HistoryBuilder::add(const alloc::RecordedEvent& event) {
  event.kind() == alloc::RecordedEvent::Kind::allocate ? allocate_block(event) : free_block(event);
  ++time_;
}

void HistoryBuilder::allocate_block(const alloc::RecordedEvent& event) {
  const std::uint64_t offset = event.offset(), end = offset + alloc::padded(event.bytes);
  auto next = at_.lower_bound(offset);
  if (next != at_.begin()) {
    const auto before = std::prev(next);
    const Block& block = history_.blocks[before->second];
    if (block.offset + alloc::padded(block.bytes) > offset) {
      next = before;
    } else {
      record_distance(block.bytes, offset - block.offset);
    }
  }
  // An allocator that never frees may wrap around and reuse memory.
  while (next != at_.end() && next->first < end) {
    Block& old = history_.blocks[next->second];
    history_.overlaps += old.released > time_;
    release_memory(old);
    next = at_.erase(next);
  }
  if (next != at_.end()) record_distance(event.bytes, next->first - offset);
  at_[offset] = static_cast<std::uint32_t>(history_.blocks.size());
  history_.blocks.push_back({offset, event.bytes, time_, never, never, event.warp()});
  used_ += event.bytes;
  mark_ = std::max(mark_, end);
  if (pool_bytes_) list_.take(offset, end);
}

void HistoryBuilder::free_block(const alloc::RecordedEvent& event) {
  const auto found = at_.find(event.offset());
  if (found == at_.end() || history_.blocks[found->second].released != never) {
    ++history_.unmatched_frees;
    return;
  }
  Block& block = history_.blocks[found->second];
  block.released = time_;
  if (frees_ == alloc::Frees::never) return;
  release_memory(block);
  at_.erase(found);
}

void HistoryBuilder::release_memory(Block& block) {
  block.died = time_;
  used_ -= block.bytes;
  if (pool_bytes_) list_.give(block.offset, block.offset + alloc::padded(block.bytes));
}

void HistoryBuilder::record_distance(std::uint64_t requested, std::uint64_t bytes) {
  const auto [known, is_new] = nearest_.try_emplace(requested, bytes);
  if (!is_new) known->second = std::min(known->second, bytes);
}

std::uint64_t HistoryBuilder::served_bytes(std::uint64_t requested) const {
  const auto known = nearest_.find(requested);
  return known == nearest_.end() ? alloc::padded(requested) : known->second;
}

const Block* HistoryBuilder::in_use_at(std::uint64_t offset) const {
  const auto found = at_.find(offset);
  if (found == at_.end() || history_.blocks[found->second].released != never) return nullptr;
  return &history_.blocks[found->second];
}

Gaps HistoryBuilder::gaps() const {
  Gaps now;
  now.used_bytes = used_;
  now.blocks = at_.size();
  if (!pool_bytes_) return now;
  now.gap_bytes = list_.bytes();
  now.largest_gap_bytes = list_.largest();
  now.mark_bytes = std::min(mark_, pool_bytes_);
  now.below_bytes = now.gap_bytes - std::min(now.gap_bytes, pool_bytes_ - now.mark_bytes);
  now.largest_below_bytes = list_.largest_below(now.mark_bytes);
  return now;
}

}  // namespace heapwood::workloads
