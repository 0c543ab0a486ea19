// SPDX-License-Identifier: MIT
// Each input is rejected with one line, or gives a trace that can be planned and that survives
// being written and read again.
#include "alloc/recording/trace_file.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "workloads/program_trace/replay.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace heapwood;
  return fuzz::run([&] {
    const alloc::ProgramTrace trace = alloc::read_program_trace(fuzz::text_of(data, size), "file");
    if (!(alloc::read_program_trace(alloc::program_trace_file(trace), "again") == trace))
      std::abort();
    const workloads::TraceSummary summary = workloads::summarize(trace);
    const workloads::ReplayPlan plan = workloads::plan_replay(trace, {});
    if (plan.requests.size() < trace.events.size() || summary.requests != trace.requests)
      std::abort();
  });
}
