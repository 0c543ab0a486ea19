// SPDX-License-Identifier: MIT
// Program traces: from a recording, and as a file.
#include <gtest/gtest.h>

#include <algorithm>

#include "alloc/adaptors/recorded.hpp"
#include "alloc/allocators/heapwood.hpp"
#include "alloc/recording/trace_file.hpp"
#include "simt/cpu.hpp"
#include "tests/alloc/launch.hpp"
#include "tests/workloads/program_traces.hpp"

namespace heapwood::alloc {
namespace {

using Kind = TraceEvent::Kind;
using namespace trace_file;

// Each warp keeps blocks of its own in a ring and frees every second block of its neighbour's
// earlier kernel. The size of a block names it.
ProgramTrace recorded_ring(std::size_t capacity) {
  constexpr std::uint32_t warps = 3, turns = 50;
  const simt::Cpu device({.threads = warps});
  const test::OwnPool<Heapwood> own(1 << 20, {}, device);
  RecordedMemory recorded({}, capacity);
  void* kept[warps][turns] = {};
  const auto allocator = Recorded<Heapwood>::create(own.heap, own.pool, recorded);
  for (std::uint32_t kernel = 0; kernel < 2; ++kernel) {
    test::launch(device, warps, [&](auto& warp) {
      Recorded<Heapwood> a = allocator;
      for (std::uint32_t i = 0; i < turns; ++i) {
        if (kernel == 1 && i % 2 == 0) a.deallocate(warp, kept[(warp.worker() + 1) % warps][i]);
        void* const block = a.allocate(warp, 1 + warp.worker() * 1000 + kernel * 100 + i);
        if (kernel == 0) kept[warp.worker()][i] = block;
        if (kernel == 1) a.deallocate(warp, block);
      }
    });
    recorded.end_kernel();
  }
  return make_program_trace(recorded.events(), recorded.kernel_ends(), recorded.total(),
                            recorded.refused());
}

TEST(ProgramTrace, FreesNameTheirRequests) {
  const ProgramTrace trace = recorded_ring(1 << 16);
  EXPECT_EQ(trace.dropped, 0u);
  EXPECT_EQ(trace.refused, 0u);
  EXPECT_EQ(trace.unmatched, 0u);
  EXPECT_EQ(trace.requests, 300u);
  ASSERT_EQ(trace.events.size(), 300u + 150u + 75u);
  EXPECT_EQ(trace.kernel_ends, (std::vector<std::size_t>{150, 525}));
  std::vector<TraceEvent> requests;
  std::vector<std::vector<std::uint64_t>> sizes(3);
  for (const TraceEvent& event : trace.events) {
    if (event.kind == Kind::allocate) {
      ASSERT_EQ(event.request, requests.size());
      requests.push_back(event);
      sizes[event.warp].push_back(event.bytes);
      continue;
    }
    const TraceEvent& freed = requests[event.request];
    const std::uint64_t name = (freed.bytes - 1) % 1000;
    if (name >= 100) {
      EXPECT_EQ(freed.warp, event.warp);
    } else {
      EXPECT_EQ(freed.warp, (event.warp + 1) % 3);
      EXPECT_EQ(name % 2, 0u);
    }
  }
  // The events in the order of each warp.
  for (const std::vector<std::uint64_t>& of_warp : sizes)
    EXPECT_TRUE(std::ranges::is_sorted(of_warp));
}

TEST(ProgramTrace, CountsWhatWasDropped) {
  const ProgramTrace trace = recorded_ring(200);
  EXPECT_EQ(trace.events.size() + trace.dropped + trace.unmatched, 525u);
  EXPECT_EQ(trace.dropped, 325u);
  // Frees of the remaining blocks belong to requests that remain too.
  const std::string file = program_trace_file(trace);
  EXPECT_EQ(read_program_trace(file, "file"), trace);
}

TEST(ProgramTrace, CountsRefusals) {
  const test::OwnPool<Heapwood> own(1 << 16);
  const RecordedMemory recorded({}, 1 << 16);
  auto a = Recorded<Heapwood>::create(own.heap, own.pool, recorded);
  simt::Control control;
  simt::SerialWarp warp(0, 1, &control);
  EXPECT_EQ(a.allocate(warp, 1 << 20), nullptr);
  EXPECT_EQ(recorded.refused(), 1u);
  EXPECT_EQ(recorded.total(), 0u);
}

TEST(ProgramTrace, FileKeepsEverything) {
  ProgramTrace trace = tests::random_trace({.warps = 40, .lanes = 32, .kernels = 3});
  trace.dropped = 7;
  trace.refused = 8;
  trace.unmatched = 9;
  trace.events[1].warp = 0xffffffff;
  trace.events[1].lane = 31;
  const std::string file = program_trace_file(trace);
  EXPECT_EQ(read_program_trace(file, "file"), trace);
  EXPECT_LT(file.size(), trace.events.size() * 5);
  const ProgramTrace empty;
  EXPECT_EQ(read_program_trace(program_trace_file(empty), "file"), empty);
  // A source that would control a terminal is not written as it is.
  trace.source = "a\x1b[31m\nb";
  EXPECT_EQ(read_program_trace(program_trace_file(trace), "file").source, "a?[31m?b");
}

std::string error_of(const std::string& file) {
  try {
    read_program_trace(file, "x.trace");
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::scene);
    const std::string text = error.what();
    EXPECT_EQ(text.rfind("x.trace: ", 0), 0u) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    return text.substr(9);
  }
  return "";
}

void set_number(std::string& file, std::size_t offset, std::uint64_t value, unsigned bytes = 8) {
  for (unsigned i = 0; i < bytes; ++i) file[offset + i] = static_cast<char>(value >> 8 * i);
}

// Returns the file with a matching checksum.
std::string sealed(std::string file) {
  set_number(file, checksum_at, checksum(file));
  return file;
}

TEST(ProgramTrace, DamagedFilesAreRejected) {
  const std::string good = program_trace_file(tests::random_trace({.kernels = 2, .events = 40}));
  for (std::size_t n = 0; n < good.size(); ++n) {
    const std::string error = error_of(good.substr(0, n));
    EXPECT_FALSE(error.empty()) << n;
    if (n >= source_at) {
      EXPECT_FALSE(error_of(sealed(good.substr(0, n))).empty()) << n;
    }
  }
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x41);
    EXPECT_FALSE(error_of(bad).empty()) << i;
    error_of(sealed(bad));  // an error or another valid trace
  }
  EXPECT_NE(error_of("").find("not a program trace"), std::string::npos);
  EXPECT_NE(error_of("v 0 0 0\n").find("--record-trace"), std::string::npos);
  std::string other = good;
  set_number(other, version_at, 2, 4);
  EXPECT_NE(error_of(other).find("version 2"), std::string::npos);
  EXPECT_NE(error_of(good + "x").find("checksum"), std::string::npos);
  EXPECT_NE(error_of(sealed(good + "x")).find("follows"), std::string::npos);
}

