// SPDX-License-Identifier: MIT
// Serves all device memory of a program from host allocators: while a HostMemory exists, simt's
// Memory and Buffer allocate from one allocator per device, created when the device is first used.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "host_alloc/trace.hpp"
#include "simt/memory.hpp"

namespace heapwood::host_alloc {

class HostMemory final : public simt::MemorySource {
 public:
  // `id` is one of host_allocators(), or "auto": the platform's own. `record` keeps traces. There
  // must be no other source of memory, and no buffer yet.
  explicit HostMemory(std::string id, bool record = false);
  ~HostMemory() override;
  HostMemory(HostMemory&&) = delete;

  void* allocate(const simt::DeviceId& device, std::size_t bytes) override;
  void deallocate(const simt::DeviceId& device, void* block) noexcept override;
  std::size_t available(const simt::DeviceId& device) override;

  // Describes, one line per device, blocks that were never freed.
  std::vector<std::string> leaks() const;
  // The recorded trace of the first device used; empty if nothing was recorded.
  HostTrace trace() const;

 private:
  struct OnDevice {
    std::pair<simt::DeviceKind, int> key;
    std::unique_ptr<HostAllocator> allocator;
    RecordedHostAllocator* recorded = nullptr;
  };
  HostAllocator& on(const simt::DeviceId& device);

  std::string id_;
  bool record_;
  mutable std::mutex mutex_;  // protects the list of allocators
  std::vector<std::unique_ptr<OnDevice>> devices_;
};

}  // namespace heapwood::host_alloc
