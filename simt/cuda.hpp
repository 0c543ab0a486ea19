// SPDX-License-Identifier: MIT
// Launches kernels on a GPU; included by .cu files only. All warps of launch() are resident, so a
// warp may wait for another one; launch_independent() takes any grid, for kernels whose warps never
// wait. Times are measured by CUDA events around the kernel.
#pragma once

#if !defined(__CUDACC__)
#error "simt/cuda.hpp must be compiled by nvcc"
#endif

#include <cuda_runtime.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "simt/clock.hpp"
#include "simt/control.hpp"
#include "simt/cuda_warp.hpp"
#include "simt/device.hpp"
#include "simt/device_heap.hpp"
#include "simt/launch.hpp"

namespace heapwood::simt {

inline void check_cuda(cudaError_t status, const char* what) {
  if (status != cudaSuccess) {
    throw Error(Exit::failed, std::string(what) + ": " + cudaGetErrorName(status) + " (" +
                                  cudaGetErrorString(status) + ")");
  }
}

// The stream of all kernels: the default stream, unless limit_multiprocessors() has replaced it.
inline cudaStream_t& launch_stream() {
  static cudaStream_t stream{};
  return stream;
}

// The control block, in device memory, where waiting warps poll it without crossing the bus. The
// host raises the abort flag by a copy on a separate stream, concurrently with the kernel.
class DeviceControl {
 public:
  DeviceControl() {
    check_cuda(cudaMalloc(reinterpret_cast<void**>(&device_), sizeof(Control)), "control block");
    check_cuda(cudaMemsetAsync(device_, 0, sizeof(Control), launch_stream()), "control block");
    check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "control stream");
  }
  DeviceControl(DeviceControl&&) = delete;
  ~DeviceControl() {
    cudaFree(device_);
    cudaStreamDestroy(stream_);
  }
  Control* device() const { return device_; }
  void raise_abort() {
    static const std::uint32_t one = 1;
    check_cuda(cudaMemcpyAsync(&device_->abort, &one, sizeof(one), cudaMemcpyHostToDevice, stream_),
               "abort flag");
  }

 private:
  Control* device_ = nullptr;
  cudaStream_t stream_{};
};

class CudaEvent {
 public:
  CudaEvent() { check_cuda(cudaEventCreate(&event_), "cudaEventCreate"); }
  ~CudaEvent() { cudaEventDestroy(event_); }
  CudaEvent(CudaEvent&&) = delete;
  void record() { check_cuda(cudaEventRecord(event_, launch_stream()), "cudaEventRecord"); }
  cudaEvent_t get() const { return event_; }
  float ms_since(const CudaEvent& begin) const {
    float ms = 0;
    check_cuda(cudaEventElapsedTime(&ms, begin.event_, event_), "cudaEventElapsedTime");
    return ms;
  }

 private:
  cudaEvent_t event_{};
};

// Page-locked host memory for one T: cudaMemcpyAsync to it is enqueued without waiting.
template <class T>
class Pinned {
 public:
  Pinned() {
    check_cuda(cudaMallocHost(reinterpret_cast<void**>(&memory_), sizeof(T)), "pinned memory");
  }
  ~Pinned() { cudaFreeHost(memory_); }
  Pinned(Pinned&&) = delete;
  T* get() const { return memory_; }

 private:
  T* memory_ = nullptr;
};

// Waits until all work before `end` has completed. Raises the abort flag at the time limit and on
// Ctrl-C. Ends the program if the kernel is still running 20 s later.
struct CudaWait {
  bool stopped = false, was_interrupted = false;

