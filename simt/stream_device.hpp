// SPDX-License-Identifier: MIT
// StreamDevice: the device as the library needs it, without launchers, control blocks or compiled
// code: memory, copies and loops in the order of a stream. With nvcc it is the current GPU, with a
// host compiler the CPU.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "simt/config.hpp"
#include "simt/device.hpp"
#include "simt/memory.hpp"
#if defined(__CUDACC__)
#include <cuda_runtime.h>

#include "simt/device_heap.hpp"
#else
#include <thread>
#endif

namespace heapwood::simt {

// The alignment that CUDA guarantees for its allocations; CPU memory gets it too.
inline constexpr std::size_t shared_alignment = 256;

#if defined(__CUDACC__)

using StreamHandle = cudaStream_t;

inline void check_stream(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // cleared, so that the program's next check does not report the error again
  throw Error(Exit::failed, std::string("heapwood: ") + what + ": " + cudaGetErrorName(status) +
                                " (" + cudaGetErrorString(status) + ")");
}

namespace stream_detail {

// Bytes passed as a kernel parameter, which a launch copies when it is enqueued or captured.
struct Piece {
  static constexpr std::size_t capacity = 2048;
  std::byte* to;
  std::size_t bytes;
  std::byte data[capacity];
};
template <class T>
__global__ void write_piece(const T piece) {
  for (std::size_t i = threadIdx.x; i < piece.bytes; i += blockDim.x) piece.to[i] = piece.data[i];
}

template <class F>
__global__ void run_loop(std::size_t n, const F f) {
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < n;
       i += std::size_t{gridDim.x} * blockDim.x) {
    f(i);
  }
}

template <class F>
__global__ void call_per_thread(unsigned n, const F f) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) f(i);
}

// A function of CUDA's driver as of this version, found at run time; nullptr if there is none.
inline void* driver_function(const char* name, int version = 12000) {
  void* entry = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
  const cudaError_t status =
      cudaGetDriverEntryPointByVersion(name, &entry, version, cudaEnableDefault, &found);
#else
  (void)version;
  const cudaError_t status = cudaGetDriverEntryPoint(name, &entry, cudaEnableDefault, &found);
#endif
  if (status != cudaSuccess) cudaGetLastError();
  return status == cudaSuccess && found == cudaDriverEntryPointSuccess ? entry : nullptr;
}

// Makes a GPU the current one until the end of the scope.
class CurrentDevice {
 public:
  explicit CurrentDevice(int device) {
    cudaGetDevice(&previous_);
    if (previous_ != device) cudaSetDevice(device);
  }
  ~CurrentDevice() { cudaSetDevice(previous_); }
  CurrentDevice(CurrentDevice&&) = delete;

 private:
  int previous_ = 0;
};

}  // namespace stream_detail

class StreamDevice : public DeviceId {
 public:
  using Stream = StreamHandle;

  explicit StreamDevice(int device, Stream stream = {})
      : DeviceId{DeviceKind::cuda, device, 0}, stream_(stream) {}
  static int current() {
    int device = 0;
    check_stream(cudaGetDevice(&device), "no usable GPU");
    return device;
  }

