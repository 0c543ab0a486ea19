// SPDX-License-Identifier: MIT
#include "host_alloc/free_lists.hpp"

#include <bit>

#include "host_alloc/policy.hpp"

namespace heapwood::host_alloc {

namespace {

constexpr unsigned size_bits = 40;  // of units: 256 TiB

// 2^s classes per power of two; sizes of less than 2^s units have one each.
std::size_t class_of_units(std::uint64_t units, unsigned s) {
  const auto log2 = static_cast<unsigned>(std::bit_width(units) - 1);
  if (log2 < s) return units;
  return (std::size_t{log2 - s + 1} << s) + ((units >> (log2 - s)) - (std::uint64_t{1} << s));
}

}  // namespace

FreeLists::FreeLists(unsigned second_level_bits)
    : bits_(second_level_bits),
      lists_((size_bits + 2 - bits_) << bits_),
      filled_((lists_.size() + 63) / 64) {}

std::size_t FreeLists::class_of(std::size_t bytes) const {
  return class_of_units(bytes / unit, bits_);
}

std::size_t FreeLists::class_for(std::size_t bytes) const {
  const std::uint64_t units = (bytes + unit - 1) / unit;
  const auto log2 = static_cast<unsigned>(std::bit_width(units) - 1);
  return class_of_units(log2 < bits_ ? units : units + (std::uint64_t{1} << (log2 - bits_)) - 1,
                        bits_);
}

void FreeLists::push(std::vector<Block>& blocks, BlockIndex index) {
  const std::size_t list = class_of(blocks[index].bytes);
  lists_[list].push(blocks, index);
  filled_[list / 64] |= std::uint64_t{1} << list % 64;
  filled_words_ |= std::uint64_t{1} << list / 64;
}

void FreeLists::remove(std::vector<Block>& blocks, BlockIndex index) {
  const std::size_t list = class_of(blocks[index].bytes);
  lists_[list].remove(blocks, index);
  if (lists_[list].first() != none) return;
  filled_[list / 64] &= ~(std::uint64_t{1} << list % 64);
  if (filled_[list / 64] == 0) filled_words_ &= ~(std::uint64_t{1} << list / 64);
}

BlockIndex FreeLists::find(std::size_t bytes) const {
  const std::size_t list = class_for(bytes);
  if (list >= lists_.size()) return none;
  std::size_t word = list / 64;
  std::uint64_t candidates = filled_[word] & ~std::uint64_t{0} << list % 64;
  if (candidates == 0) {
    const std::uint64_t words = word == 63 ? 0 : filled_words_ & ~std::uint64_t{0} << (word + 1);
    if (words == 0) return none;
    word = static_cast<std::size_t>(std::countr_zero(words));
    candidates = filled_[word];
  }
  return lists_[word * 64 + static_cast<std::size_t>(std::countr_zero(candidates))].first();
}

}  // namespace heapwood::host_alloc
