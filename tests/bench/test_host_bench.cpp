// SPDX-License-Identifier: MIT

#include "app/output/tables.hpp"
#include "bench/host_bench.hpp"
#include "bench/program/options.hpp"
#include "bench/results/json_fields.hpp"
#include "simt/memory.hpp"
#include "tests/app/executable.hpp"

namespace heapwood::bench {
namespace {

HostBench small_bench(std::vector<const char*> ids) {
  HostBench bench;
  bench.device = simt::find_device("cpu");
  for (const char* id : ids)
    bench.allocators.push_back(&host_alloc::find_host_allocator(id, bench.device.id));
  HostBenchTrace generated;
  generated.steps = 1500;
  generated.largest = 1 << 20;
  bench.trace = host_bench_trace(generated);
  bench.trace_name = "small";
  bench.options.growth_bytes = 2 << 20;
  bench.passes = 2;
  return bench;
}

TEST(HostBench, TheTraceIsTheSameForAllAndSound) {
  const HostBenchTrace generated;
  const host_alloc::HostTrace trace = host_bench_trace(generated);
  EXPECT_EQ(trace.ops, host_bench_trace(generated).ops);
  EXPECT_EQ(trace.slots, 20u);
  std::size_t requests = 0;
  for (const host_alloc::HostTraceOp& op : trace.ops) {
    if (!op.allocate) continue;
    ++requests;
    EXPECT_GE(op.bytes, std::size_t{1} << 10);
    EXPECT_LE(op.bytes, std::size_t{16} << 20);
  }
  EXPECT_EQ(requests, 4000u);
  // Reading rejects frees of free slots and requests for live ones.
  EXPECT_EQ(host_alloc::parse_host_trace(host_alloc::host_trace_text(trace), "t").ops.size(),
            trace.ops.size());
}

TEST(HostBench, TakesTheTimeOfEveryCall) {
  const HostBench bench = small_bench({"segfit", "tlsf", "mmap"});
  const std::vector<HostBenchRow> rows = run_host_bench(bench, {});
  ASSERT_EQ(rows.size(), 3u);
  std::size_t requested = 0, peak = 0;
  std::vector<std::size_t> slots(20);
  for (const host_alloc::HostTraceOp& op : bench.trace.ops) {
    requested += op.bytes - slots[op.slot];
    slots[op.slot] = op.bytes;
    peak = std::max(peak, requested);
  }
  for (const HostBenchRow& row : rows) {
    ASSERT_EQ(row.passes.size(), 2u) << row.reason;
    for (const HostBenchPass& pass : row.passes) {
      EXPECT_EQ(pass.latencies.allocate.size(), 1500u);
      EXPECT_EQ(pass.latencies.free.size(), bench.trace.ops.size() - 1500);
      EXPECT_EQ(pass.latencies.both.size(), pass.latencies.free.size());
      EXPECT_EQ(pass.peak_requested_bytes, peak);
      EXPECT_EQ(pass.refused, 0u);
      EXPECT_GE(pass.windows.size(), 100u);
      EXPECT_EQ(pass.windows.back().requested_bytes, requested);
      EXPECT_EQ(pass.peak_ratio().has_value(), row.allocator != "mmap");
    }
  }
  const auto ratio = [&](std::size_t row) { return rows[row].passes[0].peak_ratio().value(); };
  EXPECT_GE(ratio(1), 1.0);
  EXPECT_LT(ratio(1), ratio(0));
  EXPECT_GT(rows[0].passes[0].mappings, 0u);

  // Two lines of titles, one row per allocator; unknown figures are not 0.
  const Table latency = app::host_latency_table(bench, rows, false),
              memory = app::host_memory_table(rows);
  ASSERT_EQ(latency.rows.size(), 3u);
  ASSERT_EQ(memory.rows.size(), 3u);
  for (const Row& row : latency.rows) ASSERT_EQ(row.cells.size(), latency.columns.size());
  EXPECT_EQ(latency.rows[2].cells.back().text, "1.00");
  EXPECT_EQ(memory.rows[2].cells[2].text, "–");
  const Json json = host_bench_report({"heapwood"}, bench, rows);
  EXPECT_EQ(json["schema"], "heapwood.host-bench/1");
  EXPECT_EQ(table_of_json(json["results"], app::host_bench_columns, "passes").rows.size(), 6u);
  EXPECT_EQ(json["results"][1]["passes"][0]["windows"].size(), rows[1].passes[0].windows.size());
  EXPECT_FALSE(json["results"][2]["passes"][0].contains("peak_mapped_bytes"));
  EXPECT_GT(json["results"][1]["warm"]["both_us"]["p99_9"].get<double>(), 0);
}

TEST(HostBench, ReportsRefusals) {
  HostBench bench = small_bench({"tlsf"});
  bench.options.capacity = 4 << 20;
  const auto rows = run_host_bench(bench, {});
  ASSERT_EQ(rows[0].passes.size(), 2u);
  EXPECT_GT(rows[0].passes[0].refused, 0u);
  EXPECT_LE(rows[0].passes[0].peak_mapped_bytes.value(), std::size_t{4} << 20);
  EXPECT_LT(rows[0].passes[0].latencies.both.size(), bench.trace.ops.size() - 1500);
}

TEST(HostBench, PercentilesNeedEnoughSamples) {
  std::vector<double> samples(1001);
  for (std::size_t i = 0; i < samples.size(); ++i) samples[1000 - i] = static_cast<double>(i);
  const Percentiles p = percentiles(samples);
  EXPECT_DOUBLE_EQ(p.p50.value(), 500);
  EXPECT_DOUBLE_EQ(p.p99.value(), 990);
  EXPECT_DOUBLE_EQ(p.p999.value(), 999);
  EXPECT_DOUBLE_EQ(p.max.value(), 1000);
  samples.resize(500);
  EXPECT_FALSE(percentiles(samples).p999.has_value());
  EXPECT_FALSE(percentiles({}).max.has_value());
}

// A leaked buffer is an error in debug builds and ignored in release builds.
TEST(HostMemoryOption, ADebugBuildFindsLeaks) {
  const auto leave = [] {
    simt::device_allocate({}, 100);
    return Exit::done;
  };
  HostMemoryOptions options;
  options.allocator = "tlsf";
#ifdef NDEBUG
  EXPECT_EQ(with_host_memory(options, leave), Exit::done);
#else
  EXPECT_THROW(with_host_memory(options, leave), Error);
#endif
  // No other source is left installed.
  const simt::Memory memory(simt::DeviceId{}, 100);
  EXPECT_NE(memory.data(), nullptr);
}

class HostBenchCommand : public tests::Executable {};

TEST_F(HostBenchCommand, ReplaysTheRequestsOfTheApplication) {
  const std::string trace = folder_ / "t.csv";
  output("build statue:1k --allocator atomic --device cpu --host-allocator tlsf --host-trace " +
         trace);
  EXPECT_GT(host_alloc::parse_host_trace(tests::read_file(trace), trace).ops.size(), 10u);
  tests::expect_words(output("host-bench --trace " + trace +
                             " --device cpu --allocators tlsf,mmap --passes 1 --format csv"),
                      {"\ntlsf,TLSF,ok,,1,"});
}

}  // namespace
}  // namespace heapwood::bench
