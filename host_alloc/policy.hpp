// SPDX-License-Identifier: MIT
// A policy for managing device memory from the host, without the lock and the statistics, which are
// in the front end (factory.cpp). For .cpp files only.
#pragma once

#include <tsl/robin_map.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "host_alloc/host_allocator.hpp"

namespace heapwood::host_alloc {

// The unit of sizes and addresses: the alignment that cudaMalloc guarantees, so that most requests
// need no padding.
inline constexpr std::size_t unit = HostAllocator::default_alignment;
inline constexpr std::size_t largest_alignment = std::size_t{2} << 20;

// Device addresses are only numbers here and are never dereferenced.
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
  // `bytes` is at least 1; the alignment is a power of two up to largest_alignment.
  virtual LiveBlock allocate(std::size_t bytes, std::size_t alignment) = 0;
  // Returns the description of the freed block. Throws and changes nothing if it is not a live
  // block (refuse_free).
  virtual LiveBlock deallocate(void* block) = 0;
  virtual void walk(const std::function<void(const HostRegion&)>& visit) const = 0;
  virtual std::size_t shrink() = 0;
  virtual std::optional<std::size_t> mapped_bytes() const = 0;
  virtual std::uint64_t mappings() const = 0;
};

// The hash table that replaces boundary tags: live blocks by device address.
// Addresses are multiples of 256, and the table uses the lowest bits of the hash: Fibonacci hashing
// (Knuth 6.4) moves the highest bits down.
struct AddressHash {
  std::size_t operator()(std::uintptr_t address) const {
    const std::uint64_t product = static_cast<std::uint64_t>(address) * 0x9E3779B97F4A7C15u;
    return static_cast<std::size_t>(product >> 32 ^ product);
  }
};

// At most half full. Initially has space for some thousand blocks, so that it rarely grows during a
// request.
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
// second_level_bits: 0 is segregated fit, 5 is TLSF.
std::unique_ptr<Policy> make_segregated_fit(std::unique_ptr<simt::VirtualRange> range,
                                            const HostAllocatorOptions& options,
                                            unsigned second_level_bits);
std::unique_ptr<Policy> make_platform(const simt::DeviceId& device, bool async,
                                      const HostAllocatorOptions& options);

// Throws the error for a free of an address that is not a live block, described by the regions that
// the policy reports.
[[noreturn]] void refuse_free(const Policy& policy, const void* block);

}  // namespace heapwood::host_alloc
