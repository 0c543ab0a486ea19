// SPDX-License-Identifier: MIT
// The CSV tables with one column per figure: titles, their order, and a row with every figure.
#include <gtest/gtest.h>

#include "app/output/host_bench_tables.hpp"
#include "app/output/stress_tables.hpp"
#include "bench/host_bench.hpp"
#include "bench/results/bench_table.hpp"
#include "bench/results/json_columns.hpp"
#include "bench/stress.hpp"

namespace heapwood::bench {
namespace {

// Every figure differs from the others, so that no two columns can be exchanged unnoticed.
Result measured_result() {
  Result result;
  result.source = "dir/atrium.obj";
  result.scene = "atrium";
  result.triangles = 1000;
  result.allocator = "cfmmalloc";
  result.label = "CFMMalloc";
  result.lower_bound = true;
  result.settings.refs = kdtree::RefKind::ids;
  result.status = Status::incomplete;
  result.reason = "pool exhausted, \"full\"";
  result.runs_ms = {4, 1, 2};
  result.reset_ms = {0.125, 0.25, 0.375};
  result.slowdown = 1.25;
  result.slowdown_over = "atomic";
  result.tree = kdtree::TreeStats{};
  result.tree->inner = 10;
  result.tree->leaves = 11;
  result.tree->refs = 4500;
  result.tree->depth = 7;
  result.tree->hash = 0xdcba9876543210;
  result.tree->sah_cost = 61.5;
  result.tree->sah_cost_1_1 = 62.5;
  result.requests = alloc::RequestStats{};
  result.requests->allocations = 20;
  result.requests->mean_bytes = 40.5;
  result.requests->sigma_bytes = 300.25;
  result.requests->high_water_bytes = 5000;
  result.at_end = alloc::Fragmentation{};
  result.at_end->internal = 0.0625;
  result.at_end->external = 0.95;
  result.kernel = registry::KernelUse{128, 0, 4096, 16};
  result.pool_bytes = 1 << 20;
  result.levels = LevelFigures{};
  result.levels->run.levels = 40;
  result.levels->run.launches = 130;
  result.levels->run.allocations = 170;
  result.levels->run.peak_bytes = 300000;
  result.levels->run.tree_bytes = 100000;
  result.levels->allocation_ms = {0.5, 0.5, 0.5};
  result.levels->mapped_bytes = 16 << 20;
  return result;
}

TEST(FlatTable, OfBuilds) {
  Result no_requests = measured_result();
  no_requests.requests = alloc::RequestStats{};
  no_requests.at_end->internal.reset();
  no_requests.levels->mapped_bytes.reset();
  EXPECT_EQ(to_csv(flat_table({measured_result(), no_requests, Result{}})),
            "scene,triangles,allocator,label,lower_bound,builder,refs,status,reason,runs,"
            "median_ms,q1_ms,q3_ms,reset_ms,slowdown,slowdown_over,refs_per_triangle,sah_cost,"
            "sah_cost_1_1,nodes,leaves,depth,hash,allocations,mean_bytes,sigma_bytes,pool_bytes,"
            "high_water_bytes,internal_fragmentation,external_fragmentation,registers,levels,"
            "launches,host_allocations,host_allocation_share,peak_bytes,mapped_bytes,tree_bytes,"
            "source\n"
            "atrium,1000,cfmmalloc,CFMMalloc,yes,single-kernel,ids,incomplete,\"pool exhausted,"
            " \"\"full\"\"\",3,2,1.5,3,0.25,1.25,atomic,4.5,61.5,62.5,21,11,7,00dcba9876543210,"
            "20,40.5,300.25,1048576,5000,0.0625,0.95,128,40,130,170,0.25,300000,16777216,100000,"
            "dir/atrium.obj\n"
            "atrium,1000,cfmmalloc,CFMMalloc,yes,single-kernel,ids,incomplete,\"pool exhausted,"
            " \"\"full\"\"\",3,2,1.5,3,0.25,1.25,atomic,4.5,61.5,62.5,21,11,7,00dcba9876543210,0,"
            ",,1048576,0,,0.95,128,40,130,170,0.25,300000,,100000,dir/atrium.obj\n"
            ",,,,no,single-kernel,clipped,skipped,,0,,,,,,,,,,,,,,,,,,,,,,,,,,,,,\n");
}

StressRow measured_row() {
  StressRow row;
  row.allocator = "cmalloc";
  row.label = "CMalloc";
  row.lower_bound = true;
  row.settings.test = workloads::StressTest::churn;
  row.settings.lanes = 3;
  row.settings.touch = true;
  row.point = {64, 1 << 20, 10, 120, 4096, 77};
  row.status = Status::failed;
  row.reason = "2 blocks overlap, 3 damaged";
  row.runs_ms = {4, 1, 2};
  row.allocate_ms = {5};
  row.free_ms = {6};
  row.reset_ms = {7};
  row.floor_ms = {8};
  row.counts = workloads::StressCounts{9600, 9500, 9400};
  row.damaged = 11;
  row.overlaps = 12;
  row.peak = workloads::PoolState{};
  row.peak->blocks = 1;
  row.peak->address_bytes = 13;
  row.peak->fragmentation.internal = 0.125;
  row.peak->fragmentation.external = 0.25;
  row.peak->fragmentation.metadata_bytes = 14;
  row.end = workloads::PoolState{};
  row.end->fragmentation.external = 0.375;
  row.calls = registry::CallUse{{.registers = 18}, {.registers = 14}, {.registers = 22}};
  row.steps = {{{1, 10, 0, 640}, {3, 15, 0, 960}, {9, 18, 2, 1152}}};
  row.capacity_bytes = 12800;
  return row;
}

TEST(FlatTable, OfStressTests) {
  StressRow no_fragmentation = measured_row();
  no_fragmentation.peak->fragmentation.internal.reset();
  no_fragmentation.settings.touch = false;
  no_fragmentation.settings.coalesced = true;
  EXPECT_EQ(to_csv(table_of_json(
                {described(measured_row()), described(no_fragmentation), described(StressRow{})},
                app::stress_columns)),
            "test,allocator,label,lower_bound,payload_bytes,pool_bytes,iterations,blocks,"
            "requests,threads,lanes,page_bytes,touch,coalesced,status,reason,runs,median_ms,"
            "q1_ms,q3_ms,allocate_ms,free_ms,reset_ms,floor_ms,allocations,deallocations,refused,"
            "overlaps_by_address,overlaps_by_content,internal_fragmentation,"
            "external_fragmentation,external_fragmentation_end,address_bytes,metadata_bytes,"
            "utilization,first_range_bytes,range_bytes,iterations_served,iteration_ms,"
            "last_iteration_ms,registers_malloc,registers_free,registers_both\n"
            "churn,cmalloc,CMalloc,yes,64,1048576,10,,77,77,3,4096,yes,no,failed,"
            "\"2 blocks overlap, 3 damaged\",3,2,1.5,3,5,6,7,8,9600,9500,9400,12,11,0.125,0.25,"
            "0.375,13,14,0.09,640,1152,2,2,3,18,14,22\n"
            "churn,cmalloc,CMalloc,yes,64,1048576,10,,77,77,3,4096,no,yes,failed,"
            "\"2 blocks overlap, 3 damaged\",3,2,1.5,3,5,6,7,8,9600,9500,9400,12,,,0.25,0.375,13,"
            "14,0.09,640,1152,2,2,3,18,14,22\n"
            "ad,,,no,4,0,1,0,,0,1,,no,no,skipped,,0,,,,,,,,,,,,,,,,,,,,,,,,,,\n");
}

TEST(FlatTable, OfHostAllocators) {
  HostBenchRow row;
  row.allocator = "tlsf";
  row.label = "TLSF";
  row.status = Status::ok;
  row.passes.resize(2);
  HostBenchPass& pass = row.passes[0];
  for (int i = 0; i <= 1000; ++i) {
    pass.latencies.allocate.push_back(i);
    pass.latencies.free.push_back(i + 2000);
    pass.latencies.both.push_back(i + 4000);
  }
  pass.peak_requested_bytes = 1000;
  pass.peak_mapped_bytes = 1500;
  pass.mean_ratio = 1.75;
  pass.mappings = 5;
  pass.refused = 6;
  HostBenchRow failed;
  failed.allocator = "mmap";
  failed.label = "mmap";
  failed.status = Status::failed;
  failed.reason = "out of memory";
  const Json report = host_bench_report({}, {}, {row, failed});
  EXPECT_EQ(to_csv(table_of_json(report["results"], app::host_bench_columns, "passes")),
            "allocator,label,status,reason,pass,allocate_p50_us,allocate_p99_us,"
            "allocate_p99_9_us,allocate_max_us,free_p50_us,free_p99_us,free_p99_9_us,free_max_us,"
            "both_p50_us,both_p99_us,both_p99_9_us,both_max_us,peak_requested_bytes,"
            "peak_mapped_bytes,mapped_over_requested_peak,mapped_over_requested_mean,mappings,"
            "refused\n"
            "tlsf,TLSF,ok,,1,500,990,999,1000,2500,2990,2999,3000,4500,4990,4999,5000,1000,1500,"
            "1.5,1.75,5,6\n"
            "tlsf,TLSF,ok,,2,,,,,,,,,,,,,0,,,,0,0\n"
            "mmap,mmap,failed,out of memory,,,,,,,,,,,,,,,,,,,\n");
}

}  // namespace
}  // namespace heapwood::bench
