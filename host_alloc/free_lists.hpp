// SPDX-License-Identifier: MIT
// Free blocks by size: one list per class, and a bitmap of the lists that are not empty, so that a
// search is O(1) by find-first-set.
//
// Classes as in TLSF (Masmano, Ripoll, Crespo and Real 2004, section 3): powers of two, each
// divided linearly into 2^s classes; sizes below 2^s units have a class each. s = 0 is segregated
// fit, s = 5 is two-level segregated fit with 32 second-level lists. A block is in the class of its
// own size. A request takes the head of the first list whose blocks are all large enough, so that
// it may pass over free blocks that are less than 2 times (s = 0) or 1 + 1/32 times (s = 5) as
// large as the request.
#pragma once

#include <cstdint>
#include <vector>

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

}  // namespace heapwood::host_alloc