  const StreamDevice& id() const { return *this; }
  unsigned multiprocessors() const {
    int count = 0;
    check_stream(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, index),
                 "multiprocessor count");
    return static_cast<unsigned>(count);
  }

  std::byte* allocate(std::size_t bytes) const {
    const stream_detail::CurrentDevice current(index);
    void* memory = nullptr;
    const std::string what = "cannot allocate " + std::to_string(bytes) + " bytes of GPU memory";
    check_stream(cudaMalloc(&memory, bytes), what.c_str());
    return static_cast<std::byte*>(memory);
  }
  // `context` is what context() returned when the memory was allocated. Memory of other contexts is
  // skipped: cudaDeviceReset() has freed it, and its addresses may belong to other allocations now.
  void free(std::byte* memory, std::size_t, std::uint64_t context) const noexcept {
    const stream_detail::CurrentDevice current(index);
    if (context == this->context() && cudaFree(memory) != cudaSuccess) cudaGetLastError();
  }
  // Identifies the context of the device: another one after cudaDeviceReset().
  std::uint64_t context() const noexcept {
    const stream_detail::CurrentDevice current(index);
    cudaFree(nullptr);  // makes the context that of the calling thread
    unsigned long long id = 0;
    if (void* const entry = stream_detail::driver_function("cuCtxGetId"))
      reinterpret_cast<int (*)(void*, unsigned long long*)>(entry)(nullptr, &id);
    return id;
  }

  void fill(void* to, int byte, std::size_t bytes) const {
    const stream_detail::CurrentDevice current(index);
    check_stream(cudaMemsetAsync(to, byte, bytes, stream_), "fill");
  }
  void upload(void* to, const void* from_host, std::size_t bytes) const {
    const stream_detail::CurrentDevice current(index);
    cudaStreamCaptureStatus capture{};
    check_stream(cudaStreamIsCapturing(stream_, &capture), "upload");
    if (capture == cudaStreamCaptureStatusNone) {
      // Returns after the host's memory, which is pageable, has been read.
      check_stream(cudaMemcpyAsync(to, from_host, bytes, cudaMemcpyHostToDevice, stream_),
                   "upload");
      return;
    }
    for (std::size_t offset = 0; offset < bytes; offset += stream_detail::Piece::capacity) {
      stream_detail::Piece piece;
      piece.to = static_cast<std::byte*>(to) + offset;
      piece.bytes = std::min(stream_detail::Piece::capacity, bytes - offset);
      std::memcpy(piece.data, static_cast<const std::byte*>(from_host) + offset, piece.bytes);
      stream_detail::write_piece<<<1, 256, 0, stream_>>>(piece);
      check_stream(cudaGetLastError(), "upload");
    }
  }
  // Waits for the stream.
  void download(void* to_host, const void* from, std::size_t bytes) const {
    const stream_detail::CurrentDevice current(index);
    check_stream(cudaMemcpyAsync(to_host, from, bytes, cudaMemcpyDeviceToHost, stream_),
                 "download");
    check_stream(cudaStreamSynchronize(stream_), "download");
  }
  // Calls f(i) for all i < n, in parallel.
  template <class F>
  void for_each(std::size_t n, F f) const {
    if (n == 0) return;
    const stream_detail::CurrentDevice current(index);
    const std::size_t blocks =
        std::min(n / 256 + (n % 256 != 0), std::size_t{multiprocessors()} * 16);
    stream_detail::run_loop<F><<<static_cast<unsigned>(blocks), 256, 0, stream_>>>(n, f);
    check_stream(cudaGetLastError(), "launch");
  }
  void synchronize() const {
    const stream_detail::CurrentDevice current(index);
    check_stream(cudaStreamSynchronize(stream_), "waiting for a stream");
  }
  // Calls f(i) for all i < n, each in a thread of its own.
  template <class F>
  void for_each_thread(unsigned n, const F& f) const {
    if (n == 0) return;
    const stream_detail::CurrentDevice current(index);
    const unsigned blocks = n / 128 + (n % 128 != 0);  // n + 127 may wrap
    stream_detail::call_per_thread<F><<<blocks, 128, 0, stream_>>>(n, f);
    check_stream(cudaGetLastError(), "launch");
  }
  // Waits for all work of the device, on all streams.
  void synchronize_device() const {
    const stream_detail::CurrentDevice current(index);
    check_stream(cudaDeviceSynchronize(), "waiting for the device");
  }
  void reserve_heap(std::size_t bytes) const {
    const stream_detail::CurrentDevice current(index);
    reserve_device_heap(index, bytes);
  }

 private:
  Stream stream_;
};

// Allocates zeroed memory, aligned to shared_alignment, for host and device while no kernel runs.
inline void* allocate_shared(std::size_t bytes) {
  bytes = std::max(bytes, std::size_t{1});  // cudaMallocManaged refuses 0 bytes
  void* memory = nullptr;
  check_stream(cudaMallocManaged(&memory, bytes), "cannot allocate managed memory");
  cudaError_t status = cudaMemset(memory, 0, bytes);
  if (status == cudaSuccess) status = cudaDeviceSynchronize();
  if (status != cudaSuccess) cudaFree(memory);
  check_stream(status, "cannot clear managed memory");
  return memory;
}
inline void free_shared(void* memory) noexcept { cudaFree(memory); }

