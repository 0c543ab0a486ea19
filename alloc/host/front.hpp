// SPDX-License-Identifier: MIT
// What all host allocators have in front: one lock, the checks of the arguments, the figures. The lock is held while
// memory is mapped: requests of other threads wait for that.
#pragma once

#include <memory>
#include <mutex>

#include "alloc/host/policy.hpp"

namespace heapwood::alloc::host {

class Front final : public HostAllocator {
 public:
  explicit Front(std::unique_ptr<Policy> policy);

  void* allocate(std::size_t bytes, std::size_t alignment) override;
  void deallocate(void* block) override;
  HostStatistics statistics() const override;
  void walk(const std::function<void(const HostRegion&)>& visit) const override;
  std::size_t shrink() override;

 private:
  void note_mapped();

  mutable std::mutex mutex_;
  std::unique_ptr<Policy> policy_;
  HostStatistics figures_;
};

}  // namespace heapwood::alloc::host
