// SPDX-License-Identifier: MIT
// A program trace in figures: sizes, memory in use, lifetimes. Host code.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "alloc/recording/program_trace.hpp"

namespace heapwood::workloads {

struct TraceSummary {
  std::uint64_t requests = 0, frees = 0, kernels = 0;
  std::uint64_t warps = 0;         // max number of warps in a kernel that allocate or free
  std::uint64_t other_frees = 0;   // of a block that another warp, or an earlier kernel, requested
  std::uint64_t requested = 0;     // bytes of all requests
  std::uint64_t padded_bytes = 0;  // the same, each padded to the granule
  std::uint64_t min_bytes = 0, max_bytes = 0;
  // Bytes requested and not freed: at the end, and the max at any time, with the number of events
  // until then and the blocks in use.
  std::uint64_t end_bytes = 0, peak_bytes = 0, peak_blocks = 0;
  std::size_t peak_event = 0;
  // Largest sum of padded bytes in use at any time: no allocator serves all with less memory.
  std::uint64_t peak_padded = 0;
  // [k]: requests of 2^(k-1) < bytes <= 2^k; [0]: of 0 or 1 byte; the last: of larger ones too.
  std::array<std::uint64_t, 41> sizes{};
  // [k]: freed blocks with 2^(k-1) < events from request to free <= 2^k; [0]: 1 event.
  std::array<std::uint64_t, 33> lifetimes{};
};

TraceSummary summarize(const alloc::ProgramTrace& trace);

}  // namespace heapwood::workloads
