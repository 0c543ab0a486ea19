// SPDX-License-Identifier: MIT
// Each input is rejected with a one-line error, or gives a trace that can be planned and that
// survives being written and read again.
//   clang++ -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -I. \
//     -DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION tests/fuzz/fuzz_program_trace.cpp \
//     alloc/recording/trace_file.cpp workloads/program_trace/{replay_plan,trace_summary}.cpp \
//     -o fuzz_program_trace && ./fuzz_program_trace -max_len=4096 -max_total_time=60 \
//     -rss_limit_mb=1024
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
