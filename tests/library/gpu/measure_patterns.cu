// SPDX-License-Identifier: MIT
// Patterns in which programs call malloc, with the measured heap and with CUDA's malloc:
//   measure_patterns [RUNS]
// Medians of RUNS (5), ms: launches that allocate in an empty heap, and one that frees the rest.
#include <cuda/atomic>
#include <cuda/std/utility>

#include "tests/library/gpu/measure.hpp"

namespace heapwood_test {

struct CudaMalloc {
  __device__ void* malloc(std::size_t bytes) const { return ::malloc(bytes); }
  __device__ void free(void* block) const { ::free(block); }
};
__managed__ unsigned wrong;
__device__ void require(bool holds) {
  if (!holds) atomicAdd(&wrong, 1);
}

// A pattern says what thread i does in each round, and what it frees after the last one.
struct Pattern {
  unsigned threads, rounds;
  __device__ void free(const auto&, unsigned) const {}
};
alignas(16) __managed__ unsigned char data[16 << 20];  // of the pattern; cleared before each run
template <class T>
__device__ T& at(unsigned i) {
  return reinterpret_cast<T*>(data)[i];
}
template <class P, class Memory>
__global__ void launch(P pattern, Memory memory, unsigned round) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= pattern.threads) return;
  round < pattern.rounds ? pattern.run(memory, i, round) : pattern.free(memory, i);
}

struct Blocks : Pattern {
  std::size_t bytes;  // 0: 16 B to 8 KiB
  __device__ void run(const auto& memory, unsigned i, unsigned) const {
    at<void*>(i) = memory.malloc(size_of(bytes, draw(i, 0)));
  }
  __device__ void free(const auto& memory, unsigned i) const { memory.free(at<void*>(i)); }
};

// A thread creates 1,000 objects with virtual functions and deletes them, as of a scene.
struct Triangle {
  float x[3];
  __device__ virtual ~Triangle() {}
  __device__ virtual unsigned corners() const { return 3; }
};
struct Square : Triangle {
  float y[6];
  __device__ unsigned corners() const override { return 4; }
};
struct Objects : Pattern {
  __device__ void run(const auto& memory, unsigned, unsigned) const {
    for (unsigned k = 0; k < 1000; ++k)
      at<Triangle*>(k) = k % 2 == 0 ? new (memory.malloc(sizeof(Triangle))) Triangle
                                    : new (memory.malloc(sizeof(Square))) Square;
  }
  __device__ void free(const auto& memory, unsigned) const {
    for (unsigned k = 0; k < 1000; ++k) {
      require(at<Triangle*>(k)->corners() == 3 + k % 2);
      at<Triangle*>(k)->~Triangle();
      memory.free(at<Triangle*>(k));
    }
  }
};

// A thread of each block allocates a container, which the block fills and reads.
struct Containers : Pattern {
  __device__ void run(const auto& memory, unsigned, unsigned) const {
    __shared__ unsigned* items;
    const unsigned n = blockDim.x * 16;
    if (threadIdx.x == 0) items = static_cast<unsigned*>(memory.malloc(n * sizeof(unsigned)));
    __syncthreads();
    for (unsigned k = threadIdx.x; k < n; k += blockDim.x) items[k] = k;
    __syncthreads();
    for (unsigned k = threadIdx.x; k < n; k += blockDim.x) require(items[n - 1 - k] == n - 1 - k);
    __syncthreads();
    if (threadIdx.x == 0) memory.free(items);
  }
};

// Each thread inserts a node of 1 to 20 links into one skip list.
struct SkipList : Pattern {
  static constexpr int max_height = 20;
  struct Node {
    unsigned key;
    Node* next[max_height];  // only those of the node's height are allocated
  };
  using Link = cuda::atomic_ref<Node*, cuda::thread_scope_device>;

  static __device__ Node*& node_of(unsigned i) { return at<Node*>(max_height + 1 + i); }
  // Returns the first node with at least this key on a level; `from` becomes the one before it.
  static __device__ Node* advance(Node*& from, int level, unsigned key) {
    Node* next = nullptr;
    // acquire: what the inserting thread has written to the node.
    while ((next = Link(from->next[level]).load(cuda::memory_order_acquire)) && next->key < key)
      from = next;
    return next;
  }
  static __device__ Node* find(unsigned key, Node** before) {
    Node *next = nullptr, *from = &at<Node>(0);  // the head
    for (int k = max_height; k-- > 0; before[k] = from) next = advance(from, k, key);
    return next;
  }
  __device__ void run(const auto& memory, unsigned i, unsigned) const {
    const int height = 1 + __clz(static_cast<int>(draw(i, 0) | 1 << (32 - max_height)));
    const unsigned key = i * 2654435761u;
    Node *before[max_height], *const node = static_cast<Node*>(memory.malloc(8 + 8 * height));
    node_of(i) = node;
    node->key = key;
    find(key, before);
    for (int k = 0; k < height;) {
      Node* next = node->next[k] = advance(before[k], k, key);
      // release: the key and the link.
      k += Link(before[k]->next[k]).compare_exchange_strong(next, node, cuda::memory_order_release);
    }
    require(find(key, before) == node);
  }
  __device__ void free(const auto& memory, unsigned i) const { memory.free(node_of(i)); }
};

