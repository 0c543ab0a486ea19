// SPDX-License-Identifier: MIT
// Heaps that are created, used and destroyed 1,000 times leave the device's free memory as it was.
// The heaps of one kind together exceed the memory of the device, so a leak of whole heaps is
// found even where the free memory is not compared: other programs change it too. Argument
// `alone`: no other program uses the GPU, so it is compared.
#include <algorithm>
#include <cstring>
#include <heapwood/alloc/allocators/cfmmalloc.hpp>
#include <heapwood/checked_heap.hpp>
#include <heapwood/heap.hpp>
#include <heapwood/parallel.hpp>

#include "tests/library/gpu/check.hpp"

using heapwood_test::check;
using heapwood_test::check_cuda;

constexpr unsigned cycles = 1000, threads = 4096, blocks_per_thread = 4;

std::size_t free_bytes() {
  std::size_t free = 0, total = 0;
  check_cuda(cudaMemGetInfo(&free, &total));
  return free;
}

// Small blocks and some large ones; each is filled and checked.
template <class Handle>
__global__ void use(Handle h, unsigned round, unsigned* wrong) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned* blocks[blocks_per_thread];
  unsigned words[blocks_per_thread];
  for (unsigned k = 0; k < blocks_per_thread; ++k) {
    words[k] = 1 + (i * 7 + k * 31 + round) % 60 + (i % 64 == k ? 4000 : 0);
    blocks[k] = static_cast<unsigned*>(h.malloc(words[k] * sizeof(unsigned)));
    if (blocks[k] == nullptr) atomicAdd(wrong, 1);
    for (unsigned j = 0; blocks[k] != nullptr && j < words[k]; ++j) blocks[k][j] = i + k + j;
  }
  for (unsigned k = 0; k < blocks_per_thread; ++k) {
    if (blocks[k] == nullptr) continue;
    unsigned bad = 0;
    for (unsigned j = 0; j < words[k]; ++j) bad += blocks[k][j] != i + k + j;
    if (bad != 0) atomicAdd(wrong, 1);
    if (k != round % blocks_per_thread) h.free(blocks[k]);  // the others go with the heap
  }
}

template <class Heap>
void create_and_destroy(const char* kind, bool alone) {
  std::size_t total = 0, free = 0;
  check_cuda(cudaMemGetInfo(&free, &total));
  const std::size_t bytes = std::max<std::size_t>(std::size_t{64} << 20, total / cycles * 3 / 2);
  heapwood::shared_array<unsigned> wrong(1);
  wrong[0] = 0;
  std::size_t before = 0;
  for (unsigned round = 0; round <= cycles; ++round) {
    {
      Heap heap(bytes);
      use<<<threads / 256, 256>>>(heap.handle(), round, wrong.data());
      check_cuda(cudaGetLastError());
      if (round % 2 == 0) check_cuda(cudaDeviceSynchronize());  // else the destructor waits
    }
    if (round == 0) before = free_bytes();  // the first launch loads the kernel
  }
  const std::size_t after = free_bytes();
  std::printf("%s: %u cycles of %zu MiB; free before %zu, after %zu; %u blocks wrong\n", kind,
              cycles, bytes >> 20, before, after, wrong[0]);
  check(wrong[0] == 0);
  if (alone) check(after == before);
}

int main(int count, char** arguments) {
  const bool alone = count > 1 && std::strcmp(arguments[1], "alone") == 0;
  create_and_destroy<heapwood::heap>("heap", alone);
  create_and_destroy<heapwood::checked_heap>("checked heap", alone);
  create_and_destroy<heapwood::basic_heap<heapwood::alloc::CfmMalloc>>("heap of CFMMalloc", alone);
  return heapwood_test::finish("cycles");
}
