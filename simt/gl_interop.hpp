// SPDX-License-Identifier: MIT
// CUDA's side of pictures that OpenGL shows without a copy through the host, without CUDA's headers or OpenGL's:
// gl_interop.cu implements it where CUDA is built, gl_interop_absent.cpp where it is not.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "simt/device.hpp"

namespace heapwood::simt {

// GPUs that OpenGL's current context runs on, by CUDA's numbers; or why they are not known.
struct GlDevices {
  std::vector<int> indices;
  std::string error;
};
GlDevices gl_devices();

// A buffer object of OpenGL as memory of a GPU. By turns OpenGL's and the GPU's: OpenGL must not touch it while it is
// mapped, and no kernel while it is not. All but wait() is for the thread whose context has made the buffer; all throw
// Error.
class GlBuffer {
 public:
  virtual ~GlBuffer() = default;
  // Does not wait for OpenGL: whoever launches a kernel on it does.
  virtual void* map() = 0;
  // Until OpenGL is through with what it was told before map(). For any thread.
  virtual void wait() = 0;
  // Kernels that write to it have ended.
  virtual void unmap() = 0;
};
// The buffer must have its size.
std::unique_ptr<GlBuffer> share_gl_buffer(const DeviceId& device, unsigned buffer);

}  // namespace heapwood::simt
