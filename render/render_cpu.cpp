// SPDX-License-Identifier: MIT
#include "render/backend_impl.hpp"
#include "simt/cpu.hpp"

namespace heapwood::render {

const Backend& cpu_backend() { return BackendOf<simt::Cpu>::table; }

}  // namespace heapwood::render
