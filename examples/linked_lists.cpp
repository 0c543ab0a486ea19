// SPDX-License-Identifier: MIT
// Each thread builds a linked list of its own and frees it in a second kernel.
#include <cstdio>
#include <heapwood/heap.hpp>
#include <heapwood/parallel.hpp>

struct Node {
  Node* next;
  unsigned value;
};

constexpr unsigned threads = 2000, nodes_per_thread = 50;

struct Build {
  heapwood::heap_handle heap;
  Node** lists;

  HEAPWOOD_DEVICE void operator()(unsigned thread) const {
    Node* list = nullptr;
    for (unsigned i = 0; i < nodes_per_thread; ++i) {
      Node* const node = heap.make<Node>(Node{list, thread + i});
      if (node == nullptr) break;  // the heap is full: the list stays shorter
      list = node;
    }
    lists[thread] = list;
  }
};

struct SumAndFree {
  heapwood::heap_handle heap;
  Node** lists;
  unsigned long long* sums;

  HEAPWOOD_DEVICE void operator()(unsigned thread) const {
    for (Node* node = lists[thread]; node != nullptr;) {
      Node* const next = node->next;
      sums[thread] += node->value;
      heap.destroy(node);
      node = next;
    }
  }
};

int main() {
  heapwood::heap heap(64 << 20);
  heapwood::shared_array<Node*> lists(threads);
  heapwood::shared_array<unsigned long long> sums(threads);

  heapwood::for_each_thread(threads, Build{heap.handle(), lists.data()});
  std::printf("after building: %zu bytes in use\n", heap.stats().used);
  heapwood::for_each_thread(threads, SumAndFree{heap.handle(), lists.data(), sums.data()});

  for (unsigned thread = 0; thread < threads; ++thread) {
    const unsigned long long expected =
        nodes_per_thread * thread + nodes_per_thread * (nodes_per_thread - 1) / 2;
    if (sums[thread] != expected) {
      std::printf("thread %u: sum %llu, expected %llu\n", thread, sums[thread], expected);
      return 1;
    }
  }
  std::printf("%u lists of %u nodes are right\n", threads, nodes_per_thread);
  return heap.report_leaks() == 0 ? 0 : 1;
}
