// SPDX-License-Identifier: MIT
// How much of a pool a heap hands out, and whether it survives malloc and free in one kernel:
//   measure_space usable            256 MiB: 16 B, and 16 B to 8 KiB mixed
//   measure_space soak [CALLS]      mixed calls in one kernel; memory: ample, then too little
// `usable`: each thread allocates until it has been refused as often in a row as `patience` says.
// Bytes are those asked for. `soak`: a thread holds up to four blocks, whose first and last word
// carry the thread's number and the size; both are checked at the free.
#include <cstring>

#include "tests/library/gpu/measure.hpp"

namespace heapwood_test {

struct Sums {
  unsigned long long bytes, blocks, refused, damaged, calls;
};

__global__ void __launch_bounds__(256)
    use_up(MeasuredHandle heap, std::size_t bytes, unsigned patience, Sums* sums) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  Sums mine{};
  for (unsigned request = 0, in_a_row = 0; in_a_row < patience; ++request) {
    const std::size_t size = size_of(bytes, draw(i, request));
    if (heap.malloc(size) == nullptr) {
      ++mine.refused;
      ++in_a_row;
    } else {
      in_a_row = 0;
      mine.bytes += size;
      ++mine.blocks;
    }
  }
  atomicAdd(&sums->bytes, mine.bytes);
  atomicAdd(&sums->blocks, mine.blocks);
  atomicAdd(&sums->refused, mine.refused);
}

void print_usable(Sums* sums, std::size_t bytes, unsigned grid, unsigned patience) {
  constexpr std::size_t pool = std::size_t{256} << 20;
  MeasuredHeap heap(pool);
  *sums = {};
  const float ms = time_of([&] { use_up<<<grid, 256>>>(heap.handle(), bytes, patience, sums); });
  const heapwood::heap_stats stats = heap.stats();
  std::printf(
      "usable %-14s %-11s %6u threads, %u in a row: %5.1f%% of 256 MiB, %llu blocks, mean "
      "%.0f B, in use by the heap %.1f%%, largest hole %zu B, %.1f ms\n",
      Measured::traits.label, bytes == 0 ? "16 B-8 KiB" : "16 B", grid * 256, patience,
      100.0 * static_cast<double>(sums->bytes) / pool, sums->blocks,
      static_cast<double>(sums->bytes) / static_cast<double>(std::max(sums->blocks, 1ull)),
      100.0 * static_cast<double>(stats.used) / pool, stats.largest_hole, ms);
  std::fflush(stdout);
}

struct Held {
  unsigned long long* block;
  unsigned words;
};

__device__ unsigned long long stamp_of(unsigned thread, unsigned words) {
  return static_cast<unsigned long long>(thread) << 32 | words;
}
__device__ bool is_intact(const Held& held, unsigned thread) {
  const unsigned long long stamp = stamp_of(thread, held.words);
  return held.block[0] == stamp && held.block[held.words - 1] == stamp;
}

__global__ void __launch_bounds__(256)
    soak(MeasuredHandle heap, unsigned calls, unsigned max_bytes, Sums* sums) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  Held all[4] = {};
  Sums mine{};
  for (unsigned call = 0; call < calls; ++call) {
    const unsigned drawn = draw(i, call), which = drawn & 3;
    Held held = all[which];
    if (held.block != nullptr) {
      mine.damaged += !is_intact(held, i);
      heap.free(held.block);
      held.block = nullptr;
    } else {
      held.words = 2 + (drawn >> 8) % (max_bytes / 16) * 2;
      held.block = static_cast<unsigned long long*>(heap.malloc(held.words * 8));
      if (held.block == nullptr) {
        ++mine.refused;
      } else {
        held.block[0] = held.block[held.words - 1] = stamp_of(i, held.words);
      }
    }
    all[which] = held;
    ++mine.calls;
  }
  for (const Held& held : all) {
    if (held.block == nullptr) continue;
    mine.damaged += !is_intact(held, i);
    heap.free(held.block);
  }
  atomicAdd(&sums->calls, mine.calls);
  atomicAdd(&sums->refused, mine.refused);
  atomicAdd(&sums->damaged, mine.damaged);
}

void print_soak(Sums* sums, std::size_t pool, unsigned max_bytes, unsigned long long calls) {
  constexpr unsigned grid = 1056, threads = grid * 256;
  MeasuredHeap heap(pool);
  *sums = {};
  const auto each = static_cast<unsigned>((calls + threads - 1) / threads);
  const float ms = time_of([&] { soak<<<grid, 256>>>(heap.handle(), each, max_bytes, sums); });
  const heapwood::heap_stats stats = heap.stats();
  std::printf(
      "soak   %-14s 16 B-%u B in %zu MiB: %llu calls in %.0f ms, %llu refused, %llu "
      "damaged, %zu bytes left\n",
      Measured::traits.label, max_bytes, pool >> 20, sums->calls, ms, sums->refused, sums->damaged,
      stats.used);
  std::fflush(stdout);
  check(sums->damaged == 0);
  check(stats.used == 0 || !Measured::traits.keeps_live_memory);
}

}  // namespace heapwood_test

int main(int count, char** arguments) {
  using namespace heapwood_test;
  Sums* sums = nullptr;
  require_cuda(cudaMallocManaged(&sums, sizeof(Sums)), "memory");
  if (count > 1 && std::strcmp(arguments[1], "soak") == 0) {
    const unsigned long long calls = count > 2 ? std::strtoull(arguments[2], nullptr, 10) : 1000;
    print_soak(sums, std::size_t{8} << 30, 1024, calls);
    print_soak(sums, std::size_t{256} << 20, 2048, calls / 20);
    return finish("soak");
  }
  for (const std::size_t bytes : {16, 0}) {
    for (const unsigned grid : {256u, 8u}) {
      for (const unsigned patience : {1u, 8u}) print_usable(sums, bytes, grid, patience);
    }
  }
  return finish("usable");
}
