// SPDX-License-Identifier: MIT
// What a heap reports to the host.
#pragma once

#include "heapwood/cxx20.hpp"  // first

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "alloc/allocator.hpp"

namespace heapwood {

struct heap_stats {
  std::size_t bytes = 0;        // of the pool: used + free + held + metadata
  std::size_t max_request = 0;  // larger requests are never served, even by an empty heap

  // Refused requests since the heap was created or reset, and the size of the first of them, which
  // for aligned_alloc includes the alignment + 16 bytes.
  std::uint64_t full = 0;       // there was no free region of that size
  std::uint64_t too_large = 0;  // larger than max_request
  std::size_t first_refused_bytes = 0;

  // The pool's regions, unless blocks lie outside the pool (CudaMalloc).
  bool has_regions = true;
  std::size_t used = 0;  // bytes in blocks, padding included
  std::size_t used_regions = 0;
  std::size_t free = 0;
  std::size_t held = 0;      // freed, but not reusable until neighbouring blocks are freed
  std::size_t metadata = 0;  // the allocator's tables
  std::size_t largest_hole = 0;

  // 1 - largest hole / all free bytes; 0 if nothing is free.
  double external_fragmentation() const {
    return free == 0 ? 0 : 1 - static_cast<double>(largest_hole) / static_cast<double>(free);
  }

  void add(const alloc::Region& region) {
    using State = alloc::Region::State;
    switch (region.state) {
      case State::used:
        used += region.bytes;
        ++used_regions;
        break;
      case State::free:
        free += region.bytes;
        largest_hole = std::max(largest_hole, region.bytes);
        break;
      case State::held:
        held += region.bytes;
        break;
      case State::metadata:
        metadata += region.bytes;
        break;
    }
  }
};

}  // namespace heapwood
