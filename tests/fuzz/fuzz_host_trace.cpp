// SPDX-License-Identifier: MIT
// Each input is either rejected with a one-line error or gives a trace that survives being written
// and read again.
#include <cstdlib>

#include "host_alloc/trace.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace heapwood;
  try {
    const host_alloc::HostTrace trace =
        host_alloc::parse_host_trace({reinterpret_cast<const char*>(data), size}, "file");
    if (host_alloc::parse_host_trace(host_alloc::host_trace_text(trace), "again").ops != trace.ops)
      std::abort();
    for (const host_alloc::HostTraceOp& op : trace.ops) {
      if (op.slot >= trace.slots) std::abort();
    }
  } catch (const Error& error) {
    const std::string_view text = error.what();
    if (error.exit() != Exit::scene || !text.starts_with("file:") || text.size() > 200)
      std::abort();
    for (const char c : text) {
      if (c < 0x20 || c == 0x7f) std::abort();
    }
  }
  return 0;
}