  CudaWait(const CudaEvent& end, DeviceControl& control, const LaunchLimits& limits) {
    const auto start = HostClock::now();
    double stopped_at = 0;  // seconds
    for (cudaError_t status; (status = cudaEventQuery(end.get())) != cudaSuccess;) {
      if (status != cudaErrorNotReady) check_cuda(status, limits.what);
      const double seconds = seconds_since(start);
      if (!stopped && (seconds > limits.seconds || interrupted())) {
        stopped = true;
        was_interrupted = seconds <= limits.seconds;
        stopped_at = seconds;
        control.raise_abort();
      }
      if (stopped && seconds > stopped_at + 20) end_program(limits.what);
      if (seconds > 0.02) std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  }

 private:
  // Does not throw: unwinding would free device memory, which waits for the kernel.
  [[noreturn]] static void end_program(const char* what) {
    std::fflush(nullptr);
    std::fprintf(stderr,
                 "heapwood: error: %s: the kernel ignores the abort flag: still running 20 s after "
                 "its time limit or Ctrl-C; the program ends\n",
                 what);
    std::_Exit(static_cast<int>(Exit::failed));
  }
};

// The control block, the events and the outcome of one launch. Launches reuse them, unless one has
// modified its control block.
class LaunchState {
 public:
  LaunchState() {
    check_cuda(cudaGetDevice(&device_), "cudaGetDevice");
    {
      const std::lock_guard lock(unused().mutex);
      std::vector<std::unique_ptr<Parts>>& list = unused().of_device[device_];
      if (!list.empty()) {
        parts_ = std::move(list.back());
        list.pop_back();
      }
    }
    if (!parts_) parts_ = std::make_unique<Parts>();
  }
  LaunchState(LaunchState&&) = delete;
  Control* control() { return parts_->control.device(); }
  void record_begin() { parts_->begin.record(); }
  // Enqueues a copy of the outcome after the kernel, so that one wait covers both.
  void record_end(const char* what) {
    parts_->end.record();
    check_cuda(cudaMemcpyAsync(parts_->outcome.get(), control(), sizeof(Control),
                               cudaMemcpyDeviceToHost, launch_stream()),
               what);
    parts_->copied.record();
  }
  CudaWait wait(const LaunchLimits& limits) { return {parts_->copied, parts_->control, limits}; }
  // Milliseconds of the kernel; valid after wait().
  double ms() const { return parts_->end.ms_since(parts_->begin); }
  const Control& outcome() const { return *parts_->outcome.get(); }
  // Keeps the state for later launches. Only if the kernel neither failed nor was stopped: a
  // failure stays in the control block, and the copy of a raised abort flag may still be under way.
  void keep_for_later() {
    const std::lock_guard lock(unused().mutex);
    unused().of_device[device_].push_back(std::move(parts_));
  }

 private:
  struct Parts {
    DeviceControl control;
    CudaEvent begin, end, copied;
    Pinned<Control> outcome;
  };
  struct Unused {
    std::mutex mutex;
    std::map<int, std::vector<std::unique_ptr<Parts>>> of_device;
  };
  // Never destroyed: the CUDA runtime may end before static objects do.
  static Unused& unused() {
    static Unused* const all = new Unused;
    return *all;
  }

  int device_ = 0;
  std::unique_ptr<Parts> parts_;
};

template <class Kernel>
__global__ void __launch_bounds__(Kernel::block_threads, Kernel::blocks_per_multiprocessor)
    run_kernel(const __grid_constant__ Kernel kernel, Control* control) {
  // Blocks that start after the time limit exit immediately: device malloc() does not poll the
  // abort flag, and a grid may be many times larger than what is resident. The first blocks start
  // with the launch and skip the test. `exit` rather than `return`: a return costs kernels with
  // non-inlined calls two registers, which are reported.
  if constexpr (requires { Kernel::independent; }) {
    if (blockIdx.x >= 1024 && control->aborted()) asm volatile("exit;");
  }
  __shared__ typename Kernel::Scratch scratch[Kernel::block_threads / 32];
  CudaWarp<32, LinearBlock> warp(control);
  kernel(warp, scratch[threadIdx.x / 32]);
}

// Loads a kernel on a GPU before its first launch there. Otherwise the driver loads it at that
// launch, between the events that measure its time.
template <class Kernel>
void load_kernel(int device) {
  static std::atomic<std::uint64_t> loaded{0};  // one bit per GPU
  const std::uint64_t bit = std::uint64_t{1} << (device & 63);
  // relaxed, here and below: loading a kernel twice does no harm.
  if ((loaded.load(std::memory_order_relaxed) & bit) != 0) return;
  cudaFuncAttributes attributes{};
  check_cuda(cudaFuncGetAttributes(&attributes, run_kernel<Kernel>), "kernel attributes");
  loaded.fetch_or(bit, std::memory_order_relaxed);
}

template <class F>
__global__ void run_for_each(std::size_t n, const __grid_constant__ F f) {
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < n;
       i += std::size_t{gridDim.x} * blockDim.x) {
    f(i);
  }
}

