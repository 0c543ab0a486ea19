// SPDX-License-Identifier: MIT
// Blocks of one size that are allocated again after far more of them have been freed than an
// allocator's queue of free blocks may hold (Ouroboros-P-S: 65,536 in this pool):
//   measure_reuse [ROUNDS]
// all lanes: a warp's threads allocate together; one lane: each block is requested by one thread at
// a time, so nothing is shared among the lanes of a warp. mixed: threads free and allocate in one
// kernel. Every block is stamped and checked, none may be refused, and no kernel may take a second.
#include "tests/library/gpu/measure.hpp"

namespace heapwood_test {

constexpr unsigned threads = 100000, blocks_per_thread = 10;
constexpr std::size_t bytes = 16;
constexpr float limit_ms = 1000;

struct Sums {
  unsigned long long refused, damaged;
};

// Whether the thread takes part in this turn: all do, or one lane after the other.
__device__ bool has_turn(bool one_lane, unsigned turn) {
  return !one_lane || threadIdx.x % 32 == turn;
}

// Allocates and stamps the first n blocks of thread i.
__device__ void allocate_first(const MeasuredHandle& heap, unsigned long long** blocks, unsigned i,
                               unsigned n, Sums* sums) {
  for (unsigned k = 0; k < n; ++k) {
    auto* const block = static_cast<unsigned long long*>(heap.malloc(bytes));
    if (block == nullptr) {
      atomicAdd(&sums->refused, 1ull);
    } else {
      block[0] = block[1] = std::uint64_t{i} * blocks_per_thread + k;
    }
    blocks[std::size_t{k} * threads + i] = block;
  }
}
__global__ void allocate(MeasuredHandle heap, unsigned long long** blocks, bool one_lane,
                         Sums* sums) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  for (unsigned turn = 0; turn < (one_lane ? 32 : 1); ++turn) {
    if (i >= threads || !has_turn(one_lane, turn)) continue;
    allocate_first(heap, blocks, i, blocks_per_thread, sums);
  }
}
__device__ void check_and_free(const MeasuredHandle& heap, unsigned long long* block,
                               unsigned long long stamp, Sums* sums) {
  if (block == nullptr) return;
  if (block[0] != stamp || block[1] != stamp) atomicAdd(&sums->damaged, 1ull);
  heap.free(block);
}
__global__ void deallocate(MeasuredHandle heap, unsigned long long** blocks, Sums* sums) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= threads) return;
  for (unsigned k = 0; k < blocks_per_thread; ++k) {
    check_and_free(heap, blocks[std::size_t{k} * threads + i],
                   std::uint64_t{i} * blocks_per_thread + k, sums);
  }
}
// Each thread frees a run of its blocks, of a length drawn at random, and allocates them again.
__global__ void exchange(MeasuredHandle heap, unsigned long long** blocks, unsigned round,
                         Sums* sums) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= threads) return;
  const unsigned n = draw(i, round) % (blocks_per_thread + 1);
  for (unsigned k = 0; k < n; ++k) {
    check_and_free(heap, blocks[std::size_t{k} * threads + i],
                   std::uint64_t{i} * blocks_per_thread + k, sums);
  }
  allocate_first(heap, blocks, i, n, sums);
}

}  // namespace heapwood_test

int main(int count, char** arguments) {
  using namespace heapwood_test;
  const int rounds = count > 1 ? std::atoi(arguments[1]) : 4;
  const unsigned grid = (threads + 127) / 128;
  unsigned long long** blocks = nullptr;
  Sums* sums = nullptr;
  require_cuda(cudaMalloc(&blocks, sizeof(void*) * threads * blocks_per_thread), "memory");
  require_cuda(cudaMallocManaged(&sums, sizeof(Sums)), "memory");
  for (const bool one_lane : {false, true}) {
    MeasuredHeap heap(std::size_t{128} << 20);
    *sums = {};
    std::printf("%-14s %s, ms: malloc/free", Measured::traits.label,
                one_lane ? "one lane " : "all lanes");
    float slowest = 0;
    for (int round = 0; round < rounds; ++round) {
      const float allocating =
          time_of([&] { allocate<<<grid, 128>>>(heap.handle(), blocks, one_lane, sums); });
      const float freeing =
          time_of([&] { deallocate<<<grid, 128>>>(heap.handle(), blocks, sums); });
      std::printf(" %.3f/%.3f", allocating, freeing);
      std::fflush(stdout);
      slowest = std::max({slowest, allocating, freeing});
    }
    time_of([&] { allocate<<<grid, 128>>>(heap.handle(), blocks, one_lane, sums); });
    std::printf("; mixed");
    for (int round = 0; round < rounds; ++round) {
      const float ms = time_of([&] {
        exchange<<<grid, 128>>>(heap.handle(), blocks, static_cast<unsigned>(round), sums);
      });
      std::printf(" %.3f", ms);
      std::fflush(stdout);
      slowest = std::max(slowest, ms);
    }
    time_of([&] { deallocate<<<grid, 128>>>(heap.handle(), blocks, sums); });
    std::printf("; %llu refused, %llu damaged, %zu bytes left\n", sums->refused, sums->damaged,
                heap.stats().used);
    check(sums->refused == 0 && sums->damaged == 0);
    check(slowest < limit_ms);
    check(heap.stats().used == 0);
  }
  return finish("reuse");
}
