// SPDX-License-Identifier: MIT
// Definitions of the functions of .cu files, for builds without CUDA.
#include "simt/cuda_runtime.hpp"
#include "simt/nvml.hpp"

namespace heapwood::simt {

GpuAddress gpu_address(int) { return {}; }

void wait_for_stream(const DeviceId&, std::uintptr_t) {}
CallerDevice::CallerDevice(const DeviceId&) {}
CallerDevice::~CallerDevice() = default;

namespace cuda_runtime {

namespace {
constexpr const char* reason =
    "this program was built without CUDA; rebuild with a CUDA compiler: make demo CUDA=on";
[[noreturn]] void absent() { throw Error(Exit::device, reason); }
}  // namespace

int count() { return 0; }
DeviceInfo describe(int) { return no_gpu(reason); }
std::vector<DeviceInfo> list() { return {describe(0)}; }
void* allocate(int, std::size_t) { absent(); }
void free(int, void*) noexcept {}
void upload(int, void*, const void*, std::size_t) { absent(); }
void download(int, void*, const void*, std::size_t) { absent(); }
void fill(int, void*, int, std::size_t) { absent(); }
void reserve_malloc_heap(int, std::size_t, bool) { absent(); }
void limit_multiprocessors(int, unsigned) { absent(); }
std::size_t available(int) { return 0; }
void* pinned_allocate(std::size_t) { absent(); }
void pinned_free(void*) noexcept {}
void* pool_allocate(int, std::size_t) { absent(); }
void pool_free(int, void*) noexcept {}
void pool_trim(int) { absent(); }
std::size_t pool_reserved(int) { return 0; }
std::unique_ptr<VirtualRange> reserve_range(int, std::size_t) { absent(); }

}  // namespace cuda_runtime
}  // namespace heapwood::simt
