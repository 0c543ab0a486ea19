// SPDX-License-Identifier: MIT
#include "simt/gl_interop.hpp"

#include "simt/cuda.hpp"

// A machine that only computes may have no OpenGL headers, and has no use for this file.
#if __has_include(<GL/gl.h>)

#include <GL/gl.h>
// OpenGL's header first: on some processors NVIDIA's does not include it.
#include <cuda_gl_interop.h>

namespace heapwood::simt {

namespace {

// As check_cuda, but a refusal here is no error of the program, and is not for the next launch to report.
void check_gl(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();
  check_cuda(status, what);
}

class CudaGlBuffer : public GlBuffer {
 public:
  CudaGlBuffer(int device, unsigned buffer) : device_(device) {
    use_device();
    // A stream that does not wait for those of builds and rays: mapping must not make the window wait.
    check_gl(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
    // Without flags, what was there stays: kernels write some rows, and leave the others.
    const cudaError_t status = cudaGraphicsGLRegisterBuffer(&resource_, buffer, cudaGraphicsRegisterFlagsNone);
    if (status == cudaSuccess) return;
    cudaStreamDestroy(stream_);
    check_gl(status, "cudaGraphicsGLRegisterBuffer");
  }
  CudaGlBuffer(const CudaGlBuffer&) = delete;
  CudaGlBuffer& operator=(const CudaGlBuffer&) = delete;
  ~CudaGlBuffer() override {
    cudaSetDevice(device_);
    if (mapped_) cudaGraphicsUnmapResources(1, &resource_, stream_);
    cudaGraphicsUnregisterResource(resource_);
    cudaStreamDestroy(stream_);
    cudaGetLastError();
  }

  void* map() override {
    use_device();
    check_gl(cudaGraphicsMapResources(1, &resource_, stream_), "cudaGraphicsMapResources");
    mapped_ = true;
    void* pointer = nullptr;
    std::size_t bytes = 0;
    check_gl(cudaGraphicsResourceGetMappedPointer(&pointer, &bytes, resource_), "cudaGraphicsResourceGetMappedPointer");
    return pointer;
  }
  // map() has put the wait for OpenGL into the stream.
  void wait() override {
    use_device();
    check_gl(cudaStreamSynchronize(stream_), "waiting for OpenGL");
  }
  void unmap() override {
    use_device();
    mapped_ = false;
    check_gl(cudaGraphicsUnmapResources(1, &resource_, stream_), "cudaGraphicsUnmapResources");
  }

 private:
  void use_device() const { check_gl(cudaSetDevice(device_), "cudaSetDevice"); }

  int device_;
  cudaStream_t stream_{};
  cudaGraphicsResource_t resource_{};
  bool mapped_ = false;
};

}  // namespace

GlDevices gl_devices() {
  unsigned count = 0;
  int devices[16] = {};
  const cudaError_t status = cudaGLGetDevices(&count, devices, 16, cudaGLDeviceListAll);
  if (status != cudaSuccess) {
    cudaGetLastError();
    return {{}, cudaGetErrorString(status)};
  }
  return {std::vector<int>(devices, devices + (count < 16 ? count : 16)), ""};
}

std::unique_ptr<GlBuffer> share_gl_buffer(const DeviceId& device, unsigned buffer) {
  return std::make_unique<CudaGlBuffer>(device.index, buffer);
}

}  // namespace heapwood::simt

#else

namespace heapwood::simt {

namespace {
constexpr const char* reason = "this program was built without OpenGL's headers";
}

GlDevices gl_devices() { return {{}, reason}; }
std::unique_ptr<GlBuffer> share_gl_buffer(const DeviceId&, unsigned) { throw Error(Exit::device, reason); }

}  // namespace heapwood::simt

#endif
