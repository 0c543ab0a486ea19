// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdio>
#include <mutex>

#include "host_alloc/policy.hpp"
#include "simt/cuda_runtime.hpp"
#include "simt/memory.hpp"

namespace heapwood::host_alloc {

// Forwards every request to the platform: cudaMalloc and cudaFree, cudaMallocAsync and
// cudaFreeAsync, mmap and munmap. The baseline for the other host allocators. The table of live
// blocks is needed only for statistics and error messages.

namespace {

class Platform final : public Policy {
 public:
  // async: uses cudaMallocAsync, in the order of CUDA's default stream.
  Platform(const simt::DeviceId& device, bool async, const HostAllocatorOptions& options)
      : device_(device), async_(async), capacity_(options.capacity) {}
  ~Platform() override {
    for (const auto& [address, piece] : live_) give_back(piece);
  }

  LiveBlock allocate(std::size_t bytes, std::size_t alignment) override {
    const std::size_t padding = alignment > unit ? alignment - unit : 0;
    const std::size_t remaining = capacity_ - taken_;
    if (remaining < padding || bytes > remaining - padding) return {};
    Piece piece{nullptr, bytes + padding, bytes};
    piece.begin = async_ ? simt::cuda_runtime::pool_allocate(device_.index, piece.bytes)
                         : simt::platform_allocate(device_, piece.bytes);
    if (piece.begin == nullptr) return {};
    taken_ += piece.bytes;
    const std::uintptr_t address =
        (reinterpret_cast<std::uintptr_t>(piece.begin) + alignment - 1) & ~(alignment - 1);
    live_.emplace(address, piece);
    return {pointer_to(address), bytes, piece.bytes};
  }
  LiveBlock deallocate(void* block) override {
    const auto found = live_.find(reinterpret_cast<std::uintptr_t>(block));
    if (found == live_.end()) refuse_free(*this, block);
    const Piece piece = found->second;
    live_.erase(found);
    give_back(piece);
    taken_ -= piece.bytes;
    return {block, piece.requested, piece.bytes};
  }
  void walk(const std::function<void(const HostRegion&)>& visit) const override {
    for (const auto& [address, piece] : live_) {
      const std::size_t padding = address - reinterpret_cast<std::uintptr_t>(piece.begin);
      visit({address, piece.bytes - padding, piece.requested, HostRegion::State::used});
    }
  }
  std::size_t shrink() override {
    if (!async_) return 0;
    const std::size_t before = simt::cuda_runtime::pool_reserved(device_.index);
    simt::cuda_runtime::pool_trim(device_.index);
    return before - simt::cuda_runtime::pool_reserved(device_.index);
  }
  std::optional<std::size_t> mapped_bytes() const override {
    if (async_) return simt::cuda_runtime::pool_reserved(device_.index);
    return std::nullopt;
  }
  std::uint64_t mappings() const override { return 0; }

 private:
  struct Piece {
    void* begin;  // as returned by the platform
    std::size_t bytes, requested;
  };
  void give_back(const Piece& piece) noexcept {
    if (async_) return simt::cuda_runtime::pool_free(device_.index, piece.begin);
    simt::platform_free(device_, piece.begin, piece.bytes);
  }

  simt::DeviceId device_;
  bool async_;
  std::size_t capacity_, taken_ = 0;
  AddressTable<Piece> live_;
};

}  // namespace

std::unique_ptr<Policy> make_platform(const simt::DeviceId& device, bool async,
                                      const HostAllocatorOptions& options) {
  return std::make_unique<Platform>(device, async, options);
}

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

// The size of the reserved range: twice the capacity and more, because addresses cost nothing, and
// holes left by shrink() serve only requests that fit them. Limited to what tools that rearrange
// the address space (ThreadSanitizer) leave free.
std::size_t addresses(const simt::DeviceId& device, std::size_t capacity) {
  const std::size_t twice = 2 * capacity + (std::size_t{64} << 20);
  return device.kind == DeviceKind::cuda ? twice : std::min(twice, std::size_t{1} << 39);
}

std::unique_ptr<Policy> over_range(const std::string& id, std::unique_ptr<simt::VirtualRange> range,
                                   const HostAllocatorOptions& options) {
  if (id == "segfit") return make_segregated_fit(std::move(range), options, 0);
  if (id == "tlsf") return make_segregated_fit(std::move(range), options, 5);
  if (id == "bitmask") return make_bitmask(std::move(range), options);
  if (id == "hybrid") return make_hybrid(std::move(range), options);
  return nullptr;
}

// The front end of all host allocators: one lock, argument checks, statistics. The lock is held
// while memory is mapped, and requests of other threads wait for that.
class Front final : public HostAllocator {
 public:
  explicit Front(std::unique_ptr<Policy> policy) : policy_(std::move(policy)) {
    update_mapped(statistics_);
  }

  void* allocate(std::size_t bytes, std::size_t alignment) override {
    if (alignment == 0 || (alignment & (alignment - 1)) != 0 || alignment > largest_alignment) {
      throw Error(Exit::usage, "host allocator: alignment " + std::to_string(alignment) +
                                   ": expected a power of two, at most " +
                                   std::to_string(largest_alignment));
    }
    const std::lock_guard lock(mutex_);
    const LiveBlock block = policy_->allocate(std::max<std::size_t>(bytes, 1), alignment);
    if (policy_->mappings() != statistics_.mappings) update_mapped(statistics_);
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
  void deallocate(void* block) override {
    if (block == nullptr) return;
    const std::lock_guard lock(mutex_);
    const LiveBlock freed = policy_->deallocate(block);
    ++statistics_.deallocations;
    --statistics_.live_blocks;
    statistics_.requested_bytes -= freed.requested;
    statistics_.used_bytes -= freed.used;
  }
  HostStatistics statistics() const override {
    const std::lock_guard lock(mutex_);
    HostStatistics result = statistics_;
    update_mapped(result);
    return result;
  }
  void walk(const std::function<void(const HostRegion&)>& visit) const override {
    const std::lock_guard lock(mutex_);
    policy_->walk(visit);
  }
  std::size_t shrink() override {
    const std::lock_guard lock(mutex_);
    const std::size_t bytes = policy_->shrink();
    update_mapped(statistics_);
    return bytes;
  }

 private:
  void update_mapped(HostStatistics& statistics) const {
    statistics.mapped_bytes = policy_->mapped_bytes();
    statistics.mappings = policy_->mappings();
    if (statistics.mapped_bytes)
      statistics.peak_mapped_bytes =
          std::max(statistics.peak_mapped_bytes.value_or(0), *statistics.mapped_bytes);
  }

  mutable std::mutex mutex_;
  std::unique_ptr<Policy> policy_;
  HostStatistics statistics_;
};

std::string hexadecimal(std::uintptr_t address) {
  char text[32];
  std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(address));
  return text;
}

}  // namespace

void refuse_free(const Policy& policy, const void* block) {
  const auto address = reinterpret_cast<std::uintptr_t>(block);
  std::string why =
      "the address is in no memory of this allocator; free it with the allocator that returned it";
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
    // No limit by default: the platform knows its own, and on the CPU untouched pages do not count.
    if (with_capacity.capacity == 0) with_capacity.capacity = ~std::size_t{0};
    return std::make_unique<Front>(make_platform(device, id == "cudamallocasync", with_capacity));
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
  std::unique_ptr<Policy> policy = over_range(id, std::move(range), with_capacity);
  if (!policy) throw Error(Exit::usage, "host allocator '" + id + "': does not manage a range");
  return std::make_unique<Front>(std::move(policy));
}

}  // namespace heapwood::host_alloc
