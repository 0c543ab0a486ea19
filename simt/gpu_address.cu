// SPDX-License-Identifier: MIT
#include "simt/gpu_address.hpp"

#include <algorithm>
#include <cstdio>
#include <iterator>

#include "simt/cuda.hpp"

namespace heapwood::simt {

GpuAddress gpu_address(int index) {
  GpuAddress address;
  char bus_id[32] = {};
  if (cudaDeviceGetPCIBusId(bus_id, sizeof bus_id, index) == cudaSuccess)
    address.pci_bus_id = bus_id;
  cudaDeviceProp properties{};
  if (cudaGetDeviceProperties(&properties, index) == cudaSuccess) {
    const auto& bytes = properties.uuid.bytes;
    if (std::any_of(std::begin(bytes), std::end(bytes), [](char byte) { return byte != 0; })) {
      address.uuid = "GPU";
      for (std::size_t i = 0; i < sizeof bytes; ++i) {
        char digits[4];
        std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(bytes[i]));
        if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) address.uuid += '-';
        address.uuid += digits;
      }
    }
  }
  cudaGetLastError();  // these are details of a report: a failure has no other effect
  return address;
}

}  // namespace heapwood::simt
