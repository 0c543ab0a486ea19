// SPDX-License-Identifier: MIT
// A host allocator for tests: device memory block by block, with counters. It can refuse a given
// request.
#pragma once

#include <map>

#include "host_alloc/host_allocator.hpp"
#include "simt/memory.hpp"

namespace heapwood::kdtree::test {

class PlainHost final : public host_alloc::HostAllocator {
 public:
  explicit PlainHost(const simt::DeviceId& device) : device_(device) {}

  void* allocate(std::size_t bytes, std::size_t) override {
    if (++requests_ == refuse_) {
      ++statistics_.refused;
      return nullptr;
    }
    simt::Memory block(device_, bytes);
    block.fill(0xa5);  // memory is not zero-initialized
    void* const address = block.data();
    statistics_.allocations += 1;
    statistics_.live_blocks += 1;
    statistics_.requested_bytes += bytes;
    statistics_.peak_requested_bytes =
        std::max(statistics_.peak_requested_bytes, statistics_.requested_bytes);
    blocks_.emplace(address, std::move(block));
    return address;
  }
  void deallocate(void* address) override {
    const auto found = blocks_.find(address);
    if (found == blocks_.end()) throw Error(Exit::failed, "not a live block");
    found->second.fill(0x5a);  // a reader of freed memory sees garbage
    statistics_.deallocations += 1;
    statistics_.live_blocks -= 1;
    statistics_.requested_bytes -= found->second.bytes();
    blocks_.erase(found);
  }
  host_alloc::HostStatistics statistics() const override { return statistics_; }
  void walk(const std::function<void(const host_alloc::HostRegion&)>&) const override {}
  std::size_t shrink() override { return 0; }

  // Refuses the k-th request from now on; 0: none.
  void refuse(std::uint64_t k) { refuse_ = k == 0 ? 0 : requests_ + k; }

 private:
  simt::DeviceId device_;
  std::map<void*, simt::Memory> blocks_;
  host_alloc::HostStatistics statistics_;
  std::uint64_t requests_ = 0, refuse_ = 0;
};

}  // namespace heapwood::kdtree::test
