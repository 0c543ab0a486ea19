// SPDX-License-Identifier: MIT
// The public heap in kernels: blocks of threads of any shape, streams, graphs, warp requests and
// `new`.
#include <algorithm>
#include <heapwood/heap.hpp>
#include <heapwood/operator_new.hpp>
#include <heapwood/parallel.hpp>
#include <heapwood/simt/cuda_warp.hpp>
#include <vector>

#include "tests/library/gpu/check.hpp"

using namespace heapwood_test;

using heapwood::heap;
using heapwood::heap_handle;

__device__ unsigned linear_thread() {
  const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  return block * blockDim.x * blockDim.y * blockDim.z + thread;
}

// Each thread stamps its block; a block that two threads share loses a stamp.
template <class Heap>
__global__ void allocate_and_stamp(Heap h, unsigned** blocks, std::size_t bytes) {
  const unsigned i = linear_thread();
  auto* const block = static_cast<unsigned*>(h.malloc(bytes));
  if (block != nullptr) *block = i;
  blocks[i] = block;
}
__global__ void check_and_free(heap_handle h, unsigned** blocks, unsigned* wrong) {
  const unsigned i = linear_thread();
  if (blocks[i] == nullptr || *blocks[i] != i) atomicAdd(wrong, 1);
  h.free(blocks[i]);
}
__global__ void find_lanes(unsigned* place) {
  const heapwood::simt::CudaWarp<32> warp(nullptr);
  place[linear_thread()] = warp.worker() * 32 + warp.lane();
}

void blocks_of_any_shape() {
  const dim3 grids[] = {dim3(3), dim3(3, 2, 2), dim3(1, 5)};
  for (const dim3 grid : grids) {
    for (const dim3 block :
         {dim3(256), dim3(16, 16), dim3(5, 7, 3), dim3(1, 1, 64), dim3(33, 2, 2)}) {
      heap heap(32 << 20);
      const unsigned threads = grid.x * grid.y * grid.z * block.x * block.y * block.z;
      heapwood::shared_array<unsigned*> blocks(threads);
      heapwood::shared_array<unsigned> wrong(1), places(threads);
      for (const std::size_t bytes : {16, 100, 2000}) {
        allocate_and_stamp<<<grid, block>>>(heap.ref(), blocks.data(), bytes);
        check_and_free<<<grid, block>>>(heap.handle(), blocks.data(), wrong.data());
      }
      find_lanes<<<grid, block>>>(places.data());
      check_cuda(cudaDeviceSynchronize());
      check(wrong[0] == 0);
      check(heap.report_leaks() == 0);
      std::vector<unsigned> sorted(places.data(), places.data() + threads);
      std::sort(sorted.begin(), sorted.end());
      check(std::unique(sorted.begin(), sorted.end()) == sorted.end());
    }
  }
}

void streams_and_several_heaps() {
  cudaStream_t streams[2];
  for (cudaStream_t& stream : streams) check_cuda(cudaStreamCreate(&stream));
  heap first(32 << 20, streams[0]), second(64 << 20, streams[1]);
  heapwood::shared_array<unsigned*> blocks(4096);
  heapwood::shared_array<unsigned> wrong(1);
  heap* const heaps[] = {&first, &second};
  for (int round = 0; round < 50; ++round) {
    for (int i = 0; i < 2; ++i) {
      allocate_and_stamp<<<8, 256, 0, streams[i]>>>(heaps[i]->handle(), blocks.data() + i * 2048,
                                                    300);
      check_and_free<<<8, 256, 0, streams[i]>>>(heaps[i]->handle(), blocks.data() + i * 2048,
                                                wrong.data());
    }
  }
  for (int i = 0; i < 2; ++i) heaps[i]->reset(streams[i]);
  check_cuda(cudaDeviceSynchronize());
  check(wrong[0] == 0);
  check(first.report_leaks() == 0 && second.report_leaks() == 0);
  for (cudaStream_t stream : streams) check_cuda(cudaStreamDestroy(stream));
}

template <class A>
__global__ void fill(heapwood::basic_heap_handle<A> h, unsigned long long* served) {
  for (int i = 0; i < 200; ++i) {
    if (h.malloc(1000) != nullptr) atomicAdd(served, 1ull);
  }
}
// A graph that resets a heap and fills it serves the same number of requests each time.
void graphs() {
  cudaStream_t stream;
  check_cuda(cudaStreamCreate(&stream));
  heap heap(4 << 20);
  heapwood::shared_array<unsigned long long> served(1);
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  check_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  heap.reset(stream);
  fill<<<8, 64, 0, stream>>>(heap.handle(), served.data());
  check_cuda(cudaStreamEndCapture(stream, &graph));
  check_cuda(cudaGraphInstantiate(&executable, graph, 0));
  unsigned long long first = 0;
  for (int i = 0; i < 5; ++i) {
    served[0] = 0;
    check_cuda(cudaGraphLaunch(executable, stream));
    check_cuda(cudaStreamSynchronize(stream));
    if (i == 0) first = served[0];
    check(served[0] > 2500 && served[0] < 4300);
    check(served[0] + 200 > first && first + 200 > served[0]);
  }
  const heapwood::heap_stats stats = heap.stats();
  check(stats.full + served[0] == 200ull * 8 * 64);
  check(stats.first_refused_bytes == 1000 && stats.too_large == 0);
  check_cuda(cudaGraphExecDestroy(executable));
  check_cuda(cudaGraphDestroy(graph));
  check_cuda(cudaStreamDestroy(stream));
}