// A page of host memory, set to 0, that the device writes to. It is the C library's, registered
// with CUDA: it stays readable after a fault in a kernel and after cudaDeviceReset().
class MappedPage {
 public:
  explicit MappedPage(const StreamDevice& device)
      : device_(device),
        context_(device.context()),
        on_host_(std::aligned_alloc(page_bytes, page_bytes)) {
    const stream_detail::CurrentDevice current(device.index);
    if (on_host_ == nullptr) return;
    std::memset(on_host_, 0, page_bytes);
    if (cudaHostRegister(on_host_, page_bytes, cudaHostRegisterMapped) != cudaSuccess ||
        cudaHostGetDevicePointer(&on_device_, on_host_, 0) != cudaSuccess) {
      on_device_ = nullptr;  // mapping is not supported, so faults will not be reported
      cudaGetLastError();
    }
  }
  ~MappedPage() {
    if (on_device_ != nullptr && is_current() && cudaHostUnregister(on_host_) != cudaSuccess)
      cudaGetLastError();
    std::free(on_host_);
  }
  MappedPage(MappedPage&&) = delete;

  // Whether the context in which it was made still exists.
  bool is_current() const { return context_ == device_.context(); }
  void* on_host() const { return on_host_; }
  void* on_device() const { return on_device_; }

 private:
  static constexpr std::size_t page_bytes = 4096;

  StreamDevice device_;
  std::uint64_t context_;
  void* on_host_;
  void* on_device_ = nullptr;
};

#else

// A CPU has no streams, so any value is accepted.
struct StreamHandle {};

class StreamDevice : public DeviceId {
 public:
  using Stream = StreamHandle;

  explicit StreamDevice(int = 0, Stream = {}) {}
  static int current() { return 0; }

  const StreamDevice& id() const { return *this; }
  unsigned multiprocessors() const { return std::max(1u, std::thread::hardware_concurrency()); }

  std::byte* allocate(std::size_t bytes) const {
    // Large blocks of the C library are untouched pages, which take no memory yet.
    constexpr std::size_t unit = shared_alignment;
    void* memory = nullptr;
    // Larger sizes are not passed on: the C library refuses them, and sanitizers end the program.
    if (bytes <= ~std::size_t{0} / 2)
      memory = std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit);
    if (memory == nullptr) {
      throw Error(Exit::failed,
                  "heapwood: cannot allocate " + std::to_string(bytes) + " bytes of memory");
    }
    return static_cast<std::byte*>(memory);
  }
  void free(std::byte* memory, std::size_t, std::uint64_t) const noexcept { std::free(memory); }
  std::uint64_t context() const noexcept { return 0; }
  void fill(void* to, int byte, std::size_t bytes) const { std::memset(to, byte, bytes); }
  void upload(void* to, const void* from, std::size_t bytes) const { std::memcpy(to, from, bytes); }
  void download(void* to, const void* from, std::size_t bytes) const {
    std::memcpy(to, from, bytes);
  }
  template <class F>
  void for_each(std::size_t n, F f) const {
    for (std::size_t i = 0; i < n; ++i) f(i);
  }
  void synchronize() const {}
  void synchronize_device() const {}
};

inline void* allocate_shared(std::size_t bytes) {
  void* const memory = StreamDevice().allocate(std::max(bytes, std::size_t{1}));
  std::memset(memory, 0, bytes);
  return memory;
}
inline void free_shared(void* memory) noexcept { std::free(memory); }

class MappedPage {
 public:
  explicit MappedPage(const StreamDevice&) {}
  MappedPage(MappedPage&&) = delete;
  bool is_current() const { return true; }
  void* on_host() const { return page_.get(); }
  void* on_device() const { return page_.get(); }

 private:
  static constexpr std::size_t words = 512;
  std::unique_ptr<std::uint64_t[]> page_ = std::make_unique<std::uint64_t[]>(words);
};

#endif

namespace stream_detail {

struct Free {
  StreamDevice device{0};
  std::size_t bytes = 0;
  std::uint64_t context = 0;
  void operator()(std::byte* memory) const { device.free(memory, bytes, context); }
};

}  // namespace stream_detail

// Memory of a StreamDevice; none if it was moved from.
class StreamMemory {
 public:
  StreamMemory() = default;
  StreamMemory(const StreamDevice& device, std::size_t bytes)
      : memory_(device.allocate(bytes), stream_detail::Free{device, bytes, device.context()}) {}

  std::byte* data() const { return memory_.get(); }
  std::size_t bytes() const { return memory_ == nullptr ? 0 : memory_.get_deleter().bytes; }

 private:
  std::unique_ptr<std::byte, stream_detail::Free> memory_;
};

}  // namespace heapwood::simt
