// SPDX-License-Identifier: MIT
// Times of malloc and free through the public heap, one call per thread, frees in a second kernel:
//   measure_cells [RUNS]
// 16 B to 8 KiB and mixed sizes by 100K and 1M threads. Each run begins with an empty pool. The
// figures of other allocators are in docs/library.md.
#include "tests/library/gpu/measure.hpp"

namespace heapwood_test {

__global__ void __launch_bounds__(256)
    allocate(MeasuredHandle heap, void** blocks, unsigned threads, std::size_t bytes) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < threads) blocks[i] = heap.malloc(bytes);
}
// Mixed sizes are read, so that drawing them is not part of the time.
__global__ void __launch_bounds__(256)
    allocate_mixed(MeasuredHandle heap, void** blocks, unsigned threads, const unsigned* sizes) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < threads) blocks[i] = heap.malloc(sizes[i]);
}
__global__ void __launch_bounds__(256)
    deallocate(MeasuredHandle heap, void** blocks, unsigned threads) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < threads) heap.free(blocks[i]);
}
__global__ void nothing(MeasuredHandle, void**, unsigned) {}

struct Cell {
  unsigned threads;
  std::size_t bytes;  // bytes per request; 0: mixed sizes
};

void measure(MeasuredHeap& heap, const Cell& cell, int runs, void** blocks, const unsigned* sizes) {
  const unsigned grid = (cell.threads + 255) / 256;
  std::vector<float> mallocs, frees;
  for (int run = 0; run <= runs; ++run) {  // the first one is a warm-up
    heap.reset();
    const float allocating = time_of([&] {
      if (cell.bytes == 0) {
        allocate_mixed<<<grid, 256>>>(heap.handle(), blocks, cell.threads, sizes);
      } else {
        allocate<<<grid, 256>>>(heap.handle(), blocks, cell.threads, cell.bytes);
      }
    });
    const float freeing =
        time_of([&] { deallocate<<<grid, 256>>>(heap.handle(), blocks, cell.threads); });
    if (run > 0 || runs == 0) mallocs.push_back(allocating), frees.push_back(freeing);
  }
  char size[16];
  std::snprintf(size, sizeof(size), cell.bytes == 0 ? "mixed" : "%zu B", cell.bytes);
  std::printf("%5uk x %-7s | %8.4f %8.4f", cell.threads / 1000, size, median(mallocs),
              median(frees));
  const heapwood::heap_stats stats = heap.stats();
  if (stats.full + stats.too_large > 0)
    std::printf("  %llu refused", static_cast<unsigned long long>(stats.full + stats.too_large));
  std::printf("\n");
  std::fflush(stdout);
}

}  // namespace heapwood_test

int main(int count, char** arguments) {
  using namespace heapwood_test;
  const int runs = count > 1 ? std::atoi(arguments[1]) : 21;
  constexpr unsigned max_threads = 1000000;
  void** blocks = nullptr;
  unsigned* sizes = nullptr;
  require_cuda(cudaMalloc(&blocks, sizeof(void*) * max_threads), "memory");
  require_cuda(cudaMalloc(&sizes, sizeof(unsigned) * max_threads), "memory");
  std::vector<unsigned> drawn(max_threads);
  for (unsigned i = 0; i < max_threads; ++i)
    drawn[i] = static_cast<unsigned>(size_of(0, draw(i, 0)));
  require_cuda(
      cudaMemcpy(sizes, drawn.data(), sizeof(unsigned) * max_threads, cudaMemcpyHostToDevice),
      "memory");

  // The others' programs have pools of 2 GiB. What does not fit there gets one that it does.
  const auto is_small = [](const Cell& cell) {
    return cell.threads * (cell.bytes == 0 ? 8192 : cell.bytes) <= std::size_t{1} << 30;
  };
  std::printf("%s, ms: malloc free\n", Measured::traits.label);
  for (const bool small : {true, false}) {
    MeasuredHeap heap(small ? std::size_t{2} << 30 : std::size_t{24} << 30);
    if (small) {
      std::vector<float> empty;
      for (int run = 0; run < 25; ++run) {
        empty.push_back(
            time_of([&] { nothing<<<391, 256>>>(heap.handle(), blocks, max_threads); }));
      }
      std::printf("launch of an empty kernel %.4f\n", median(empty));
    }
    for (const unsigned threads : {100000u, max_threads}) {
      for (const std::size_t bytes : {16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 0}) {
        const Cell cell{threads, bytes};
        if (is_small(cell) == small) measure(heap, cell, runs, blocks, sizes);
      }
    }
  }
  return 0;
}