class Cuda {
 public:
  using Warp = CudaWarp<32, LinearBlock>;

  explicit Cuda(const DeviceId& id) : id_(id) {
    check_cuda(cudaSetDevice(id.index), "cudaSetDevice");
  }
  const DeviceId& id() const { return id_; }
  unsigned multiprocessors() const {
    int count = 0;
    check_cuda(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, id_.index),
               "multiprocessor count");
    return static_cast<unsigned>(count);
  }

  template <class Kernel>
  unsigned resident_warps() const {
    int blocks = 0;
    check_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, run_kernel<Kernel>,
                                                             Kernel::block_threads, 0),
               "occupancy");
    return static_cast<unsigned>(blocks) * multiprocessors() * (Kernel::block_threads / 32);
  }

  template <class Kernel>
  double launch(const Kernel& kernel, unsigned warps = 0, const LaunchLimits& limits = {}) const {
    constexpr unsigned warps_per_block = Kernel::block_threads / 32;
    const unsigned resident = resident_warps<Kernel>();
    if (warps == 0 || warps > resident) warps = resident;
    return launch_blocks(kernel, (warps + warps_per_block - 1) / warps_per_block, limits);
  }

  template <class Kernel>
  double launch_independent(const Kernel& kernel, unsigned warps,
                            const LaunchLimits& limits = {}) const {
    constexpr unsigned warps_per_block = Kernel::block_threads / 32;
    return launch_blocks(kernel, (warps + warps_per_block - 1) / warps_per_block, limits);
  }

  template <class F>
  void for_each(std::size_t n, F f) const {
    if (n == 0) return;
    const std::size_t blocks = (n + 255) / 256;
    const std::size_t max_blocks = std::size_t{multiprocessors()} * 16;
    run_for_each<F>
        <<<static_cast<unsigned>(blocks < max_blocks ? blocks : max_blocks), 256>>>(n, f);
    check_cuda(cudaGetLastError(), "for_each");
    check_cuda(cudaDeviceSynchronize(), "for_each");
  }

  // Makes the heap of device malloc() at least this large (device_heap.hpp).
  void reserve_heap(std::size_t bytes) const { reserve_device_heap(id_.index, bytes); }

  // Sets the size of that heap to `bytes` unless a kernel has used it; returns its size.
  std::size_t set_heap_size(std::size_t bytes) const {
    if (cudaDeviceSetLimit(cudaLimitMallocHeapSize, bytes) != cudaSuccess) cudaGetLastError();
    std::size_t now = 0;
    check_cuda(cudaDeviceGetLimit(&now, cudaLimitMallocHeapSize), "device heap");
    return now;
  }

  template <class Kernel>
  KernelUse occupancy() const {
    cudaFuncAttributes attributes{};
    check_cuda(cudaFuncGetAttributes(&attributes, run_kernel<Kernel>), "kernel attributes");
    return {attributes.numRegs, attributes.localSizeBytes, attributes.sharedSizeBytes,
            resident_warps<Kernel>() / multiprocessors()};
  }

 private:
  template <class Kernel>
  double launch_blocks(const Kernel& kernel, unsigned blocks, const LaunchLimits& limits) const {
    check_interruption(limits);
    load_kernel<Kernel>(id_.index);
    LaunchState state;
    state.record_begin();
    run_kernel<Kernel>
        <<<blocks, Kernel::block_threads, 0, launch_stream()>>>(kernel, state.control());
    check_cuda(cudaGetLastError(), limits.what);
    state.record_end(limits.what);
    const CudaWait waited = state.wait(limits);
    const double ms = state.ms();
    const Control outcome = state.outcome();
    if (!waited.stopped && outcome.code == 0) state.keep_for_later();
    check_outcome(outcome.code, outcome.operand, waited.stopped, waited.was_interrupted, limits);
    return ms;
  }

  DeviceId id_;
};

}  // namespace heapwood::simt
