// SPDX-License-Identifier: MIT
// A heap that grows between kernels: 64 MiB at first, 2 GiB of blocks without a refusal, and memory
// given back. Prints what mapping costs.
#include <chrono>
#include <heapwood/heap.hpp>
#include <heapwood/parallel.hpp>

#include "tests/library/gpu/check.hpp"

using namespace heapwood_test;

constexpr std::size_t mib = 1 << 20;

__device__ std::size_t size_of(unsigned i) { return 16 + i * 2654435761u % 2000; }

__global__ void allocate(heapwood::heap_handle h, unsigned** blocks, unsigned first, unsigned n,
                         unsigned* refused) {
  const unsigned i = first + blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= first + n) return;
  auto* const block = static_cast<unsigned*>(h.malloc(size_of(i)));
  if (block == nullptr) {
    atomicAdd(refused, 1);
  } else {
    block[0] = i;
    block[size_of(i) / 4 - 1] = i;
  }
  blocks[i] = block;
}
__global__ void check_and_free(heapwood::heap_handle h, unsigned** blocks, unsigned n,
                               unsigned* wrong) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned* const block = blocks[i];
  if (block == nullptr || block[0] != i || block[size_of(i) / 4 - 1] != i) atomicAdd(wrong, 1);
  h.free(block);
}

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

int main() {
  constexpr unsigned step = 100000, steps = 21, n = step * steps;  // a step is 97 MiB
  heapwood::shared_array<unsigned*> blocks(n);
  heapwood::shared_array<unsigned> refused(1), wrong(1);
  const std::size_t before = free_device_bytes();
  {
    heapwood::heap heap(heapwood::heap_size{64 * mib, 8192 * mib});
    const heapwood::heap_handle h = heap.handle();
    const std::size_t at_first = before - free_device_bytes();
    std::printf("maps %zu MiB for 64 MiB of blocks\n", at_first / mib);
    check(at_first < 128 * mib);
    for (int round = 0; round < 2; ++round) {
      double growing = 0;
      for (unsigned i = 0; i < steps; ++i) {
        const auto start = std::chrono::steady_clock::now();
        check(heap.make_room(100 * mib));
        growing += milliseconds_since(start);
        allocate<<<(step + 255) / 256, 256>>>(h, blocks.data(), i * step, step, refused.data());
        check_cuda(cudaDeviceSynchronize());
      }
      const heapwood::heap_stats stats = heap.stats();
      std::printf("%.1f ms for %zu MiB; %zu MiB used\n", growing, stats.bytes / mib,
                  stats.used / mib);
      check(stats.used > 1900 * mib);
      check(stats.full == 0);
      check_and_free<<<(n + 255) / 256, 256>>>(h, blocks.data(), n, wrong.data());
      const auto start = std::chrono::steady_clock::now();
      heap.shrink();
      std::printf("%.1f ms to shrink to %zu MiB\n", milliseconds_since(start),
                  heap.stats().bytes / mib);
      check(heap.stats().bytes < 128 * mib);
      check(before - free_device_bytes() < 256 * mib);
    }
    check(refused[0] == 0);
    check(wrong[0] == 0);
    check(heap.report_leaks() == 0);
    const auto start = std::chrono::steady_clock::now();
    check(heap.make_room(4096 * mib));
    std::printf("%.1f ms for 4 GiB at once\n", milliseconds_since(start));
    check(!heap.make_room(9000 * mib));
  }
  check(free_device_bytes() + 16 * mib > before);
  return finish("a heap that grows");
}
