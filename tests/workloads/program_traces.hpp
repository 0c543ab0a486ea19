// SPDX-License-Identifier: MIT
// Program traces for tests.
#pragma once

#include <cstdint>
#include <vector>

#include "alloc/recording/program_trace.hpp"

namespace heapwood::tests {

struct TraceShape {
  std::uint32_t warps = 3, lanes = 1, kernels = 2;
  std::size_t events = 1200;  // events per kernel
  std::uint32_t max_bytes = 300;
  std::size_t max_live = 100;
};

// Requests of random sizes; three of four frees are by the warp that requested the block. Every
// warp has events in every kernel.
inline alloc::ProgramTrace random_trace(const TraceShape& shape, std::uint32_t seed = 1) {
  using Kind = alloc::TraceEvent::Kind;
  struct Live {
    std::uint32_t request, warp;
  };
  const auto draw = [&](std::uint32_t below) {
    seed = seed * 1664525u + 1013904223u;
    return static_cast<std::uint32_t>(std::uint64_t{seed} * below >> 32);
  };
  alloc::ProgramTrace trace;
  trace.source = "random";
  trace.pool_bytes = 1 << 20;
  std::vector<Live> live;
  for (std::uint32_t k = 0; k < shape.kernels; ++k) {
    for (std::size_t i = 0; i < shape.events; ++i) {
      alloc::TraceEvent event;
      event.warp = i < shape.warps ? static_cast<std::uint32_t>(i) : draw(shape.warps);
      event.lane = draw(shape.lanes) & 31u;
      if (!live.empty() && (live.size() >= shape.max_live || draw(5) < 2)) {
        const std::size_t index = draw(static_cast<std::uint32_t>(live.size()));
        event.kind = Kind::free;
        event.request = live[index].request;
        if (draw(4) != 0 && i >= shape.warps) event.warp = live[index].warp;
        live[index] = live.back();
        live.pop_back();
      } else {
        event.request = trace.requests++;
        event.bytes = draw(shape.max_bytes + 1);
        live.push_back({event.request, event.warp});
      }
      trace.events.push_back(event);
    }
    trace.kernel_ends.push_back(trace.events.size());
  }
  return trace;
}

}  // namespace heapwood::tests
