// SPDX-License-Identifier: MIT
// malloc and its relatives in kernels, and `new` and `delete` of blocks that CUDA's malloc gave:
// compiled with -include heapwood/malloc.hpp, with another file (replaced_malloc_other.cu) that
// has kernels of its own and calls nothing.
#include <cstdlib>
#include <heapwood/operator_new.hpp>
#include <heapwood/parallel.hpp>

#include "tests/library/gpu/check.hpp"

using namespace heapwood_test;

__global__ void allocate_in_other_file(void** blocks);

__global__ void allocate(void** blocks) {
  blocks[0] = malloc(100);
  blocks[1] = std::calloc(10, 10);
  blocks[2] = ::realloc(nullptr, 50);
  static_cast<char*>(blocks[2])[49] = 7;
  blocks[2] = realloc(blocks[2], 5000);
  blocks[3] = new char[10];
}
__global__ void free_all(void** blocks, unsigned* wrong) {
  if (static_cast<char*>(blocks[1])[99] != 0 || static_cast<char*>(blocks[2])[49] != 7)
    atomicAdd(wrong, 1);
  for (int i = 0; i < 3; ++i) free(blocks[i]);
  delete[] static_cast<char*>(blocks[3]);
}
__global__ void delete_block(void** blocks) { delete static_cast<char*>(blocks[0]); }

int main() {
  heapwood::shared_array<void*> blocks(4);
  heapwood::shared_array<unsigned> wrong(1);
  // Without a heap the memory is CUDA's.
  allocate<<<1, 1>>>(blocks.data());
  check_cuda(cudaDeviceSynchronize());
  check(blocks[0] != nullptr && blocks[3] != nullptr);
  void* const cuda_block = blocks[0];
  heapwood::heap heap(8 << 20);
  heapwood::set_device_heap(heap);
  const auto is_in_heap = [&](const void* block) {
    const auto* const memory = heap.memory().data();
    return block >= memory && block < memory + heap.bytes();
  };
  check(!is_in_heap(cuda_block));
  delete_block<<<1, 1>>>(blocks.data());
  allocate<<<1, 1>>>(blocks.data());
  check_cuda(cudaDeviceSynchronize());
  for (int i = 0; i < 4; ++i) check(is_in_heap(blocks[i]));
  free_all<<<1, 1>>>(blocks.data(), wrong.data());
  // The other file's device code uses the same heap.
  allocate_in_other_file<<<1, 1>>>(blocks.data());
  check_cuda(cudaDeviceSynchronize());
  check(is_in_heap(blocks[0]));
  delete_block<<<1, 1>>>(blocks.data());
  check_cuda(cudaDeviceSynchronize());
  check(wrong[0] == 0);
  check(heap.report_leaks() == 0);
  void* const on_host = malloc(100);
  check(!is_in_heap(on_host));
  free(on_host);
  // cudaDeviceSetLimit() creates a larger heap that replaces CUDA's.
  check_cuda(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 64 << 20));
  allocate<<<1, 1>>>(blocks.data());
  check_cuda(cudaDeviceSynchronize());
  check(blocks[0] != nullptr && !is_in_heap(blocks[0]));
  check_cuda(cudaDeviceReset());
  return finish("replaced_malloc");
}
