// SPDX-License-Identifier: MIT
// The common front end of all host allocators: one lock, argument checks, statistics. The lock is
// held while memory is mapped, and requests of other threads wait for that.
#pragma once

#include <memory>
#include <mutex>

#include "host_alloc/policy.hpp"

namespace heapwood::host_alloc {

class Front final : public HostAllocator {
 public:
  explicit Front(std::unique_ptr<Policy> policy);

  void* allocate(std::size_t bytes, std::size_t alignment) override;
  void deallocate(void* block) override;
  HostStatistics statistics() const override;
  void walk(const std::function<void(const HostRegion&)>& visit) const override;
  std::size_t shrink() override;

 private:
  void update_mapped();

  mutable std::mutex mutex_;
  std::unique_ptr<Policy> policy_;
  HostStatistics statistics_;
};

}  // namespace heapwood::host_alloc
