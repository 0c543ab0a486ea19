// SPDX-License-Identifier: MIT
// Sparse rows that are rebuilt: from sorted keys, each key that stays gets a position by a scan.
#pragma once

#include <cstdint>

#include "workloads/graph/algorithm_kernels.hpp"
#include "workloads/graph/device_steps.hpp"

namespace heapwood::workloads::graph::steps_detail {

// The first of `count` sorted keys that is not below `key`.
HEAPWOOD_INLINE std::uint64_t lower_bound(const EdgeKey* keys, std::uint64_t count, EdgeKey key) {
  std::uint64_t low = 0, high = count;
  HEAPWOOD_ROLLED
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (keys[middle] < key) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

HEAPWOOD_INLINE bool stays(const RowFilter& filter, std::uint64_t i) {
  const EdgeKey key = filter.keys[i];
  const std::uint32_t source = source_of(key), destination = destination_of(key);
  if (source == destination || (i > 0 && filter.keys[i - 1] == key)) return false;
  if (filter.removed_count > 0) {
    const std::uint64_t at = lower_bound(filter.removed, filter.removed_count, key);
    if (at < filter.removed_count && filter.removed[at] == key) return false;
  }
  return filter.deleted.words == nullptr ||
         (!filter.deleted.contains(source) && !filter.deleted.contains(destination));
}

template <class Warp>
HEAPWOOD_INLINE std::uint64_t thread_of(const Warp& warp) {
  return std::uint64_t{warp.worker()} * Warp::width + warp.lane();
}

// positions[i]: 1 if key i stays; 0 after the last key.
struct FlagKernel : KernelShape {
  RowFilter filter;
  std::uint64_t* positions;
  std::uint64_t count;

  template <class Warp>
  HEAPWOOD_FN void operator()(Warp& warp, Scratch&) const {
    const std::uint64_t i = thread_of(warp);
    if (i <= count) positions[i] = i < count && stays(filter, i) ? 1 : 0;
  }
};

// After the scan: writes the destinations, and the offsets of all vertices.
struct CompactKernel : KernelShape {
  RowFilter filter;
  const std::uint64_t* positions;
  std::uint64_t count;
  CsrView rows;

  template <class Warp>
  HEAPWOOD_FN void operator()(Warp& warp, Scratch&) const {
    const std::uint64_t i = thread_of(warp);
    if (i < count && positions[i + 1] != positions[i])
      rows.destinations[positions[i]] = destination_of(filter.keys[i]);
    if (i < rows.count)
      rows.offsets[i] = positions[lower_bound(filter.keys, count, static_cast<EdgeKey>(i) << 32)];
    if (i == rows.count) rows.offsets[i] = positions[count];
  }
};

// The number of different sorted keys that are edges of the sorted rows.
struct CountKernel : KernelShape {
  CsrView rows;
  const EdgeKey* keys;
  std::uint64_t count;
  std::uint64_t* total;

  template <class Warp>
  HEAPWOOD_FN void operator()(Warp& warp, Scratch&) const {
    const std::uint64_t i = thread_of(warp);
    bool present = false;
    if (i < count && (i == 0 || keys[i - 1] != keys[i])) {
      const std::uint32_t source = source_of(keys[i]), destination = destination_of(keys[i]);
      const std::uint32_t* row = rows.adjacency(source);
      const std::uint32_t above = first_above(row, rows.degree(source), destination);
      present = above > 0 && row[above - 1] == destination;
    }
    const std::uint32_t lanes = warp.ballot(present);
    if (warp.lane() == 0 && lanes != 0)  // relaxed: only a sum
      simt::atomic_ref<std::uint64_t>(*total).fetch_add(simt::popcount(lanes), simt::relaxed);
  }
};

struct AppendRowsKernel : KernelShape {
  CsrView rows;
  std::uint64_t edges;
  const std::uint64_t* offsets;
  const std::uint32_t* destinations;
  std::uint32_t more_vertices;
  std::uint64_t more_edges;

  template <class Warp>
  HEAPWOOD_FN void operator()(Warp& warp, Scratch&) const {
    const std::uint64_t i = thread_of(warp);
    if (i < more_edges) rows.destinations[edges + i] = destinations[i];
    if (i <= more_vertices) rows.offsets[rows.count + i] = edges + offsets[i];
  }
};

struct CopyKernel : KernelShape {
  std::uint32_t* to;
  const std::uint32_t* from;
  std::uint64_t count;

  template <class Warp>
  HEAPWOOD_FN void operator()(Warp& warp, Scratch&) const {
    const std::uint64_t i = thread_of(warp);
    if (i < count) to[i] = from[i];
  }
};

}  // namespace heapwood::workloads::graph::steps_detail
