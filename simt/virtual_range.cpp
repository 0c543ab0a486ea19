// SPDX-License-Identifier: MIT
#include "simt/virtual_range.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "simt/cuda_runtime.hpp"
#include "simt/memory.hpp"

namespace heapwood::simt {

namespace {

// Reserved addresses are PROT_NONE: an access to unmapped memory faults, as on a GPU.
class CpuRange final : public VirtualRange {
 public:
  explicit CpuRange(std::size_t bytes) {
    bytes_ = (bytes + granularity_ - 1) / granularity_ * granularity_;
    reserved_bytes_ = bytes_ + granularity_;  // for alignment: mmap aligns to pages only
    reserved_ = mmap(nullptr, reserved_bytes_, PROT_NONE, flags, -1, 0);
    if (reserved_ == MAP_FAILED) {
      throw Error(Exit::failed, "cpu: cannot reserve " + std::to_string(bytes >> 20) +
                                    " MiB of addresses: " + std::strerror(errno) +
                                    "; raise the limit (ulimit -v), or use --host-allocator mmap");
    }
    const auto begin = reinterpret_cast<std::uintptr_t>(reserved_);
    base_ =
        static_cast<std::byte*>(reserved_) + (granularity_ - begin % granularity_) % granularity_;
  }
  ~CpuRange() override { munmap(reserved_, reserved_bytes_); }

  bool map(std::size_t offset, std::size_t bytes) override {
    if (bytes > platform_available({})) return false;
    if (mprotect(base_ + offset, bytes, PROT_READ | PROT_WRITE) == 0) return true;
    if (errno == ENOMEM) return false;
    throw Error(Exit::failed,
                "cpu: cannot map " + std::to_string(bytes >> 20) + " MiB: " + std::strerror(errno));
  }
  void unmap(std::size_t offset, std::size_t bytes) noexcept override {
    // Maps new inaccessible pages over the old ones, which returns those to the system.
    [[maybe_unused]] void* fresh = mmap(base_ + offset, bytes, PROT_NONE, flags | MAP_FIXED, -1, 0);
  }

 private:
  static constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* reserved_ = nullptr;
  std::size_t reserved_bytes_ = 0;
};

}  // namespace

std::unique_ptr<VirtualRange> reserve_range(const DeviceId& device, std::size_t bytes) {
  if (device.kind == DeviceKind::cuda) return cuda_runtime::reserve_range(device.index, bytes);
  return std::make_unique<CpuRange>(bytes);
}

}  // namespace heapwood::simt
