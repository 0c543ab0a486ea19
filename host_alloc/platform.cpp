// SPDX-License-Identifier: MIT
// Forwards every request to the platform: cudaMalloc and cudaFree, cudaMallocAsync and
// cudaFreeAsync, mmap and munmap. The baseline for the other host allocators. The table of live
// blocks is needed only for statistics and error messages.

#include "host_alloc/policy.hpp"
#include "simt/cuda_runtime.hpp"
#include "simt/memory.hpp"

namespace heapwood::host_alloc {
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

}  // namespace heapwood::host_alloc
