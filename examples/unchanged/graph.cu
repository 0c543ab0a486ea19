// SPDX-License-Identifier: MIT
// A program for CUDA's malloc: a graph whose vertices have growing arrays of neighbours. Host code
// uses the C library's malloc. For Heapwood compile it with -include heapwood/malloc.hpp.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

struct Vertex {
  unsigned *neighbours, size, capacity;

  __device__ bool add(unsigned other) {
    if (size == capacity) {
      const unsigned larger = capacity == 0 ? 4 : 2 * capacity;
      auto* const moved = static_cast<unsigned*>(malloc(larger * sizeof(unsigned)));
      if (moved == nullptr) return false;
      memcpy(moved, neighbours, size * sizeof(unsigned));
      free(neighbours);
      neighbours = moved;
      capacity = larger;
    }
    neighbours[size++] = other;
    return true;
  }
  __device__ void free_all() {
    free(neighbours);
    neighbours = nullptr;
    size = capacity = 0;
  }
};

// Vertex i gets edges to the i % 100 next ones.
__global__ void add_edges(Vertex* vertices, unsigned n, unsigned* failures) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  for (unsigned k = 1; k <= i % 100; ++k) {
    if (!vertices[i].add((i + k) % n)) atomicAdd(failures, 1);
  }
}
__global__ void check_and_free(Vertex* vertices, unsigned n, unsigned* failures) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  bool is_right = vertices[i].size == i % 100;
  for (unsigned k = 0; k < vertices[i].size; ++k)
    is_right = is_right && vertices[i].neighbours[k] == (i + k + 1) % n;
  if (!is_right) atomicAdd(failures, 1);
  vertices[i].free_all();
}

int main() {
  constexpr unsigned n = 50000, blocks = (n + 127) / 128;
  if (cudaDeviceSetLimit(cudaLimitMallocHeapSize, 256 << 20) != cudaSuccess) return 1;
  auto* const initial = static_cast<Vertex*>(calloc(n, sizeof(Vertex)));
  Vertex* vertices = nullptr;
  unsigned* failures = nullptr;
  if (cudaMalloc(&vertices, n * sizeof(Vertex)) != cudaSuccess) return 1;
  if (cudaMallocManaged(&failures, sizeof(unsigned)) != cudaSuccess) return 1;
  cudaMemcpy(vertices, initial, n * sizeof(Vertex), cudaMemcpyHostToDevice);
  free(initial);
  *failures = 0;
  const clock_t start = clock();
  for (int round = 0; round < 3; ++round) {
    add_edges<<<blocks, 128>>>(vertices, n, failures);
    check_and_free<<<blocks, 128>>>(vertices, n, failures);
  }
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  const bool is_right = *failures == 0;
  std::printf("graph: %s, %.1f ms\n", is_right ? "right" : "WRONG",
              1e3 * static_cast<double>(clock() - start) / CLOCKS_PER_SEC);
  cudaFree(vertices);
  cudaFree(failures);
  return is_right ? 0 : 1;
}
