// SPDX-License-Identifier: MIT
// Heaps that are created, used and destroyed 1,000 times leave the device's free memory as it was.
// No other program may use the GPU at the same time.
#include <heapwood/alloc/allocators/circular_lists.hpp>
#include <heapwood/checked_heap.hpp>
#include <heapwood/heap.hpp>
#include <heapwood/parallel.hpp>

#include "tests/library/gpu/check.hpp"

using namespace heapwood_test;

constexpr unsigned cycles = 1000, threads = 4096, blocks_per_thread = 4;
constexpr std::size_t bytes = std::size_t{32} << 20;  // 3 MiB of blocks

// Allocates small blocks and some large ones; each is filled and checked.
template <class Handle>
__global__ void use(Handle h, unsigned round, unsigned* wrong, unsigned* refused) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned* blocks[blocks_per_thread];
  unsigned words[blocks_per_thread];
  for (unsigned k = 0; k < blocks_per_thread; ++k) {
    words[k] = 1 + (i * 7 + k * 31 + round) % 60 + (i % 64 == k ? 1000 : 0);
    blocks[k] = static_cast<unsigned*>(h.malloc(words[k] * sizeof(unsigned)));
    if (blocks[k] == nullptr) atomicAdd(refused, 1);
    for (unsigned j = 0; blocks[k] != nullptr && j < words[k]; ++j) blocks[k][j] = i + k + j;
  }
  for (unsigned k = 0; k < blocks_per_thread; ++k) {
    if (blocks[k] == nullptr) continue;
    unsigned bad = 0;
    for (unsigned j = 0; j < words[k]; ++j) bad += blocks[k][j] != i + k + j;
    if (bad != 0) atomicAdd(wrong, 1);
    if (k != round % blocks_per_thread) h.free(blocks[k]);  // the destructor frees the others
  }
}

template <class Heap>
void create_and_destroy(const char* kind) {
  heapwood::shared_array<unsigned> wrong(1), refused(1);
  wrong[0] = refused[0] = 0;
  std::size_t before = 0;
  for (unsigned round = 0; round <= cycles; ++round) {
    {
      Heap heap(bytes);
      use<<<threads / 256, 256>>>(heap.handle(), round, wrong.data(), refused.data());
      check_cuda(cudaGetLastError());
      // In other rounds the destructor waits.
      if (round % 2 == 0) check_cuda(cudaDeviceSynchronize());
    }
    if (round == 0) before = free_device_bytes();  // the first launch loads the kernel
  }
  const std::size_t after = free_device_bytes();
  std::printf("%s: %u cycles; free before %zu, after %zu bytes; %u blocks wrong, %u refused\n",
              kind, cycles, before, after, wrong[0], refused[0]);
  check(wrong[0] == 0);
  check(refused[0] < cycles * threads * blocks_per_thread / 100);
  check(after == before);
}

int main() {
  create_and_destroy<heapwood::heap>("heap");
  create_and_destroy<heapwood::checked_heap>("checked heap");
  create_and_destroy<heapwood::basic_heap<heapwood::alloc::CfmMalloc>>("heap of CFMMalloc");
  return finish("cycles");
}
