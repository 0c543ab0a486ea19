// SPDX-License-Identifier: MIT
// The checked heap in kernels: each planted error is found once, with the place of the call, and
// none is reported in programs without errors. Argument `clean`: only programs without errors (for
// compute-sanitizer).
#include <cstring>
#include <heapwood/checked_heap.hpp>
#include <heapwood/parallel.hpp>

#include "tests/library/gpu/check.hpp"
#include "tests/library/planted.hpp"

using namespace heapwood_test;

using heapwood::check_kind;
using heapwood::checked_heap;
using Handle = heapwood::checked_heap_handle;
using Bytes = unsigned char;

// The error is by the last thread of the launch; the others have none.
__global__ void with_error(Handle h, int which, void* foreign) {
  if (blockIdx.x + 1 != gridDim.x || threadIdx.x + 1 != blockDim.x) {
    for (unsigned i = 0; i < 5; ++i) h.free(h.malloc(10 + threadIdx.x, HEAPWOOD_HERE));
    return;
  }
  heapwood_test::plant(h, which, foreign);
}
__global__ void free_again(Handle h, void* block) { h.free(block, HEAPWOOD_HERE); }

struct AllocateOne {
  Handle h;
  void** to;
  HEAPWOOD_DEVICE void operator()(unsigned) const { to[0] = h.malloc(64); }
};
void expect_one(const checked_heap& heap, check_kind kind, const char* text, const char* thread) {
  const auto errors = heap.check();
  for (const auto& e : errors) std::printf("%s\n", e.text.c_str());
  check(errors.size() == 1);
  if (errors.size() != 1) return;
  check(errors[0].kind == kind);
  check(std::strstr(errors[0].text.c_str(), text) != nullptr);
  check(std::strstr(errors[0].text.c_str(), thread) != nullptr);
}
void find_planted_errors() {
  checked_heap other(1 << 20);
  heapwood::shared_array<void*> block(1);
  heapwood::for_each_thread(1, AllocateOne{other.handle(), block.data()});
  for (int which = 0; which < heapwood_test::planted_errors; ++which) {
    checked_heap heap(16 << 20);
    with_error<<<dim3(4), dim3(64)>>>(heap.handle("planted"), which, block[0]);
    expect_one(heap, heapwood_test::planted[which].kind, heapwood_test::planted[which].text,
               "kernel planted, block (3,0,0), thread (63,0,0)");
  }
  free_again<<<1, 1>>>(other.handle("first"), block[0]);
  free_again<<<1, 1>>>(other.handle("again"), block[0]);
  expect_one(other, check_kind::double_free, "freed twice, second at checked_heap.cu:",
             "kernel again, block (0,0,0), thread (0,0,0)");
}

__global__ void leak(Handle h) {
  if (threadIdx.x % 32 == 3) h.malloc(24, HEAPWOOD_HERE);
}
void leaks() {
  checked_heap heap(16 << 20);
  leak<<<2, 64>>>(heap.handle());
  check(heap.report_leaks(stdout) == 4 * 24);
  check(heap.check().empty());
}

__global__ void clean(Handle h, Bytes** blocks, unsigned round) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
  for (unsigned k = 0; k < 4; ++k) {
    const unsigned bytes = (i * 31 + k * 17 + round) % 500;
    auto* const p = static_cast<Bytes*>(h.malloc(bytes, HEAPWOOD_HERE));
    if (p == nullptr) continue;
    for (unsigned j = 0; j < bytes; ++j) p[j] = 0xdb;
    h.free(p, HEAPWOOD_HERE);
  }
  // Frees blocks that other threads allocated in the last launch.
  h.free(blocks[n - 1 - i]);
  blocks[n - 1 - i] = nullptr;
}
__global__ void refill(Handle h, Bytes** blocks) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  blocks[i] = static_cast<Bytes*>(h.malloc(100, HEAPWOOD_HERE));
}
__global__ void clean_functions(Handle h) {
  auto* p = static_cast<Bytes*>(h.calloc(10, 11));
  p = static_cast<Bytes*>(h.realloc(p, 110, 1000));
  p = static_cast<Bytes*>(h.realloc(p, 7));
  h.free(p);
  h.aligned_free(h.aligned_alloc(512, 77));
  h.destroy(h.make<double>(2.0));
  h.free(nullptr);
  h.free(h.malloc(0));
  h.warp_free(h.warp_malloc(300));
}
__global__ void exhaust(Handle h, Bytes** blocks, unsigned per_thread) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  for (unsigned k = 0; k < per_thread; ++k)
    blocks[i * per_thread + k] = static_cast<Bytes*>(h.malloc(1000));
  for (unsigned k = 0; k < per_thread; ++k) h.free(blocks[i * per_thread + k]);
}
void clean_programs() {
  heapwood::shared_array<Bytes*> blocks(16 * 64 * 8);
  for (int program = 0; program < 10; ++program) {
    checked_heap heap(program == 9 ? 2 << 20 : 64 << 20);
    const unsigned grid = 1 + program % 4 * 5, threads = 32 * (1 + program % 2);
    for (unsigned i = 0; i < blocks.size(); ++i) blocks[i] = nullptr;
    if (program == 9) {
      exhaust<<<16, 64>>>(heap.handle("exhaust"), blocks.data(), 8);
    } else if (program == 8) {
      clean_functions<<<8, 64>>>(heap.handle("functions"));
    } else {
      for (unsigned round = 0; round < 3; ++round) {
        clean<<<grid, threads>>>(heap.handle("clean"), blocks.data(), round);
        refill<<<grid, threads>>>(heap.handle("refill"), blocks.data());
      }
      clean<<<grid, threads>>>(heap.handle("clean"), blocks.data(), 9);
    }
    check_cuda(cudaDeviceSynchronize());
    check(heap.report(stdout) == 0);
    check(heap.report_leaks(stdout) == 0);
  }
}

int main(int count, char** arguments) {
  if (count < 2 || std::strcmp(arguments[1], "clean") != 0) find_planted_errors();
  leaks();
  clean_programs();
  return finish("checked heap");
}
