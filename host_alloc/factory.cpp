// SPDX-License-Identifier: MIT
#include <algorithm>

#include "host_alloc/bitmask.hpp"
#include "host_alloc/front.hpp"
#include "host_alloc/hybrid.hpp"
#include "host_alloc/platform.hpp"
#include "host_alloc/segregated_fit.hpp"

namespace heapwood::host_alloc {

namespace {

using simt::DeviceKind;

constexpr HostAllocatorInfo table[] = {
    {"segfit", "SegFit", "segregated fit: one free list per power of two"},
    {"tlsf", "TLSF", "two-level segregated fit: 32 free lists per power of two"},
    {"bitmask", "Bitmask", "one bit per 4 KiB, first fit; slow with much memory"},
    {"hybrid", "Hybrid", "object pools under 4 KiB, segregated fit above"},
    {"cudamalloc", "cudaMalloc", "cudaMalloc and cudaFree", DeviceKind::cuda},
    {"cudamallocasync", "cudaMallocAsync",
     "cudaMallocAsync and cudaFreeAsync; the pool keeps freed memory", DeviceKind::cuda},
    {"mmap", "mmap", "mmap and munmap", DeviceKind::cpu},
};

// Address space costs nothing, and holes left by shrink() can only be reused by requests that fit
// them. Limited to what tools that rearrange the address space (ThreadSanitizer) leave free.
std::size_t addresses(const simt::DeviceId& device, std::size_t capacity) {
  const std::size_t twice = 2 * capacity + (std::size_t{64} << 20);
  return device.kind == DeviceKind::cuda ? twice : std::min(twice, std::size_t{1} << 39);
}

std::unique_ptr<host_alloc::Policy> over_range(const std::string& id,
                                               std::unique_ptr<simt::VirtualRange> range,
                                               const HostAllocatorOptions& options) {
  if (id == "segfit")
    return std::make_unique<host_alloc::SegregatedFit>(std::move(range), options, 0);
  if (id == "tlsf")
    return std::make_unique<host_alloc::SegregatedFit>(std::move(range), options, 5);
  if (id == "bitmask") return std::make_unique<host_alloc::Bitmask>(std::move(range), options);
  if (id == "hybrid") return std::make_unique<host_alloc::Hybrid>(std::move(range), options);
  return nullptr;
}

}  // namespace

std::span<const HostAllocatorInfo> host_allocators() { return table; }

const HostAllocatorInfo& find_host_allocator(const std::string& id, const simt::DeviceId& device) {
  std::string ids;
  for (const HostAllocatorInfo& info : table) {
    if (id == info.id) {
      if (!info.only_on || *info.only_on == device.kind) return info;
      throw Error(Exit::device, "host allocator '" + id + "': only on " +
                                    (info.only_on == DeviceKind::cpu ? "the CPU" : "a GPU") +
                                    "; use tlsf");
    }
    if (!info.only_on || *info.only_on == device.kind)
      ids += std::string(ids.empty() ? "" : " ") + info.id;
  }
  throw Error(Exit::usage, "host allocator '" + id + "': not one of " + ids);
}

std::unique_ptr<HostAllocator> make_host_allocator(const std::string& id,
                                                   const simt::DeviceId& device,
                                                   const HostAllocatorOptions& options) {
  const HostAllocatorInfo& info = find_host_allocator(id, device);
  HostAllocatorOptions with_capacity = options;
  if (info.only_on) {
    // The platform knows its limits. On the CPU, pages that are never touched do not count.
    if (with_capacity.capacity == 0) with_capacity.capacity = ~std::size_t{0};
    const auto kind = id == "cudamallocasync" ? host_alloc::Platform::Kind::async
                                              : host_alloc::Platform::Kind::plain;
    return std::make_unique<host_alloc::Front>(
        std::make_unique<host_alloc::Platform>(device, kind, with_capacity));
  }
  if (with_capacity.capacity == 0) with_capacity.capacity = simt::describe(device).memory_bytes;
  return make_host_allocator(
      id, simt::reserve_range(device, addresses(device, with_capacity.capacity)), with_capacity);
}

std::unique_ptr<HostAllocator> make_host_allocator(const std::string& id,
                                                   std::unique_ptr<simt::VirtualRange> range,
                                                   const HostAllocatorOptions& options) {
  HostAllocatorOptions with_capacity = options;
  if (with_capacity.capacity == 0) with_capacity.capacity = range->bytes();
  std::unique_ptr<host_alloc::Policy> policy = over_range(id, std::move(range), with_capacity);
  if (!policy) throw Error(Exit::usage, "host allocator '" + id + "': does not manage a range");
  return std::make_unique<host_alloc::Front>(std::move(policy));
}

}  // namespace heapwood::host_alloc
