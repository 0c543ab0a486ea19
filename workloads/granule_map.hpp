// SPDX-License-Identifier: MIT
// Records on the host which memory is in use: one bit per granule, in pages that are created where
// blocks lie, so that a heap at any address can be tracked. Pages of an expected range are stored
// adjacently, because consecutive blocks of many threads are often in different pages, and looking
// up each page would dominate. Detects overlapping blocks without sorting them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "alloc/allocator.hpp"

namespace heapwood::workloads {

class GranuleMap {
 public:
  // Announces the range that contains most blocks.
  void expect(std::uintptr_t address, std::size_t bytes) {
    first_ = address / alloc::granule / page_granules;
    row_.resize((address + bytes) / alloc::granule / page_granules + 1 - first_);
  }
  // Marks the block's granules; returns false if one was already marked.
  bool take(std::uintptr_t address, std::size_t bytes) {
    bool free = true;
    for_each_word(address, bytes, [&](std::uint64_t& word, std::uint64_t bits) {
      free &= (word & bits) == 0;
      word |= bits;
    });
    return free;
  }
  void give(std::uintptr_t address, std::size_t bytes) {
    for_each_word(address, bytes, [](std::uint64_t& word, std::uint64_t bits) { word &= ~bits; });
  }

 private:
  static constexpr std::uintptr_t page_granules = 1 << 16;  // 1 MiB of memory
  using Page = std::array<std::uint64_t, page_granules / 64>;

  template <class F>
  void for_each_word(std::uintptr_t address, std::size_t bytes, F f) {
    const std::uintptr_t end = (address + alloc::padded(bytes)) / alloc::granule;
    for (std::uintptr_t i = address / alloc::granule; i < end;) {
      const std::uintptr_t bit = i % 64, count = std::min<std::uintptr_t>(64 - bit, end - i);
      const std::uintptr_t number = i / page_granules;
      if (last_ == nullptr || number != last_number_) find_page(number);
      f((*last_)[i % page_granules / 64], ~std::uint64_t{0} >> (64 - count) << bit);
      i += count;
    }
  }
  void find_page(std::uintptr_t number) {
    std::unique_ptr<Page>& page =
        number - first_ < row_.size() ? row_[number - first_] : pages_[number];
    if (!page) page = std::make_unique<Page>();
    last_ = page.get();
    last_number_ = number;
  }

  std::unordered_map<std::uintptr_t, std::unique_ptr<Page>> pages_;  // outside the expected range
  std::vector<std::unique_ptr<Page>> row_;
  std::uintptr_t first_ = 0;  // of the pages of the expected range
  Page* last_ = nullptr;      // consecutive blocks are often close to each other
  std::uintptr_t last_number_ = 0;
};

}  // namespace heapwood::workloads
