// SPDX-License-Identifier: MIT
// A launch of more than 2^32 threads: each warp has a number of its own. Takes 540 MB.
#include "simt/cuda.hpp"
#include "tests/library/gpu/check.hpp"

namespace heapwood_test {

struct CountKernel {
  struct Scratch {};
  static constexpr bool independent = true;
  static constexpr unsigned block_threads = 256, blocks_per_multiprocessor = 1;
  unsigned* runs;  // how often each number was run
  unsigned warps;

  template <class Warp>
  HEAPWOOD_FN void operator()(Warp& warp, Scratch&) const {
    if (warp.lane() == 0 && warp.worker() < warps) atomicAdd(runs + warp.worker(), 1);
  }
};

__global__ void count_others(const unsigned* runs, unsigned warps, unsigned* others) {
  for (std::size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < warps;
       i += std::size_t{gridDim.x} * blockDim.x) {
    if (runs[i] != 1) atomicAdd(others, 1);
  }
}

}  // namespace heapwood_test

int main() {
  using namespace heapwood_test;
  constexpr unsigned warps = (1u << 27) + 1000, blocks = warps / (CountKernel::block_threads / 32);
  heapwood::simt::Control* control = nullptr;
  check_cuda(cudaMalloc(&control, sizeof(*control)));
  check_cuda(cudaMemset(control, 0, sizeof(*control)));
  unsigned *runs = nullptr, *others = nullptr, count = ~0u;
  check_cuda(cudaMalloc(&runs, std::size_t{warps} * sizeof(*runs)));
  check_cuda(cudaMemset(runs, 0, std::size_t{warps} * sizeof(*runs)));
  check_cuda(cudaMalloc(&others, sizeof(*others)));
  check_cuda(cudaMemset(others, 0, sizeof(*others)));
  heapwood::simt::run_kernel<CountKernel>
      <<<blocks, CountKernel::block_threads>>>(CountKernel{runs, warps}, control);
  count_others<<<1056, 256>>>(runs, warps, others);
  check_cuda(cudaMemcpy(&count, others, sizeof(count), cudaMemcpyDeviceToHost));
  std::printf("numbers of warps that did not run once: %u\n", count);
  check(count == 0);
  return finish("many_warps");
}
