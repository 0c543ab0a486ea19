// SPDX-License-Identifier: MIT
// One malloc and one free through the public heap, for the compiler's report of registers
// (cuobjdump --dump-resource-usage), and the times of kernels of malloc, free and both beside the
// same kernels of `heapwood stress`, which call the allocator itself. Needs the source tree.
#include "simt/cuda.hpp"
#include "tests/library/gpu/measure.hpp"
#include "workloads/stress_kernels.hpp"

namespace heapwood_test {

__global__ void malloc_and_free(MeasuredHandle heap, void** out, std::size_t bytes) {
  void* const block = heap.malloc(bytes);
  out[blockIdx.x * blockDim.x + threadIdx.x] = block;
  heap.free(block);
}

__global__ void __launch_bounds__(256)
    allocate(MeasuredHandle heap, void** blocks, unsigned threads, std::size_t bytes) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < threads) blocks[i] = heap.malloc(bytes);
}
__global__ void __launch_bounds__(256)
    deallocate(MeasuredHandle heap, void** blocks, unsigned threads) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < threads) heap.free(blocks[i]);
}
__global__ void __launch_bounds__(256)
    both(MeasuredHandle heap, void** blocks, unsigned threads, std::size_t bytes) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= threads) return;
  blocks[i] = heap.malloc(bytes);
  heap.free(blocks[i]);
}

struct Samples {
  std::vector<float> internal, external;
  void print(bool last) const {
    const float a = median(external), b = median(internal);
    std::printf("%8.4f %8.4f %5.2f%s", a, b, a / b, last ? "\n" : " |");
  }
};

void compare(MeasuredHeap& heap, void** blocks, unsigned threads, std::size_t bytes,
             heapwood::simt::Control* control) {
  namespace kernels = heapwood::workloads::stress_detail;
  using heapwood::simt::run_kernel;
  using Allocate = kernels::AllocateKernel<Measured>;
  using Free = kernels::FreeKernel<Measured>;
  using Pair = kernels::PairKernel<Measured>;
  const unsigned grid = (threads + 255) / 256;
  const kernels::Share share{blocks, threads, 32};
  Samples mallocs, frees, pairs;
  for (int run = 0; run < 42; ++run) {
    const bool external = run % 2 == 0;
    const auto add = [&](Samples& to, float ms) {
      if (run >= 2) (external ? to.external : to.internal).push_back(ms);
    };
    heap.reset();
    const MeasuredHandle h = heap.handle();
    const Measured a = heap.allocator();
    add(mallocs, time_of([&] {
          if (external) {
            allocate<<<grid, 256>>>(h, blocks, threads, bytes);
          } else {
            run_kernel<Allocate><<<grid, 256>>>(Allocate(a, share, bytes), control);
          }
        }));
    add(frees, time_of([&] {
          if (external) {
            deallocate<<<grid, 256>>>(h, blocks, threads);
          } else {
            run_kernel<Free><<<grid, 256>>>(Free(a, share), control);
          }
        }));
    add(pairs, time_of([&] {
          if (external) {
            both<<<grid, 256>>>(h, blocks, threads, bytes);
          } else {
            run_kernel<Pair><<<grid, 256>>>(Pair(a, share, bytes), control);
          }
        }));
  }
  std::printf("%5uk x %4zu B |", threads / 1000, bytes);
  mallocs.print(false);
  frees.print(false);
  pairs.print(true);
}

}  // namespace heapwood_test

int main() {
  using namespace heapwood_test;
  MeasuredHeap heap(std::size_t{2} << 30);
  heapwood::simt::Control* control = nullptr;
  require_cuda(cudaMalloc(&control, sizeof(*control)), "memory");
  require_cuda(cudaMemset(control, 0, sizeof(*control)), "memory");
  void** blocks = nullptr;
  require_cuda(cudaMalloc(&blocks, sizeof(void*) * 1000000), "memory");
  std::printf("%s, ms: public header, allocator itself, ratio, of malloc | free | both\n",
              Measured::traits.label);
  malloc_and_free<<<1, 32>>>(heap.handle(), blocks, 16);
  for (const unsigned threads : {100000u, 1000000u}) {
    for (const std::size_t bytes : {16, 256, 1024}) compare(heap, blocks, threads, bytes, control);
  }
  return 0;
}
