// SPDX-License-Identifier: MIT
// Times of malloc and free through the public heap, one call per thread, frees in a second kernel:
//   measure_cells [published|all] [RUNS]
// published: the cells for which other allocators' figures are known; all: 16 B to 8 KiB and mixed
// sizes by 100K and 1M threads. Each run begins with an empty pool. The figures of the others are
// those of docs/library.md: one run of their own programs on an H100. A ratio below 1 would say
// that Heapwood is slower; compare only on that GPU model.
#include <cstring>

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

// Of one run on an H100, in milliseconds: malloc and free; 0: not known.
struct Others {
  float gallatin[2], llvm[2], ouroboros[2];
};
struct Cell {
  unsigned threads;
  std::size_t bytes;  // 0: mixed
  Others others;
};
const Cell known[] = {
    {100000, 16, {{.027f, .009f}, {.025f, .016f}, {.013f, .087f}}},
    {100000, 256, {{.069f, .012f}, {1.33f, .020f}, {.013f, .088f}}},
    {100000, 4096, {{.288f, .014f}, {2.39f, .020f}, {.014f, .089f}}},
    {1000000, 16, {{.081f, .027f}, {.72f, .053f}, {.083f, .90f}}},
    {1000000, 256, {{.516f, .022f}, {2.24f, .044f}, {.096f, .91f}}},
    {100000, 0, {{.407f, .017f}, {1.20f, .029f}, {.030f, .096f}}},
};

std::vector<Cell> cells(bool all) {
  std::vector<Cell> list(std::begin(known), std::end(known));
  if (!all) return list;
  list.clear();
  for (const unsigned threads : {100000u, 1000000u}) {
    for (std::size_t bytes = 16; bytes <= 8192; bytes *= 2) list.push_back({threads, bytes, {}});
    list.push_back({threads, 0, {}});
  }
  for (Cell& cell : list) {
    for (const Cell& k : known) {
      if (k.threads == cell.threads && k.bytes == cell.bytes) cell.others = k.others;
    }
  }
  return list;
}

void print_others(const float (&other)[2], float malloc_ms) {
  if (other[0] == 0) {
    std::printf(" | %-20s", "-");
  } else {
    std::printf(" | %6.3f %6.3f %5.1fx", other[0], other[1], other[0] / malloc_ms);
  }
}

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
  const float malloc_ms = median(mallocs);
  std::printf("%5uk x %-7s | %8.4f %8.4f", cell.threads / 1000, size, malloc_ms, median(frees));
  print_others(cell.others.gallatin, malloc_ms);
  print_others(cell.others.llvm, malloc_ms);
  print_others(cell.others.ouroboros, malloc_ms);
  const heapwood::heap_stats stats = heap.stats();
  if (stats.full + stats.too_large > 0)
    std::printf("  %llu refused", static_cast<unsigned long long>(stats.full + stats.too_large));
  std::printf("\n");
  std::fflush(stdout);
}

}  // namespace heapwood_test

int main(int count, char** arguments) {
  using namespace heapwood_test;
  const bool all = count > 1 && std::strcmp(arguments[1], "all") == 0;
  const int runs = count > 2 ? std::atoi(arguments[2]) : 21;
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
  std::printf(
      "%s, ms: malloc free of this heap | Gallatin, LLVM libc, Ouroboros (original): "
      "malloc free, times faster in malloc\n",
      Measured::traits.label);
  for (const bool small : {true, false}) {
    std::vector<Cell> list = cells(all);
    std::erase_if(list, [&](const Cell& cell) { return is_small(cell) != small; });
    if (list.empty()) continue;
    MeasuredHeap heap(small ? std::size_t{2} << 30 : std::size_t{24} << 30);
    if (small) {
      std::vector<float> empty;
      for (int run = 0; run < 25; ++run) {
        empty.push_back(
            time_of([&] { nothing<<<391, 256>>>(heap.handle(), blocks, max_threads); }));
      }
      std::printf("launch of an empty kernel %.4f\n", median(empty));
    }
    for (const Cell& cell : list) measure(heap, cell, runs, blocks, sizes);
  }
  return 0;
}