// The memory that a file takes is bounded by its size, whatever its header says.
TEST(ProgramTrace, HugeNumbersAreRejected) {
  const std::string good = program_trace_file(tests::random_trace({.kernels = 2, .events = 40}));
  for (const std::size_t field : {source_bytes_at, kernels_at, events_at}) {
    for (const std::uint64_t value :
         {~std::uint64_t{0}, std::uint64_t{1} << 40, std::uint64_t{0}}) {
      std::string bad = good;
      set_number(bad, field, value, field == source_bytes_at ? 4 : 8);
      EXPECT_FALSE(error_of(sealed(bad)).empty()) << field << ' ' << value;
    }
  }
  ProgramTrace trace;
  trace.requests = 2;
  trace.events.resize(2);
  trace.events[1].request = 1;
  trace.kernel_ends = {2};
  trace.events[0].bytes = max_request_bytes + 1;
  EXPECT_NE(error_of(program_trace_file(trace)).find("a request of"), std::string::npos);
  trace.events[0].bytes = 1;
  trace.events[1].kind = Kind::free;
  trace.events[1].request = 1;
  EXPECT_FALSE(error_of(program_trace_file(trace)).empty());
  trace.requests = 1;
  trace.events[1].request = 0;
  trace.events.push_back(trace.events[1]);
  trace.kernel_ends = {3};
  EXPECT_NE(error_of(program_trace_file(trace)).find("freed twice"), std::string::npos);
}

}  // namespace
}  // namespace heapwood::alloc
