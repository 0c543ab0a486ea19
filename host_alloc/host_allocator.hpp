// SPDX-License-Identifier: MIT
// Device memory managed from the host (Bell, Kumar and Gill 2024; docs/allocators.md): the
// allocator runs on the host and never reads or writes the memory it manages, so headers and
// boundary tags are in host memory, in a hash table keyed by device address.
//
//   auto allocator = make_host_allocator("tlsf", device);
//   void* block = allocator->allocate(bytes);          // nullptr: out of memory
//   allocator->deallocate(block);
//
// All functions are thread-safe. Blocks that are live when the allocator is destroyed are freed
// with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "simt/device.hpp"
#include "simt/virtual_range.hpp"

namespace heapwood::host_alloc {

struct HostStatistics {
  std::uint64_t allocations = 0, deallocations = 0;
  std::uint64_t refused = 0;   // calls of allocate() that returned nullptr
  std::uint64_t mappings = 0;  // how often physical memory was mapped
  std::uint64_t live_blocks = 0;
  std::size_t requested_bytes = 0;  // requested by live blocks
  std::size_t used_bytes = 0;       // occupied by live blocks
  std::size_t peak_requested_bytes = 0;
  // Physical memory that the allocator holds; absent if the platform does not report it.
  std::optional<std::size_t> mapped_bytes, peak_mapped_bytes;
};

// A part of the address range. walk() reports regions in order of address, without gaps, from the
// beginning of the range to the end of the last mapped region.
struct HostRegion {
  enum class State : std::uint8_t { free, used, unmapped };
  std::uintptr_t address = 0;
  std::size_t bytes = 0;
  std::size_t requested = 0;  // of a used region
  State state = State::free;
};

class HostAllocator {
 public:
  static constexpr std::size_t default_alignment = 256;  // guaranteed by cudaMalloc

  virtual ~HostAllocator() = default;
  // Allocates at least `bytes` bytes (0 counts as 1) at a multiple of `alignment`, a power of two.
  // Returns nullptr if no free region can hold the request and no more memory can be mapped. The
  // contents are unspecified. Throws Error{Exit::usage} if the alignment is not a power of two or
  // is larger than 2 MiB.
  virtual void* allocate(std::size_t bytes, std::size_t alignment = default_alignment) = 0;
  // Frees a block; nullptr is a no-op. The memory may be reused immediately, so no kernel may still
  // be using it. Throws Error{Exit::failed}, and changes nothing, if `block` is not the beginning
  // of a live block: the message says whether it was freed before, lies inside a block, or is
  // foreign.
  virtual void deallocate(void* block) = 0;
  virtual HostStatistics statistics() const = 0;
  // Reports only live blocks, in no particular order, if the platform manages the memory
  // (cudamalloc, cudamallocasync, mmap).
  virtual void walk(const std::function<void(const HostRegion&)>& visit) const = 0;
  // Unmaps physical memory that contains no live block; returns the bytes given back to the device.
  virtual std::size_t shrink() = 0;
};

struct HostAllocatorOptions {
  std::size_t capacity = 0;              // max physical memory; 0 = that of the device
  std::size_t initial_bytes = 0;         // mapped at creation
  std::size_t growth_bytes = 16u << 20;  // min bytes mapped at a time
  // segfit, tlsf: sizes of blocks are multiples of this, itself a multiple of 256.
  std::size_t min_block_bytes = default_min_block;

  static constexpr std::size_t default_min_block = HostAllocator::default_alignment;
};

struct HostAllocatorInfo {
  const char* id;     // on the command line and in JSON
  const char* label;  // in tables
  const char* note;   // one sentence
  std::optional<simt::DeviceKind> only_on = std::nullopt;
};
std::span<const HostAllocatorInfo> host_allocators();

// Finds an allocator. Throws Error{Exit::usage} that lists the ids if there is none of that name,
// and Error{Exit::device} if it does not support the device.
const HostAllocatorInfo& find_host_allocator(const std::string& id, const simt::DeviceId& device);
std::unique_ptr<HostAllocator> make_host_allocator(const std::string& id,
                                                   const simt::DeviceId& device,
                                                   const HostAllocatorOptions& options = {});
// Makes an allocator that manages `range`, which must be empty; not for platform-managed memory.
std::unique_ptr<HostAllocator> make_host_allocator(const std::string& id,
                                                   std::unique_ptr<simt::VirtualRange> range,
                                                   const HostAllocatorOptions& options);

}  // namespace heapwood::host_alloc
