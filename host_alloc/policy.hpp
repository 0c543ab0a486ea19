// SPDX-License-Identifier: MIT
// A policy for managing device memory from the host, without the lock and the statistics, which are
// in the front end (front.hpp).
#pragma once

#include <functional>
#include <string>

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

// Throws the error for a free of an address that is not a live block, described by the regions that
// the policy reports.
[[noreturn]] void refuse_free(const Policy& policy, const void* block);

}  // namespace heapwood::host_alloc
