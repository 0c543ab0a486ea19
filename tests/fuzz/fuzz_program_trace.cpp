// SPDX-License-Identifier: MIT
// Each input is rejected with a one-line error, or gives a trace that can be planned and that
// survives being written and read again.
#include <cstdlib>

#include "alloc/recording/trace_file.hpp"
#include "workloads/program_trace/replay_plan.hpp"
#include "workloads/program_trace/trace_summary.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace heapwood;
  try {
    const alloc::ProgramTrace trace =
        alloc::read_program_trace({reinterpret_cast<const char*>(data), size}, "file");
    if (!(alloc::read_program_trace(alloc::program_trace_file(trace), "again") == trace))
      std::abort();
    const workloads::TraceSummary summary = workloads::summarize(trace);
    const workloads::ReplayPlan plan = workloads::plan_replay(trace, {});
    if (plan.requests.size() < trace.events.size() || summary.requests != trace.requests)
      std::abort();
  } catch (const Error& error) {
    const std::string_view text = error.what();
    if (error.exit() != Exit::scene || !text.starts_with("file: ") || text.size() > 200 ||
        text.find_first_of("\r\n") != std::string_view::npos)
      std::abort();
  }
  return 0;
}