__global__ void warp_blocks(heap_handle h, unsigned* wrong) {
  const unsigned lane = threadIdx.x % 32;
  for (unsigned round = 0; round < 20; ++round) {
    auto* const block = static_cast<unsigned*>(h.warp_malloc(32 * sizeof(unsigned)));
    if (block == nullptr) continue;
    block[lane] = blockIdx.x * 1000 + threadIdx.x / 32 + lane;
    __syncwarp();
    const unsigned other = (lane + 7) % 32;
    if (block[other] != blockIdx.x * 1000 + threadIdx.x / 32 + other) atomicAdd(wrong, 1);
    h.warp_free(block);
  }
}
__global__ void all_functions(heap_handle h, unsigned* wrong) {
  auto* block = static_cast<unsigned char*>(h.calloc(10, 10));
  unsigned bad = block == nullptr || !h.owns(block);
  for (unsigned i = 0; i < 100; ++i) bad += block[i] != 0;
  for (unsigned i = 0; i < 100; ++i) block[i] = static_cast<unsigned char>(i + threadIdx.x);
  block = static_cast<unsigned char*>(h.realloc(block, 100, 1000));
  for (unsigned i = 0; i < 100; ++i) bad += block[i] != static_cast<unsigned char>(i + threadIdx.x);
  h.free(block);
  void* const aligned = h.aligned_alloc(1024, 50);
  bad += reinterpret_cast<std::uintptr_t>(aligned) % 1024 != 0;
  h.aligned_free(aligned);
  h.destroy(h.make<double>(1.0));
  bad += h.malloc(h.max_request() + 1) != nullptr;
  if (bad != 0) atomicAdd(wrong, bad);
}
void functions_of_the_handle() {
  heap heap(64 << 20);
  heapwood::shared_array<unsigned> wrong(1);
  warp_blocks<<<100, 256>>>(heap.handle(), wrong.data());
  all_functions<<<20, 100>>>(heap.handle(), wrong.data());
  check_cuda(cudaDeviceSynchronize());
  check(wrong[0] == 0);
  check(heap.stats().too_large == 2000);
  check(heap.report_leaks() == 0);
}

struct Base {
  __device__ virtual ~Base() {}
  unsigned value = 0;
};
struct Derived : Base {
  double more[5] = {};
  __device__ explicit Derived(unsigned v) { value = v; }
};
__global__ void use_new(unsigned* sum) {
  Base* const object = new Derived(threadIdx.x);
  unsigned* const array = new unsigned[10];
  array[9] = object->value;
  atomicAdd(sum, array[9]);
  delete object;
  delete[] array;
}
void replaced_new() {
  heap heap(8 << 20);
  heapwood::use_for_new(heap);
  heapwood::shared_array<unsigned> sum(1);
  use_new<<<4, 128>>>(sum.data());
  check_cuda(cudaDeviceSynchronize());
  check(sum[0] == 4 * 127 * 64);
  check(heap.report_leaks() == 0);
  const std::vector<int> on_host(1000, 1);  // allocated by the host's `new`
  check(on_host[999] == 1);
}

void memory_of_the_user() {
  std::byte* memory = nullptr;
  check_cuda(cudaMalloc(&memory, 16 << 20));
  {
    heap heap(std::span<std::byte>(memory + 100, (16 << 20) - 100));
    heapwood::shared_array<unsigned*> blocks(2048);
    heapwood::shared_array<unsigned> wrong(1);
    allocate_and_stamp<<<8, 256>>>(heap.handle(), blocks.data(), 300);
    check_and_free<<<8, 256>>>(heap.handle(), blocks.data(), wrong.data());
    check_cuda(cudaDeviceSynchronize());
    check(wrong[0] == 0);
    check(heap.report_leaks() == 0);
  }
  check_cuda(cudaFree(memory));
}

int main() {
  blocks_of_any_shape();
  streams_and_several_heaps();
  graphs();
  functions_of_the_handle();
  replaced_new();
  memory_of_the_user();
  return finish("heap");
}
