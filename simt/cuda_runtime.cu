// SPDX-License-Identifier: MIT
#include "simt/cuda_runtime.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <mutex>
#include <optional>
#include <string>

#include "simt/address_range.hpp"
#include "simt/cuda.hpp"
#include "simt/nvml.hpp"

namespace heapwood::simt::cuda_runtime {

namespace {

std::string version(int v) {
  return std::to_string(v / 1000) + "." + std::to_string(v % 1000 / 10);
}

// A kernel whose attributes tell whether this program contains code for a device.
__global__ void probe() {}

DeviceInfo describe_gpu(int index) {
  DeviceInfo info;
  info.id = {DeviceKind::cuda, index, 0};
  info.key = "cuda:" + std::to_string(index);
  cudaDeviceProp properties{};
  if (const auto status = cudaGetDeviceProperties(&properties, index); status != cudaSuccess) {
    info.name = "CUDA";
    info.reason = std::string("cannot read the device's properties: ") + cudaGetErrorString(status);
    return info;
  }
  info.name = properties.name;
  info.multiprocessors = static_cast<unsigned>(properties.multiProcessorCount);
  info.memory_bytes = properties.totalGlobalMem;
  info.compute_capability = properties.major * 10 + properties.minor;
  int driver = 0, runtime = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  info.driver = "driver CUDA " + version(driver) + ", runtime " + version(runtime);
  cudaFuncAttributes attributes{};
  if (const auto status = cudaSetDevice(index); status != cudaSuccess) {
    info.reason = std::string("cannot be used: ") + cudaGetErrorString(status);
    cudaGetLastError();  // clears the error
    return info;
  }
  if (cudaFuncGetAttributes(&attributes, probe) != cudaSuccess) {
    info.reason =
        std::string("no code for compute capability ") + std::to_string(info.compute_capability) +
        " in this program: " + cudaGetErrorString(cudaGetLastError()) +
        "; rebuild with -DCMAKE_CUDA_ARCHITECTURES=" + std::to_string(info.compute_capability);
    return info;
  }
  info.usable = true;
  return info;
}

// Returns nullopt if CUDA can be used, otherwise an entry with the reason why not.
std::optional<DeviceInfo> why_unusable(int& count) {
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaErrorInsufficientDriver) {
    int driver = 0;
    cudaDriverGetVersion(&driver);
    return no_gpu(driver == 0 ? "no CUDA driver on this machine; install the NVIDIA driver"
                              : "the driver supports CUDA " + version(driver) +
                                    " only; update the NVIDIA driver");
  }
  if (status != cudaSuccess)
    return no_gpu(std::string("no usable GPU: ") + cudaGetErrorString(status));
  return std::nullopt;
}

}  // namespace

int count() {
  int count = 0;
  return why_unusable(count) ? 0 : count;
}

DeviceInfo describe(int index) {
  int count = 0;
  if (const auto none = why_unusable(count)) return *none;
  if (index < count) return describe_gpu(index);
  return no_gpu("no such GPU; see 'heapwood list devices'");
}

std::vector<DeviceInfo> list() {
  int count = 0;
  if (const auto none = why_unusable(count)) return {*none};
  std::vector<DeviceInfo> all;
  for (int i = 0; i < count; ++i) all.push_back(describe_gpu(i));
  return all;
}

namespace {
// Returns the block of an allocation, or nullptr if memory is exhausted.
void* block_or_null(cudaError_t status, void* block, const char* what) {
  if (status == cudaSuccess) return block;
  cudaGetLastError();
  if (status != cudaErrorMemoryAllocation) check_cuda(status, what);
  return nullptr;
}
}  // namespace

void* allocate(int device, std::size_t bytes) {
  check_cuda(cudaSetDevice(device), "cudaSetDevice");
  void* pointer = nullptr;
  const cudaError_t status = cudaMalloc(&pointer, bytes);
  return block_or_null(status, pointer, "cudaMalloc");
}

void free(int device, void* pointer) noexcept {
  cudaSetDevice(device);
  cudaFree(pointer);
}

void upload(int device, void* to, const void* from, std::size_t bytes) {
  check_cuda(cudaSetDevice(device), "cudaSetDevice");
  check_cuda(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice), "upload");
}

void download(int device, void* to, const void* from, std::size_t bytes) {
  check_cuda(cudaSetDevice(device), "cudaSetDevice");
  check_cuda(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost), "download");
}

void fill(int device, void* to, int byte, std::size_t bytes) {
  check_cuda(cudaSetDevice(device), "cudaSetDevice");
  check_cuda(cudaMemset(to, byte, bytes), "fill");
  check_cuda(cudaDeviceSynchronize(), "fill");
}

void reserve_malloc_heap(int device, std::size_t bytes, bool exactly) {
  check_cuda(cudaSetDevice(device), "cudaSetDevice");
  reserve_device_heap(device, bytes, exactly);
}

#if CUDART_VERSION >= 12050
namespace {
// Calls a function of the driver, which is found at run time.
template <class Function, class... Arguments>
void call_driver(const char* name, Arguments... arguments) {
  void* const entry = stream_detail::driver_function(name, 12050);
  const CUresult status =
      entry ? reinterpret_cast<Function*>(entry)(arguments...) : CUDA_ERROR_NOT_FOUND;
  if (status != CUDA_SUCCESS)
    throw Error(Exit::failed, std::string("limiting kernels to some multiprocessors: ") + name +
                                  ": error " + std::to_string(status) + " of the driver");
}
}  // namespace

