// SPDX-License-Identifier: MIT
// CUDA access to OpenGL buffers, so that pictures are displayed without a copy through the host.
// Needs neither CUDA's nor OpenGL's headers: implemented by gl_interop.cu or cuda_absent.cpp.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "simt/device.hpp"

namespace heapwood::simt {

// CUDA ordinals of the GPUs that the current OpenGL context runs on, or why they are unknown.
struct GlDevices {
  std::vector<int> indices;
  std::string error;
};
GlDevices gl_devices();

// An OpenGL buffer object as device memory. OpenGL must not access it while it is mapped; kernels
// must not access it while it is not. All functions but wait() must be called by the thread whose
// context created the buffer; all throw Error.
class GlBuffer {
 public:
  virtual ~GlBuffer() = default;
  // Does not wait for OpenGL: the caller calls wait() before it launches a kernel on the memory.
  virtual void* map() = 0;
  // Waits until OpenGL has completed the commands issued before map(). Any thread may call it.
  virtual void wait() = 0;
  // Kernels that access the memory must have ended.
  virtual void unmap() = 0;
};
// The buffer's storage must have been allocated.
std::unique_ptr<GlBuffer> share_gl_buffer(const DeviceId& device, unsigned buffer);

}  // namespace heapwood::simt
