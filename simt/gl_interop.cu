// SPDX-License-Identifier: MIT
#include "simt/gl_interop.hpp"

#include "simt/cuda.hpp"

// Where OpenGL's headers are missing, as on compute nodes, the functions report that instead.
#if __has_include(<GL/gl.h>)

#include <GL/gl.h>
// GL/gl.h precedes NVIDIA's header, which does not include it on every architecture.
#include <cuda_gl_interop.h>

namespace heapwood::simt {

namespace {

// As check_cuda, but clears the error: the caller has a fallback, and the next launch must not
// report it.
void check_gl(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();
  check_cuda(status, what);
}

class CudaGlBuffer : public GlBuffer {
 public:
  CudaGlBuffer(int device, unsigned buffer) : device_(device) {
    use_device();
    // A non-blocking stream: mapping must not wait for kernels of builds and rays.
    check_gl(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
    // Without flags the contents are preserved: kernels write some rows and keep the others.
    const cudaError_t status =
        cudaGraphicsGLRegisterBuffer(&resource_, buffer, cudaGraphicsRegisterFlagsNone);
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
    check_gl(cudaGraphicsResourceGetMappedPointer(&pointer, &bytes, resource_),
             "cudaGraphicsResourceGetMappedPointer");
    return pointer;
  }
  // map() has enqueued the wait for OpenGL in the stream.
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
std::unique_ptr<GlBuffer> share_gl_buffer(const DeviceId&, unsigned) {
  throw Error(Exit::device, reason);
}

}  // namespace heapwood::simt

#endif
