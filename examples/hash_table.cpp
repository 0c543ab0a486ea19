// SPDX-License-Identifier: MIT
// A hash table with chaining: threads insert pairs concurrently; each pair is a node of the heap,
// pushed onto its bucket's chain by compare-and-swap.
#include <cstdio>
#include <cuda/atomic>
#include <heapwood/heap.hpp>
#include <heapwood/parallel.hpp>

struct Entry {
  Entry* next;
  unsigned key, value;
};
using Bucket = cuda::atomic_ref<Entry*, cuda::thread_scope_device>;

constexpr unsigned buckets = 4096, threads = 5000, pairs_per_thread = 20;

HEAPWOOD_DEVICE unsigned bucket_of(unsigned key) { return (key * 2654435769u >> 16) % buckets; }
HEAPWOOD_DEVICE unsigned value_of(unsigned key) { return key * 3 + 1; }

struct Insert {
  heapwood::heap_handle heap;
  Entry** table;
  unsigned* refused;

  HEAPWOOD_DEVICE void operator()(unsigned thread) const {
    for (unsigned i = 0; i < pairs_per_thread; ++i) {
      const unsigned key = thread * pairs_per_thread + i;
      Entry* const entry = heap.make<Entry>(Entry{nullptr, key, value_of(key)});
      if (entry == nullptr) {
        ++refused[thread];
        continue;
      }
      Bucket bucket(table[bucket_of(key)]);
      entry->next = bucket.load(cuda::memory_order_relaxed);
      // release: publishes the entry to threads that read the chain.
      while (!bucket.compare_exchange_weak(entry->next, entry, cuda::memory_order_release,
                                           cuda::memory_order_relaxed)) {
      }
    }
  }
};

struct LookUp {
  Entry** table;
  unsigned* found;

  HEAPWOOD_DEVICE void operator()(unsigned thread) const {
    for (unsigned i = 0; i < pairs_per_thread; ++i) {
      const unsigned key = thread * pairs_per_thread + i;
      for (const Entry* entry = table[bucket_of(key)]; entry != nullptr; entry = entry->next)
        found[thread] += entry->key == key && entry->value == value_of(key);
    }
  }
};

struct Clear {
  heapwood::heap_handle heap;
  Entry** table;

  HEAPWOOD_DEVICE void operator()(unsigned bucket) const {
    for (Entry* entry = table[bucket]; entry != nullptr;) {
      Entry* const next = entry->next;
      heap.destroy(entry);
      entry = next;
    }
    table[bucket] = nullptr;
  }
};

int main() {
  heapwood::heap heap(64 << 20);
  heapwood::shared_array<Entry*> table(buckets);
  heapwood::shared_array<unsigned> refused(threads), found(threads);

  heapwood::for_each_thread(threads, Insert{heap.handle(), table.data(), refused.data()});
  heapwood::for_each_thread(threads, LookUp{table.data(), found.data()});
  heapwood::for_each_thread(buckets, Clear{heap.handle(), table.data()});

  unsigned all = 0;
  for (unsigned thread = 0; thread < threads; ++thread) all += found[thread] + refused[thread];
  std::printf("%u of %u pairs found\n", all, threads * pairs_per_thread);
  return all == threads * pairs_per_thread && heap.report_leaks() == 0 ? 0 : 1;
}
