// SPDX-License-Identifier: MIT
// Segregated fit and two-level segregated fit over device memory that the host cannot read
// (Bell, Kumar and Gill 2024, algorithms 1 and 2, section III.B).
//
// The paper keeps a block's size and neighbours in a hash table in place of boundary tags, and
// looks up neighbours by address. Here blocks are linked by address, so the only look-up is that of
// the freed block. The printed algorithms omit three steps: a search must mask the bitmap below its
// class, the bit of a list is cleared when the list becomes empty, and a neighbour leaves its list
// before its size changes.
//
// Blocks tile the whole reserved range, which is one unmapped block at first. If no list has a
// block that is certainly large enough, memory is mapped at the front of an unmapped block: of the
// one where the least is needed, since a free block before it becomes part of the result. Such a
// request visits all unmapped blocks and, if no more memory can be mapped, free blocks too. All
// other calls, except for walk() and shrink(), are O(1).
#pragma once

#include <memory>
#include <vector>

#include "host_alloc/free_lists.hpp"
#include "host_alloc/mapped_range.hpp"

namespace heapwood::host_alloc {

class SegregatedFit final : public Policy {
 public:
  // second_level_bits: 0 is segregated fit, 5 is TLSF.
  SegregatedFit(std::unique_ptr<simt::VirtualRange> range, const HostAllocatorOptions& options,
                unsigned second_level_bits);

  LiveBlock allocate(std::size_t bytes, std::size_t alignment) override;
  LiveBlock deallocate(void* block) override;
  void walk(const std::function<void(const HostRegion&)>& visit) const override;
  std::size_t shrink() override;
  std::optional<std::size_t> mapped_bytes() const override { return range_.mapped(); }
  std::uint64_t mappings() const override { return range_.mappings(); }
  bool is_live(const void* block) const {
    return live_.count(reinterpret_cast<std::uintptr_t>(block)) != 0;
  }

 private:
  BlockIndex find_any(std::size_t bytes, std::size_t alignment) const;
  BlockIndex grow(std::size_t bytes, std::size_t alignment);
  LiveBlock take(BlockIndex index, std::size_t bytes, std::size_t alignment, std::size_t requested);
  BlockIndex release(BlockIndex index);

  BlockIndex insert(BlockIndex before, std::size_t offset, std::size_t bytes, Block::State state);
  void erase(BlockIndex index);
  bool is(BlockIndex index, Block::State state) const {
    return index != none && blocks_[index].state == state;
  }
  std::size_t end(BlockIndex index) const { return blocks_[index].offset + blocks_[index].bytes; }

  MappedRange range_;
  FreeLists lists_;
  std::vector<Block> blocks_;
  BlockList unmapped_, vacant_;
  BlockIndex first_ = none;  // by address
  AddressTable<BlockIndex> live_;
};

}  // namespace heapwood::host_alloc
