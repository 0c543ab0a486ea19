// SPDX-License-Identifier: MIT
#include "host_alloc/front.hpp"

#include <algorithm>
#include <cstdio>

namespace heapwood::host_alloc {

namespace {

std::string hexadecimal(std::uintptr_t address) {
  char text[32];
  std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(address));
  return text;
}

}  // namespace

void refuse_free(const Policy& policy, const void* block) {
  const auto address = reinterpret_cast<std::uintptr_t>(block);
  std::string why =
      "the address is foreign: it is in no memory of this allocator; free it where it came from";
  policy.walk([&](const HostRegion& region) {
    if (address - region.address >= region.bytes) return;
    switch (region.state) {
      case HostRegion::State::used:
        why = "the address lies inside the block that begins at " + hexadecimal(region.address) +
              " (" + std::to_string(region.requested) + " bytes); free that";
        break;
      case HostRegion::State::free:
        why = "the address lies in free memory: it was freed before, or never handed out";
        break;
      case HostRegion::State::unmapped:
        why = "the address lies in memory that was given back to the device: it was freed before";
        break;
    }
  });
  throw Error(Exit::failed, "host allocator: free of " + hexadecimal(address) + ": " + why);
}

Front::Front(std::unique_ptr<Policy> policy) : policy_(std::move(policy)) { update_mapped(); }

void Front::update_mapped() {
  statistics_.mapped_bytes = policy_->mapped_bytes();
  statistics_.mappings = policy_->mappings();
  if (statistics_.mapped_bytes)
    statistics_.peak_mapped_bytes =
        std::max(statistics_.peak_mapped_bytes.value_or(0), *statistics_.mapped_bytes);
}

void* Front::allocate(std::size_t bytes, std::size_t alignment) {
  if (alignment == 0 || (alignment & (alignment - 1)) != 0 || alignment > largest_alignment) {
    throw Error(Exit::usage, "host allocator: alignment " + std::to_string(alignment) +
                                 ": expected a power of two, at most " +
                                 std::to_string(largest_alignment));
  }
  const std::lock_guard lock(mutex_);
  const LiveBlock block = policy_->allocate(std::max<std::size_t>(bytes, 1), alignment);
  if (policy_->mappings() != statistics_.mappings) update_mapped();
  if (block.address == nullptr) {
    ++statistics_.refused;
    return nullptr;
  }
  ++statistics_.allocations;
  ++statistics_.live_blocks;
  statistics_.requested_bytes += block.requested;
  statistics_.used_bytes += block.used;
  statistics_.peak_requested_bytes =
      std::max(statistics_.peak_requested_bytes, statistics_.requested_bytes);
  return block.address;
}

void Front::deallocate(void* block) {
  if (block == nullptr) return;
  const std::lock_guard lock(mutex_);
  const LiveBlock freed = policy_->deallocate(block);
  ++statistics_.deallocations;
  --statistics_.live_blocks;
  statistics_.requested_bytes -= freed.requested;
  statistics_.used_bytes -= freed.used;
}

HostStatistics Front::statistics() const {
  const std::lock_guard lock(mutex_);
  HostStatistics result = statistics_;
  result.mapped_bytes = policy_->mapped_bytes();
  if (result.mapped_bytes)
    result.peak_mapped_bytes = std::max(result.peak_mapped_bytes.value_or(0), *result.mapped_bytes);
  return result;
}

void Front::walk(const std::function<void(const HostRegion&)>& visit) const {
  const std::lock_guard lock(mutex_);
  policy_->walk(visit);
}

std::size_t Front::shrink() {
  const std::lock_guard lock(mutex_);
  const std::size_t bytes = policy_->shrink();
  update_mapped();
  return bytes;
}

}  // namespace heapwood::host_alloc