// Each thread computes a & ~b of truth tables of 1 to 64 words, as logic rewriting does.
struct TruthTables : Pattern {
  __device__ void run(const auto& memory, unsigned i, unsigned round) const {
    const unsigned words = 1u << draw(i, round) % 7;
    unsigned* tables[3];
    for (unsigned*& table : tables) table = static_cast<unsigned*>(memory.malloc(4 * words));
    const auto [a, b, result] = tables;
    for (unsigned w = 0; w < words; ++w) a[w] = draw(i, w), b[w] = draw(w, i);
    for (unsigned w = 0; w < words; ++w) result[w] = a[w] & ~b[w];
    for (unsigned w = 0; w < words; ++w) require((result[w] ^ (a[w] & b[w])) == draw(i, w));
    for (unsigned* const table : tables) memory.free(table);
  }
};

// Agents on a grid move to the neighbouring cell, die and are born. A thread has two cells.
struct Agents : Pattern {
  __device__ void run(const auto& memory, unsigned i, unsigned round) const {
    const unsigned cell = 2 * i + round % 2, drawn = draw(i, round);
    uint2 *&first = at<uint2*>(cell), *&second = at<uint2*>((cell + 1) % (2 * threads));
    cuda::std::swap(first, second);
    require(first == nullptr || first->x == ~first->y);
    if (drawn % 4 == 0) memory.free(first), first = nullptr;
    if (drawn % 4 > 1 || second != nullptr) return;
    *(second = static_cast<uint2*>(memory.malloc(sizeof(uint2)))) = {drawn, ~drawn};
  }
  __device__ void free(const auto& memory, unsigned i) const {
    for (const unsigned cell : {2 * i, 2 * i + 1}) memory.free(at<uint2*>(cell));
  }
};

// A vertex of a graph gets new edges; an array that is full moves to one of twice the size.
struct Edges : Pattern {
  __device__ void run(const auto& memory, unsigned i, unsigned round) const {
    unsigned *&edges = at<unsigned*>(2 * i), &size = at<unsigned>(4 * i + 2);
    for (unsigned left = draw(i, round) % 16; left > 0; --left, ++size) {
      if (size == 0 || (size >= 4 && __popc(size) == 1)) {  // full
        auto* const moved = static_cast<unsigned*>(memory.malloc(max(16u, 8 * size)));
        for (unsigned k = 0; k < size; ++k) moved[k] = edges[k];
        memory.free(edges);
        edges = moved;
      }
      edges[size] = i ^ size;
    }
  }
  __device__ void free(const auto& memory, unsigned i) const {
    const unsigned* const edges = at<unsigned*>(2 * i);
    for (unsigned k = 0; k < at<unsigned>(4 * i + 2); ++k) require(edges[k] == (i ^ k));
    memory.free(at<unsigned*>(2 * i));
  }
};

}  // namespace heapwood_test

int main(int count, char** arguments) {
  using namespace heapwood_test;
  const int runs = count > 1 ? std::atoi(arguments[1]) : 5;
  require_cuda(cudaDeviceSetLimit(cudaLimitMallocHeapSize, std::size_t{2} << 30), "CUDA's heap");
  MeasuredHeap heap(std::size_t{2} << 30);
  std::printf("%-20s | %-19s | CUDA's malloc, free\n", "ms", Measured::traits.label);
  const auto measure = [&](const char* name, auto pattern) {
    const unsigned grid = (pattern.threads + 255) / 256;
    const auto measure_with = [&](auto memory) {
      std::vector<float> running, freeing;
      for (int run = 0; run < runs; ++run) {
        heap.reset();
        require_cuda(cudaMemset(data, 0, sizeof(data)), "memory");
        running.push_back(time_of([&] {
          for (unsigned i = 0; i < pattern.rounds; ++i) launch<<<grid, 256>>>(pattern, memory, i);
        }));
        freeing.push_back(time_of([&] { launch<<<grid, 256>>>(pattern, memory, pattern.rounds); }));
        check(wrong == 0 && heap.stats().used == 0);
      }
      std::printf(" | %9.4f %9.4f", median(running), median(freeing));
    };
    std::printf("%-20s", name);
    measure_with(heap.handle());
    measure_with(CudaMalloc{});
    std::printf("\n");
  };
  measure("100K x 16 B", Blocks{{100000, 1}, 16});
  measure("100K x 256 B", Blocks{{100000, 1}, 256});
  measure("100K x 4 KiB", Blocks{{100000, 1}, 4096});
  measure("100K, 16 B to 8 KiB", Blocks{{100000, 1}, 0});
  measure("1M x 16 B", Blocks{{1000000, 1}, 16});
  measure("1M x 256 B", Blocks{{1000000, 1}, 256});
  measure("objects of a scene", Objects{{1, 1}});
  measure("containers", Containers{{1024 * 256, 1}});
  measure("skip list", SkipList{{500000, 1}});
  measure("truth tables", TruthTables{{50000, 4}});
  measure("agents", Agents{{250000, 20}});
  measure("edges", Edges{{100000, 8}});
  return finish("patterns");
}
