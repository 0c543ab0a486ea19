// SPDX-License-Identifier: MIT
// Each input is rejected with one line, or gives a trace that survives being written and read
// again.
#include "host_alloc/trace.hpp"
#include "tests/fuzz/fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace heapwood;
  return fuzz::run([&] {
    const host_alloc::HostTrace trace =
        host_alloc::parse_host_trace(fuzz::text_of(data, size), "file");
    if (host_alloc::parse_host_trace(host_alloc::host_trace_text(trace), "again").ops != trace.ops)
      std::abort();
    for (const host_alloc::HostTraceOp& op : trace.ops) {
      if (op.slot >= trace.slots) std::abort();
    }
  });
}
