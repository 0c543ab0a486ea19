// SPDX-License-Identifier: MIT
// gpu_address() in builds without CUDA.
#include "simt/gpu_address.hpp"

namespace heapwood::simt {

GpuAddress gpu_address(int) { return {}; }

}  // namespace heapwood::simt
