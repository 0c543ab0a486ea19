// SPDX-License-Identifier: MIT
// A program for CUDA's malloc: a hash table of lists, to which all threads add nodes at the same
// time. The programs of this folder do not mention Heapwood. They use it when they are compiled
// with -include heapwood/malloc.hpp.
#include <cstdio>
#include <cstdlib>
#include <ctime>

struct Node {
  unsigned key;
  Node* next;
};
constexpr unsigned buckets = 4096, threads = 20000, per_thread = 20;
__device__ Node* heads[buckets];

__global__ void insert(unsigned* failures) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= threads) return;
  for (unsigned k = 0; k < per_thread; ++k) {
    Node* const node = static_cast<Node*>(malloc(sizeof(Node)));
    if (node == nullptr) {
      atomicAdd(failures, 1);
      continue;
    }
    node->key = i * per_thread + k;
    Node** const head = &heads[node->key * 2654435769u >> 20];
    Node* seen = *static_cast<Node* volatile*>(head);
    for (;;) {
      node->next = seen;
      __threadfence();  // the node is complete before another thread sees its address
      const auto old = reinterpret_cast<Node*>(atomicCAS(
          reinterpret_cast<unsigned long long*>(head), reinterpret_cast<unsigned long long>(seen),
          reinterpret_cast<unsigned long long>(node)));
      if (old == seen) break;
      seen = old;
    }
  }
}
__global__ void sum_and_free(unsigned long long* sum) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= buckets) return;
  for (Node *node = heads[i], *next = nullptr; node != nullptr; node = next) {
    atomicAdd(sum, node->key);
    next = node->next;
    free(node);
  }
  heads[i] = nullptr;
}

struct Results {
  unsigned long long sum;
  unsigned failures;
};

int main() {
  if (cudaDeviceSetLimit(cudaLimitMallocHeapSize, 128 << 20) != cudaSuccess) return 1;
  Results* results = nullptr;
  if (cudaMallocManaged(&results, sizeof(Results)) != cudaSuccess) return 1;
  *results = {};
  constexpr unsigned long long n = 1ull * threads * per_thread;
  const clock_t start = clock();
  for (int round = 0; round < 3; ++round) {
    insert<<<(threads + 127) / 128, 128>>>(&results->failures);
    sum_and_free<<<buckets / 128, 128>>>(&results->sum);
  }
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  const bool is_right = results->failures == 0 && results->sum == 3 * (n * (n - 1) / 2);
  std::printf("lists: %s, %.1f ms\n", is_right ? "right" : "WRONG",
              1e3 * static_cast<double>(clock() - start) / CLOCKS_PER_SEC);
  cudaFree(results);
  cudaDeviceReset();
  return is_right ? 0 : 1;
}
