// SPDX-License-Identifier: MIT
#include "workloads/program_trace/trace_summary.hpp"

#include <algorithm>
#include <bit>
#include <unordered_set>
#include <vector>

namespace heapwood::workloads {

namespace {

// The smallest k with n <= 2^k.
std::size_t ceiling_log(std::uint64_t n) { return n <= 1 ? 0 : std::bit_width(n - 1); }

struct Request {
  std::uint64_t bytes;
  std::size_t event, kernel;
  std::uint32_t warp;
};

}  // namespace

TraceSummary summarize(const alloc::ProgramTrace& trace) {
  TraceSummary summary;
  summary.kernels = trace.kernel_ends.size();
  summary.min_bytes = trace.requests == 0 ? 0 : ~std::uint64_t{0};
  std::vector<Request> requests;
  requests.reserve(trace.requests);
  std::unordered_set<std::uint32_t> warps;
  std::uint64_t live = 0, live_padded = 0, blocks = 0;
  std::size_t kernel = 0;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const alloc::TraceEvent& event = trace.events[i];
    if (i == trace.kernel_ends[kernel]) {
      ++kernel;
      warps.clear();
    }
    warps.insert(event.warp);
    summary.warps = std::max<std::uint64_t>(summary.warps, warps.size());
    if (event.kind == alloc::TraceEvent::Kind::allocate) {
      const std::uint64_t bytes = event.bytes;
      requests.push_back({bytes, i, kernel, event.warp});
      ++summary.requests;
      summary.requested += bytes;
      summary.padded_bytes += alloc::padded(bytes);
      summary.min_bytes = std::min(summary.min_bytes, bytes);
      summary.max_bytes = std::max(summary.max_bytes, bytes);
      ++summary.sizes[std::min<std::size_t>(ceiling_log(bytes), summary.sizes.size() - 1)];
      live += bytes;
      live_padded += alloc::padded(bytes);
      ++blocks;
      summary.peak_padded = std::max(summary.peak_padded, live_padded);
      if (live > summary.peak_bytes) {
        summary.peak_bytes = live;
        summary.peak_blocks = blocks;
        summary.peak_event = i + 1;
      }
    } else {
      const Request& request = requests[event.request];
      ++summary.frees;
      summary.other_frees += request.warp != event.warp || request.kernel != kernel;
      live -= request.bytes;
      live_padded -= alloc::padded(request.bytes);
      --blocks;
      ++summary.lifetimes[ceiling_log(i - request.event)];
    }
  }
  summary.end_bytes = live;
  return summary;
}

}  // namespace heapwood::workloads
