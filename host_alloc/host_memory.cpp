// SPDX-License-Identifier: MIT
#include "host_alloc/host_memory.hpp"

#include <algorithm>

namespace heapwood::host_alloc {

HostMemory::HostMemory(std::string id, bool record) : id_(std::move(id)), record_(record) {
  simt::set_memory_source(this);
}

HostMemory::~HostMemory() { simt::set_memory_source(nullptr); }

HostAllocator& HostMemory::on(const simt::DeviceId& device) {
  const std::lock_guard lock(mutex_);
  const std::pair key(device.kind, device.index);
  for (const auto& entry : devices_) {
    if (entry->key == key) return *entry->allocator;
  }
  const std::string own = device.kind == simt::DeviceKind::cuda ? "cudamalloc" : "mmap";
  auto entry = std::make_unique<OnDevice>();
  entry->key = key;
  entry->allocator = make_host_allocator(id_ == "auto" ? own : id_, device);
  if (record_) {
    auto recorded = std::make_unique<RecordedHostAllocator>(std::move(entry->allocator));
    entry->recorded = recorded.get();
    entry->allocator = std::move(recorded);
  }
  return *devices_.emplace_back(std::move(entry))->allocator;
}

void* HostMemory::allocate(const simt::DeviceId& device, std::size_t bytes) {
  return on(device).allocate(bytes);
}

void HostMemory::deallocate(const simt::DeviceId& device, void* block) noexcept {
  on(device).deallocate(block);
}

std::size_t HostMemory::available(const simt::DeviceId& device) {
  const HostStatistics statistics = on(device).statistics();
  const std::size_t idle =
      statistics.mapped_bytes
          ? *statistics.mapped_bytes - std::min(*statistics.mapped_bytes, statistics.used_bytes)
          : 0;
  return simt::platform_available(device) + idle;
}

std::vector<std::string> HostMemory::leaks() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> lines;
  for (const auto& entry : devices_) {
    const HostStatistics statistics = entry->allocator->statistics();
    if (statistics.live_blocks == 0) continue;
    const std::string device = entry->key.first == simt::DeviceKind::cpu
                                   ? "cpu"
                                   : "cuda:" + std::to_string(entry->key.second);
    lines.push_back(device + ": " + std::to_string(statistics.live_blocks) + " buffers of " +
                    std::to_string(statistics.requested_bytes) + " bytes were never freed");
  }
  return lines;
}

HostTrace HostMemory::trace() const {
  const std::lock_guard lock(mutex_);
  for (const auto& entry : devices_) {
    if (entry->recorded) return entry->recorded->trace();
  }
  return {};
}

}  // namespace heapwood::host_alloc
