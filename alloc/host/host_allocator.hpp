// SPDX-License-Identifier: MIT
// Device memory managed from the host (docs/host-allocators.md): the allocator runs on the host and never reads or writes what
// it manages, so headers and boundary tags are in host memory, in a hash table keyed by device address.
//
//   auto allocator = make_host_allocator("tlsf", device);
//   void* block = allocator->allocate(bytes);          // nullptr: there is no memory for it
//   allocator->deallocate(block);
//
// All functions may be called from any thread. Blocks that are live when the allocator is destroyed go with it.
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

namespace heapwood::alloc {

struct HostStatistics {
  std::uint64_t allocations = 0, deallocations = 0;
  std::uint64_t refused = 0;   // allocate returned nullptr
  std::uint64_t mappings = 0;  // times that physical memory was mapped
  std::uint64_t live_blocks = 0;
  std::size_t requested_bytes = 0;  // by live blocks, as asked for
  std::size_t used_bytes = 0;       // by live blocks, as given
  std::size_t peak_requested_bytes = 0;
  // Physical memory that the allocator holds; absent where the platform does not say.
  std::optional<std::size_t> mapped_bytes, peak_mapped_bytes;
};

// A stretch of the address range: walk() reports all that was ever mapped, in order of address, without gaps.
struct HostRegion {
  enum class State : std::uint8_t { free, used, unmapped };
  std::uintptr_t address = 0;
  std::size_t bytes = 0;
  std::size_t requested = 0;  // of a used one
  State state = State::free;
};

class HostAllocator {
 public:
  static constexpr std::size_t default_alignment = 256;  // what cudaMalloc promises

  virtual ~HostAllocator() = default;
  // At least `bytes` bytes (0 counts as 1) at a multiple of `alignment`, a power of two; nullptr where there is no
  // room: no free stretch can hold the request and no more memory can be mapped. The contents are unspecified.
  // Throws Error{Exit::usage} if the alignment is no power of two or larger than 2 MiB.
  virtual void* allocate(std::size_t bytes, std::size_t alignment = default_alignment) = 0;
  // nullptr is a no-op. The memory may be handed out again at once: no kernel may still use it. Throws
  // Error{Exit::failed}, and changes nothing, where `block` is not the beginning of a live block: says whether it was freed
  // before, lies inside a block, or is foreign.
  virtual void deallocate(void* block) = 0;
  virtual HostStatistics statistics() const = 0;
  // Only live blocks, in no order, where the platform manages the memory (cudamalloc, cudamallocasync, mmap).
  virtual void walk(const std::function<void(const HostRegion&)>& visit) const = 0;
  // Unmaps physical memory in which no live block lies; bytes given back to the device.
  virtual std::size_t shrink() = 0;
};

struct HostAllocatorOptions {
  std::size_t capacity = 0;              // most physical memory; 0 = what the device has
  std::size_t initial_bytes = 0;         // mapped from the beginning
  std::size_t growth_bytes = 16u << 20;  // mapped at a time, or more where a request needs it
};

struct HostAllocatorInfo {
  const char* id;     // on the command line and in JSON
  const char* label;  // in tables
  const char* note;   // one sentence
  std::optional<simt::DeviceKind> only_on = std::nullopt;
};
std::span<const HostAllocatorInfo> host_allocators();

// Throws Error{Exit::usage} that lists the ids where there is none of that name, Error{Exit::device} where it is not for
// the device.
const HostAllocatorInfo& find_host_allocator(const std::string& id, const simt::DeviceId& device);
std::unique_ptr<HostAllocator> make_host_allocator(const std::string& id, const simt::DeviceId& device,
                                                   const HostAllocatorOptions& options = {});
// The same over a range of the caller's, which must be empty: not for allocators whose memory the platform manages.
std::unique_ptr<HostAllocator> make_host_allocator(const std::string& id, std::unique_ptr<simt::VirtualRange> range,
                                                   const HostAllocatorOptions& options);

}  // namespace heapwood::alloc
