// SPDX-License-Identifier: MIT
#include "simt/pinned.hpp"

#include <new>
#include <string>

#include "simt/cuda_runtime.hpp"

namespace heapwood::simt {

void* pinned_allocate(const DeviceId& device, std::size_t bytes) {
  if (bytes == 0) return nullptr;
  void* const pointer = device.kind == DeviceKind::cuda ? cuda_runtime::pinned_allocate(bytes)
                                                        : ::operator new(bytes, std::nothrow);
  if (pointer == nullptr) {
    throw Error(Exit::failed,
                "cannot allocate " + std::to_string(bytes) + " bytes of host memory for uploads");
  }
  return pointer;
}

void pinned_free(const DeviceId& device, void* pointer) noexcept {
  if (pointer == nullptr) return;
  if (device.kind == DeviceKind::cuda)
    cuda_runtime::pinned_free(pointer);
  else
    ::operator delete(pointer);
}

}  // namespace heapwood::simt
