// SPDX-License-Identifier: MIT
// How the system names a GPU. CUDA's ordinals depend on the environment of a process; these names
// do not.
#pragma once

#include <string>

namespace heapwood::simt {

struct GpuAddress {
  std::string pci_bus_id;  // "0000:1b:00.0"; "" if unknown
  std::string uuid;        // "GPU-01234567-..."; "" if unknown
};

// The address of the GPU with this CUDA ordinal; empty in builds without CUDA.
GpuAddress gpu_address(int index);

}  // namespace heapwood::simt
