// SPDX-License-Identifier: MIT
// Forwards every request to the platform: cudaMalloc and cudaFree, cudaMallocAsync and
// cudaFreeAsync, mmap and munmap. The baseline for the other host allocators. The table of live
// blocks is needed only for statistics and error messages.
#pragma once

#include "host_alloc/address_table.hpp"
#include "host_alloc/policy.hpp"

namespace heapwood::host_alloc {

class Platform final : public Policy {
 public:
  enum class Kind { plain, async };  // async: in the order of CUDA's default stream
  Platform(const simt::DeviceId& device, Kind kind, const HostAllocatorOptions& options)
      : device_(device), kind_(kind), capacity_(options.capacity) {}
  ~Platform() override;

  LiveBlock allocate(std::size_t bytes, std::size_t alignment) override;
  LiveBlock deallocate(void* block) override;
  void walk(const std::function<void(const HostRegion&)>& visit) const override;
  std::size_t shrink() override;
  std::optional<std::size_t> mapped_bytes() const override;
  std::uint64_t mappings() const override { return 0; }

 private:
  struct Piece {
    void* begin;  // as returned by the platform
    std::size_t bytes, requested;
  };
  void give_back(const Piece& piece) noexcept;

  simt::DeviceId device_;
  Kind kind_;
  std::size_t capacity_, taken_ = 0;
  AddressTable<Piece> live_;
};

}  // namespace heapwood::host_alloc
