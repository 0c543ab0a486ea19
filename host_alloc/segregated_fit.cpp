// SPDX-License-Identifier: MIT
#include "host_alloc/segregated_fit.hpp"

#include <algorithm>

namespace heapwood::host_alloc {

namespace {

using State = Block::State;

constexpr std::size_t round_up(std::size_t value, std::size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

SegregatedFit::SegregatedFit(std::unique_ptr<simt::VirtualRange> range,
                             const HostAllocatorOptions& options, unsigned second_level_bits)
    : range_(std::move(range), options), lists_(second_level_bits) {
  blocks_.reserve(4096);
  first_ = insert(none, 0, range_.bytes(), State::unmapped);
  unmapped_.push(blocks_, first_);
  if (options.initial_bytes == 0) return;
  const std::size_t initial = range_.whole(options.initial_bytes);
  if (initial > range_.bytes() || grow(initial, unit) == none) {
    throw Error(Exit::failed, "host allocator: cannot map the initial " +
                                  std::to_string(initial >> 20) +
                                  " MiB; use a smaller initial size or a larger capacity");
  }
}

std::unique_ptr<Policy> make_segregated_fit(std::unique_ptr<simt::VirtualRange> range,
                                            const HostAllocatorOptions& options,
                                            unsigned second_level_bits) {
  return std::make_unique<SegregatedFit>(std::move(range), options, second_level_bits);
}

LiveBlock SegregatedFit::allocate(std::size_t bytes, std::size_t alignment) {
  if (bytes > range_.bytes()) return {};
  const std::size_t size = round_up(bytes, unit);
  const std::size_t padding = std::max(alignment, unit) - unit;
  BlockIndex index = lists_.find(size + padding);
  if (index == none) index = grow(size, alignment);
  // No more memory can be mapped: try every block that may fit, then unmap free memory and map it
  // at other addresses.
  if (index == none) index = find_any(size, alignment);
  if (index == none && shrink() > 0) index = grow(size, alignment);
  return index == none ? LiveBlock{} : take(index, size, alignment, bytes);
}

BlockIndex SegregatedFit::find_any(std::size_t bytes, std::size_t alignment) const {
  BlockIndex found = none;
  lists_.for_each_from(blocks_, bytes, [&](BlockIndex index) {
    if (round_up(blocks_[index].offset, alignment) + bytes > end(index)) return false;
    found = index;
    return true;
  });
  return found;
}

// Maps memory for `bytes` and returns a free block that holds them, in its list, or `none`. Chooses
// the unmapped block for which the least memory has to be mapped.
BlockIndex SegregatedFit::grow(std::size_t bytes, std::size_t alignment) {
  BlockIndex best = none;
  std::size_t min_need = 0;
  for (BlockIndex u = unmapped_.first(); u != none; u = blocks_[u].list_after) {
    const Block& block = blocks_[u];
    const std::size_t begin =
        is(block.before, State::free) ? blocks_[block.before].offset : block.offset;
    const std::size_t stop = round_up(begin, alignment) + bytes;
    // The free block before it is large enough, but in a list with blocks that may be too small.
    if (stop <= block.offset) return block.before;
    std::size_t need = range_.whole(stop - block.offset);
    if (need > block.bytes) {
      if (!is(block.after, State::free) || stop > end(block.after)) continue;
      need = block.bytes;
    }
    if (best == none || need < min_need ||
        (need == min_need && block.offset < blocks_[best].offset)) {
      best = u;
      min_need = need;
    }
  }
  if (best == none) return none;
  const std::size_t offset = blocks_[best].offset;
  const std::size_t mapped = range_.grow(offset, min_need, blocks_[best].bytes);
  if (mapped == 0) return none;
  blocks_[best].offset += mapped;
  blocks_[best].bytes -= mapped;
  const BlockIndex before = blocks_[best].before;
  if (blocks_[best].bytes == 0) {
    unmapped_.remove(blocks_, best);
    erase(best);
  }
  return release(insert(before, offset, mapped, State::used));
}

// Takes a block out of its list and returns the parts before and after the allocation to theirs.
LiveBlock SegregatedFit::take(BlockIndex index, std::size_t bytes, std::size_t alignment,
                              std::size_t requested) {
  lists_.remove(blocks_, index);
  const std::size_t offset = round_up(blocks_[index].offset, alignment);
  if (const std::size_t front = offset - blocks_[index].offset; front > 0) {
    lists_.push(blocks_, insert(blocks_[index].before, blocks_[index].offset, front, State::free));
    blocks_[index].offset = offset;
    blocks_[index].bytes -= front;
  }
  if (const std::size_t rest = blocks_[index].bytes - bytes; rest > 0) {
    lists_.push(blocks_, insert(index, offset + bytes, rest, State::free));
    blocks_[index].bytes = bytes;
  }
  blocks_[index].state = State::used;
  blocks_[index].requested = requested;
  const std::uintptr_t address = range_.base() + offset;
  live_.emplace(address, index);
  return {pointer_to(address), requested, bytes};
}

LiveBlock SegregatedFit::deallocate(void* block) {
  const auto found = live_.find(reinterpret_cast<std::uintptr_t>(block));
  if (found == live_.end()) refuse_free(*this, block);
  const BlockIndex index = found->second;
  live_.erase(found);
  const LiveBlock freed{block, blocks_[index].requested, blocks_[index].bytes};
  release(index);
  return freed;
}

// Merges the block, which is in no list, with free neighbours and adds the result to its list.
BlockIndex SegregatedFit::release(BlockIndex index) {
  if (const BlockIndex after = blocks_[index].after; is(after, State::free)) {
    lists_.remove(blocks_, after);
    blocks_[index].bytes += blocks_[after].bytes;
    erase(after);
  }
  if (const BlockIndex before = blocks_[index].before; is(before, State::free)) {
    lists_.remove(blocks_, before);
    blocks_[before].bytes += blocks_[index].bytes;
    erase(index);
    index = before;
  }
  blocks_[index].state = State::free;
  blocks_[index].requested = 0;
  lists_.push(blocks_, index);
  return index;
}

std::size_t SegregatedFit::shrink() {
  BlockIndex block = first_;  // pieces come in order of address, as blocks do
  const auto free = [&](std::size_t offset, std::size_t bytes) {
    while (end(block) <= offset) block = blocks_[block].after;
    return is(block, State::free) && offset + bytes <= end(block);
  };
  return range_.unmap_if(free, [&](std::size_t offset, std::size_t bytes) {
    // Cut the free block into the parts before, in and after the unmapped range.
    lists_.remove(blocks_, block);
    if (const std::size_t rest = end(block) - offset - bytes; rest > 0) {
      lists_.push(blocks_, insert(block, offset + bytes, rest, State::free));
    }
    const std::size_t front = offset - blocks_[block].offset;
    BlockIndex unmapped = block;
    if (front > 0) {
      blocks_[block].bytes = front;
      lists_.push(blocks_, block);
      unmapped = insert(block, offset, bytes, State::unmapped);
    }
    blocks_[unmapped].state = State::unmapped;
    blocks_[unmapped].bytes = bytes;
    // Merge it with unmapped neighbours.
    if (const BlockIndex after = blocks_[unmapped].after; is(after, State::unmapped)) {
      unmapped_.remove(blocks_, after);
      blocks_[unmapped].bytes += blocks_[after].bytes;
      erase(after);
    }
    if (const BlockIndex before = blocks_[unmapped].before; is(before, State::unmapped)) {
      blocks_[before].bytes += blocks_[unmapped].bytes;
      erase(unmapped);
      unmapped = before;
    } else {
      unmapped_.push(blocks_, unmapped);
    }
    block = unmapped;
  });
}

void SegregatedFit::walk(const std::function<void(const HostRegion&)>& visit) const {
  for (BlockIndex i = first_; i != none; i = blocks_[i].after) {
    const Block& block = blocks_[i];
    // Never mapped, or returned to the device.
    if (block.state == State::unmapped && block.after == none) return;
    const HostRegion::State state = block.state == State::free   ? HostRegion::State::free
                                    : block.state == State::used ? HostRegion::State::used
                                                                 : HostRegion::State::unmapped;
    visit({range_.base() + block.offset, block.bytes, block.requested, state});
  }
}

// Inserts after `before`, or at the beginning.
BlockIndex SegregatedFit::insert(BlockIndex before, std::size_t offset, std::size_t bytes,
                                 State state) {
  BlockIndex index = vacant_.first();
  if (index != none) {
    vacant_.remove(blocks_, index);
  } else {
    index = static_cast<BlockIndex>(blocks_.size());
    blocks_.emplace_back();
  }
  const BlockIndex after = before == none ? first_ : blocks_[before].after;
  Block& block = blocks_[index];
  block = Block{};
  block.offset = offset;
  block.bytes = bytes;
  block.before = before;
  block.after = after;
  block.state = state;
  (before == none ? first_ : blocks_[before].after) = index;
  if (after != none) blocks_[after].before = index;
  return index;
}

void SegregatedFit::erase(BlockIndex index) {
  const Block& block = blocks_[index];
  (block.before == none ? first_ : blocks_[block.before].after) = block.after;
  if (block.after != none) blocks_[block.after].before = block.before;
  blocks_[index].state = State::vacant;
  vacant_.push(blocks_, index);
}

}  // namespace heapwood::host_alloc
