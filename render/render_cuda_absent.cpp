// SPDX-License-Identifier: MIT
#include "render/backend.hpp"
#include "simt/error.hpp"

namespace heapwood::render {

const Backend& cuda_backend() {
  throw Error(Exit::device,
              "rendering on a GPU: this program was built without CUDA; use --device cpu, or "
              "rebuild with a "
              "CUDA compiler: make demo CUDA=on");
}

}  // namespace heapwood::render
