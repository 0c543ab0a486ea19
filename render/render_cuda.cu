// SPDX-License-Identifier: MIT
#include "render/backend_impl.hpp"
#include "simt/cuda.hpp"

namespace heapwood::render {

const Backend& cuda_backend() { return BackendOf<simt::Cuda>::table; }

}  // namespace heapwood::render
