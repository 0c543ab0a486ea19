// SPDX-License-Identifier: MIT
// How a host allocator manages device memory. The lock and the statistics are in the front end
// (factory.cpp). For .cpp files only.
#pragma once

#include <tsl/robin_map.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "host_alloc/host_allocator.hpp"

namespace heapwood::host_alloc {

// The unit of sizes and addresses: cudaMalloc's alignment, so most requests need no padding.
inline constexpr std::size_t unit = HostAllocator::default_alignment;
inline constexpr std::size_t largest_alignment = std::size_t{2} << 20;

// The pointer with this device address. Addresses are only numbers here and are never dereferenced.
inline void* pointer_to(std::uintptr_t address) {
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
}

struct LiveBlock {
  void* address = nullptr;  // nullptr: refused
  std::size_t requested = 0, used = 0;
};

class Policy {
 public:
  virtual ~Policy() = default;
  // `bytes` is at least 1. The alignment is a power of two up to largest_alignment.
  virtual LiveBlock allocate(std::size_t bytes, std::size_t alignment) = 0;
  // Returns the freed block's description. Throws (refuse_free) if `block` is not live.
  virtual LiveBlock deallocate(void* block) = 0;
  virtual void walk(const std::function<void(const HostRegion&)>& visit) const = 0;
  virtual std::size_t shrink() = 0;
  virtual std::optional<std::size_t> mapped_bytes() const = 0;
  virtual std::uint64_t mappings() const = 0;
};

// A reserved range of device addresses, the limit of its physical memory, and the pieces in which
// memory was mapped. A piece is unmapped as a whole.
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

  // Maps `need` bytes from `offset` on, or a growth step if that is more, because a mapping takes
  // tens of microseconds nearly independent of its size. No more than `max_bytes`, which are all
  // unmapped. Returns the bytes mapped, 0 if there is no memory.
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
  std::map<std::size_t, std::size_t> pieces_;  // offset -> bytes
};

// Hashes device addresses for the table of live blocks, which replaces boundary tags. Addresses are
// multiples of 256, but the table uses the lowest bits of the hash: Fibonacci hashing (Knuth 6.4)
// moves the highest bits down.
struct AddressHash {
  std::size_t operator()(std::uintptr_t address) const {
    const std::uint64_t product = static_cast<std::uint64_t>(address) * 0x9E3779B97F4A7C15u;
    return static_cast<std::size_t>(product >> 32 ^ product);
  }
};

// A table by device address, at most half full. Initially has space for some thousand blocks, so
// that it rarely grows during a request.
template <class Value>
class AddressTable : public tsl::robin_map<std::uintptr_t, Value, AddressHash> {
 public:
  AddressTable() {
    this->max_load_factor(0.5f);
    this->reserve(4096);
  }
};

std::unique_ptr<Policy> make_bitmask(std::unique_ptr<simt::VirtualRange> range,
                                     const HostAllocatorOptions& options);
std::unique_ptr<Policy> make_hybrid(std::unique_ptr<simt::VirtualRange> range,
                                    const HostAllocatorOptions& options);
// second_level_bits: 0 makes segregated fit, 5 makes TLSF.
std::unique_ptr<Policy> make_segregated_fit(std::unique_ptr<simt::VirtualRange> range,
                                            const HostAllocatorOptions& options,
                                            unsigned second_level_bits);
std::unique_ptr<Policy> make_platform(const simt::DeviceId& device, bool async,
                                      const HostAllocatorOptions& options);

// Throws the error for a free of an address that is not a live block: says what is there.
[[noreturn]] void refuse_free(const Policy& policy, const void* block);

}  // namespace heapwood::host_alloc
