// SPDX-License-Identifier: MIT
// Segregated fit and two-level segregated fit over device memory that the host cannot read
// (Bell, Kumar and Gill 2024, algorithms 1 and 2, section III.B).
//
// The paper keeps a block's size and neighbours in a hash table in place of boundary tags, and
// looks up neighbours by address. Here blocks are linked by address, so the only look-up is that of
// the freed block.
//
// Blocks tile the whole reserved range, which is one unmapped block at first. If no list has a
// block that is certainly large enough, memory is mapped at the front of an unmapped block: of the
// one where the least is needed, since a free block before it becomes part of the result. Such a
// request visits all unmapped blocks and, if no more memory can be mapped, free blocks too. All
// other calls, except for walk() and shrink(), are O(1).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "host_alloc/mapped_range.hpp"
#include "host_alloc/policy.hpp"
#include "simt/math.hpp"

namespace heapwood::host_alloc {

using BlockIndex = std::uint32_t;
inline constexpr BlockIndex none = ~BlockIndex{0};

struct Block {
  // Vacant: an unused entry of the table.
  enum class State : std::uint8_t { free, used, unmapped, vacant };
  std::size_t offset = 0, bytes = 0;
  std::size_t requested = 0;  // of a used block
  // By address: together with the hash table they replace boundary tags.
  BlockIndex before = none, after = none;
  // In the list of its class, or of unmapped or vacant blocks.
  BlockIndex list_before = none, list_after = none;
  State state = State::free;
};

// A doubly linked list of blocks through their list_ links; last in, first out.
class BlockList {
 public:
  BlockIndex first() const { return first_; }
  void push(std::vector<Block>& blocks, BlockIndex index) {
    blocks[index].list_before = none;
    blocks[index].list_after = first_;
    if (first_ != none) blocks[first_].list_before = index;
    first_ = index;
  }
  void remove(std::vector<Block>& blocks, BlockIndex index) {
    const Block& block = blocks[index];
    if (block.list_before != none) blocks[block.list_before].list_after = block.list_after;
    if (block.list_after != none) blocks[block.list_after].list_before = block.list_before;
    if (first_ == index) first_ = block.list_after;
  }

 private:
  BlockIndex first_ = none;
};

class FreeLists {
 public:
  explicit FreeLists(unsigned second_level_bits)
      : bits_(second_level_bits),
        lists_((size_bits + 2 - bits_) << bits_),
        filled_((lists_.size() + 63) / 64) {}

  void push(std::vector<Block>& blocks, BlockIndex index) {
    const std::size_t list = class_of(blocks[index].bytes);
    lists_[list].push(blocks, index);
    filled_[list / 64] |= std::uint64_t{1} << list % 64;
    filled_words_ |= std::uint64_t{1} << list / 64;
  }
  void remove(std::vector<Block>& blocks, BlockIndex index) {
    const std::size_t list = class_of(blocks[index].bytes);
    lists_[list].remove(blocks, index);
    if (lists_[list].first() != none) return;
    filled_[list / 64] &= ~(std::uint64_t{1} << list % 64);
    if (filled_[list / 64] == 0) filled_words_ &= ~(std::uint64_t{1} << list / 64);
  }
  // A block of at least `bytes`, or `none` if the lists whose blocks are all large enough are
  // empty.
  BlockIndex find(std::size_t bytes) const {
    const std::size_t list = class_for(bytes);
    if (list >= lists_.size()) return none;
    std::size_t word = list / 64;
    std::uint64_t candidates = filled_[word] & ~std::uint64_t{0} << list % 64;
    if (candidates == 0) {
      const std::uint64_t words = word == 63 ? 0 : filled_words_ & ~std::uint64_t{0} << (word + 1);
      if (words == 0) return none;
      word = simt::lowest_bit(words);
      candidates = filled_[word];
    }
    return lists_[word * 64 + simt::lowest_bit(candidates)].first();
  }
  // Calls visit(index) for all blocks that may hold `bytes`, smaller classes first, until it
  // returns true.
  template <class Visit>
  void for_each_from(const std::vector<Block>& blocks, std::size_t bytes, Visit visit) const {
    for (std::size_t list = class_of(bytes); list < lists_.size(); ++list) {
      for (BlockIndex i = lists_[list].first(); i != none; i = blocks[i].list_after) {
        if (visit(i)) return;
      }
    }
  }

  // The class of a block of that size.
  std::size_t class_of(std::size_t bytes) const { return class_of_units(bytes / unit, bits_); }
  // First class whose blocks all hold a request of that size.
  std::size_t class_for(std::size_t bytes) const {
    const std::uint64_t units = (bytes + unit - 1) / unit;
    const unsigned log2 = simt::highest_bit(units);
    return class_of_units(log2 < bits_ ? units : units + (std::uint64_t{1} << (log2 - bits_)) - 1,
                          bits_);
  }

 private:
  static constexpr unsigned size_bits = 40;  // of units: 256 TiB

  // 2^s classes per power of two; sizes of less than 2^s units have one each.
  static std::size_t class_of_units(std::uint64_t units, unsigned s) {
    const unsigned log2 = simt::highest_bit(units);
    if (log2 < s) return units;
    return (std::size_t{log2 - s + 1} << s) + ((units >> (log2 - s)) - (std::uint64_t{1} << s));
  }

  unsigned bits_;
  std::vector<BlockList> lists_;
  std::vector<std::uint64_t> filled_;  // bit i of word w: list 64 w + i is not empty
  std::uint64_t filled_words_ = 0;     // bit w: filled_[w] is not 0
};

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