void limit_multiprocessors(int device, unsigned count) {
  check_cuda(cudaSetDevice(device), "cudaSetDevice");
  CUdevice gpu{};
  CUdevResource all{}, some{};
  unsigned groups = 1;
  CUdevResourceDesc chosen{};
  CUgreenCtx context{};
  call_driver<decltype(cuDeviceGet)>("cuDeviceGet", &gpu, device);
  call_driver<decltype(cuDeviceGetDevResource)>("cuDeviceGetDevResource", gpu, &all,
                                                CU_DEV_RESOURCE_TYPE_SM);
  call_driver<decltype(cuDevSmResourceSplitByCount)>("cuDevSmResourceSplitByCount", &some, &groups,
                                                     &all, nullptr, 0, count);
  call_driver<decltype(cuDevResourceGenerateDesc)>("cuDevResourceGenerateDesc", &chosen, &some, 1);
  call_driver<decltype(cuGreenCtxCreate)>("cuGreenCtxCreate", &context, chosen, gpu,
                                          CU_GREEN_CTX_DEFAULT_STREAM);
  call_driver<decltype(cuGreenCtxStreamCreate)>("cuGreenCtxStreamCreate", &launch_stream(), context,
                                                CU_STREAM_NON_BLOCKING, 0);
}
#else
void limit_multiprocessors(int, unsigned) {
  throw Error(Exit::failed, "limiting kernels to some multiprocessors needs CUDA 12.5");
}
#endif

std::size_t available(int device) {
  std::size_t free_bytes = 0, total = 0;
  cudaSetDevice(device);
  if (cudaMemGetInfo(&free_bytes, &total) != cudaSuccess) return 0;
  return free_bytes;
}

void* pinned_allocate(std::size_t bytes) {
  void* pointer = nullptr;
  if (cudaMallocHost(&pointer, bytes) == cudaSuccess) return pointer;
  cudaGetLastError();
  return nullptr;
}

void pinned_free(void* pointer) noexcept { cudaFreeHost(pointer); }

namespace {

// The device's default memory pool, which otherwise releases free memory at each synchronization.
cudaMemPool_t memory_pool(int device) {
  cudaMemPool_t pool{};
  check_cuda(cudaDeviceGetDefaultMemPool(&pool, device), "cudaDeviceGetDefaultMemPool");
  return pool;
}

}  // namespace

void* pool_allocate(int device, std::size_t bytes) {
  static std::once_flag keep_memory[64];
  check_cuda(cudaSetDevice(device), "cudaSetDevice");
  std::call_once(keep_memory[device % 64], [device] {
    std::uint64_t all = ~std::uint64_t{0};
    check_cuda(cudaMemPoolSetAttribute(memory_pool(device), cudaMemPoolAttrReleaseThreshold, &all),
               "memory pool");
  });
  void* pointer = nullptr;
  const cudaError_t status = cudaMallocAsync(&pointer, bytes, nullptr);
  return block_or_null(status, pointer, "cudaMallocAsync");
}

void pool_free(int device, void* pointer) noexcept {
  cudaSetDevice(device);
  cudaFreeAsync(pointer, nullptr);
}

void pool_trim(int device) {
  check_cuda(cudaSetDevice(device), "cudaSetDevice");
  check_cuda(cudaDeviceSynchronize(), "memory pool");  // frees take effect in stream order
  check_cuda(cudaMemPoolTrimTo(memory_pool(device), 0), "cudaMemPoolTrimTo");
}

std::size_t pool_reserved(int device) {
  std::uint64_t bytes = 0;
  check_cuda(
      cudaMemPoolGetAttribute(memory_pool(device), cudaMemPoolAttrReservedMemCurrent, &bytes),
      "memory pool");
  return bytes;
}

std::unique_ptr<VirtualRange> reserve_range(int device, std::size_t bytes) {
  return std::make_unique<VirtualRangeOf<CudaRange>>(device, bytes);
}

}  // namespace heapwood::simt::cuda_runtime

namespace heapwood::simt {

GpuAddress gpu_address(int index) {
  GpuAddress address;
  char bus_id[32] = {};
  if (cudaDeviceGetPCIBusId(bus_id, sizeof bus_id, index) == cudaSuccess)
    address.pci_bus_id = bus_id;
  cudaDeviceProp properties{};
  if (cudaGetDeviceProperties(&properties, index) == cudaSuccess) {
    const auto& bytes = properties.uuid.bytes;
    if (std::any_of(std::begin(bytes), std::end(bytes), [](char byte) { return byte != 0; })) {
      address.uuid = "GPU";
      for (std::size_t i = 0; i < sizeof bytes; ++i) {
        char digits[4];
        std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(bytes[i]));
        if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) address.uuid += '-';
        address.uuid += digits;
      }
    }
  }
  cudaGetLastError();  // a failure only leaves out details of a report
  return address;
}

void wait_for_stream(const DeviceId& device, std::uintptr_t stream) {
  if (device.kind != DeviceKind::cuda) return;
  check_cuda(cudaSetDevice(device.index), "cudaSetDevice");
  cudaEvent_t reached{};
  check_cuda(cudaEventCreateWithFlags(&reached, cudaEventDisableTiming), "cudaEventCreate");
  cudaError_t status = cudaEventRecord(reached, reinterpret_cast<cudaStream_t>(stream));
  if (status == cudaSuccess) status = cudaStreamWaitEvent(nullptr, reached, 0);
  cudaEventDestroy(reached);  // takes effect when the event has completed
  check_cuda(status, "the caller's stream");
}

CallerDevice::CallerDevice(const DeviceId& device) {
  if (device.kind == DeviceKind::cuda && cudaGetDevice(&before_) != cudaSuccess) before_ = -1;
}
CallerDevice::~CallerDevice() {
  if (before_ >= 0) cudaSetDevice(before_);
}

}  // namespace heapwood::simt
