// SPDX-License-Identifier: MIT
// A reserved range of device addresses and its mapped parts: the limit of physical memory, and the
// pieces in which it was mapped. A piece is unmapped as a whole.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "host_alloc/policy.hpp"

namespace heapwood::host_alloc {

class MappedRange {
 public:
  MappedRange(std::unique_ptr<simt::VirtualRange> range, const HostAllocatorOptions& options)
      : range_(std::move(range)),
        capacity_(options.capacity / range_->granularity() * range_->granularity()),
        growth_(whole(std::max<std::size_t>(options.growth_bytes, 1))) {}

  std::uintptr_t base() const { return reinterpret_cast<std::uintptr_t>(range_->base()); }
  std::size_t bytes() const { return range_->bytes(); }
  std::size_t granularity() const { return range_->granularity(); }
  std::size_t mapped() const { return mapped_; }
  std::uint64_t mappings() const { return mappings_; }
  // Bytes that may still be mapped.
  std::size_t mappable_bytes() const { return capacity_ - mapped_; }
  std::size_t whole(std::size_t bytes) const {
    const std::size_t g = range_->granularity();
    return (bytes + g - 1) / g * g;
  }

  // Maps `need` bytes from `offset` on, or a growth step if that is more: mapping takes tens of
  // microseconds, nearly independent of the size. Nothing is mapped yet in the `max_bytes` bytes
  // there. Returns the bytes mapped, 0 if there is no memory.
  std::size_t grow(std::size_t offset, std::size_t need, std::size_t max_bytes) {
    if (need > mappable_bytes()) return 0;
    const std::size_t step = std::min({std::max(need, growth_), max_bytes, mappable_bytes()});
    if (map(offset, step)) return step;
    return step > need && map(offset, need) ? need : 0;
  }

  // Unmaps the pieces for which free(offset, bytes) holds, calls unmapped(offset, bytes) for each,
  // and returns the number of bytes unmapped.
  template <class Free, class Unmapped>
  std::size_t unmap_if(Free free, Unmapped unmapped) {
    std::size_t sum = 0;
    for (auto piece = pieces_.begin(); piece != pieces_.end();) {
      const auto [offset, bytes] = *piece;
      if (!free(offset, bytes)) {
        ++piece;
        continue;
      }
      range_->unmap(offset, bytes);
      piece = pieces_.erase(piece);
      mapped_ -= bytes;
      sum += bytes;
      unmapped(offset, bytes);
    }
    return sum;
  }

 private:
  bool map(std::size_t offset, std::size_t bytes) {
    if (!range_->map(offset, bytes)) return false;
    pieces_.emplace(offset, bytes);
    mapped_ += bytes;
    ++mappings_;
    return true;
  }

  std::unique_ptr<simt::VirtualRange> range_;
  std::size_t capacity_, growth_, mapped_ = 0;
  std::uint64_t mappings_ = 0;
  std::map<std::size_t, std::size_t> pieces_;  // offset, bytes
};

}  // namespace heapwood::host_alloc
