// SPDX-License-Identifier: MIT
// Runs the stress tests of allocators (workloads/stress.hpp). Prints nothing. At each point of a
// sweep there is a warm-up of each allocator; then run 1 of all, run 2 of all, and so on; then one
// untimed run of each in which addresses and fragmentation are inspected. Tests of memory use have
// no warm-up, and each of their runs is inspected.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/results/format.hpp"
#include "bench/row_bench.hpp"
#include "simt/device.hpp"
#include "workloads/stress.hpp"

namespace heapwood::bench {

inline constexpr unsigned stress_block_threads = 256;  // RegEff section 7

// The parameters of one point of a sweep.
struct StressPoint {
  std::size_t payload = 4;  // bytes
  std::size_t pool_bytes = 0;
  unsigned iterations = 1;
  unsigned blocks = 0;         // number of blocks of 256 threads; 0: `requests` determines it
  std::uint32_t requests = 0;  // number of allocating threads; 0: `blocks` determines it
  bool operator==(const StressPoint&) const = default;
};

struct StressSettings {
  workloads::StressTest test = workloads::StressTest::alloc_dealloc;
  unsigned lanes = 1;  // allocating lanes per warp
  bool touch = false, coalesced = false, wait = false;
  workloads::Lifetimes order = workloads::Lifetimes::random;  // used by the test lifetimes
  std::uint32_t seed = 1;
  double probability = 0.75;          // used by the test p
  alloc::AllocatorOptions allocator;  // settings of single allocators (AllocatorSetting)
  unsigned rounds = 1;                // rounds per run, in one pool; the last one is timed
  int runs = 5;
  bool warms_up = true;  // an untimed run before the timed ones
  double seconds = 10;   // limit of a launch; for soak the duration of all launches
  // Seconds per allocator and point, for warm-up and runs including their time on the host; 0 = no
  // limit. A run starts only if one as long as the last would fit; if none fits, the warm-up is the
  // only run.
  double budget_seconds = 0;
  bool inspect = true;  // one more run, untimed, for addresses and fragmentation
};

const char* name(workloads::StressTest test);  // in results: "ad"
const char* name(workloads::Lifetimes order);
const char* command_name(workloads::StressTest test);  // "malloc-free"
// Parses a name of either kind. Throws Error{Exit::usage} that lists those of the command line.
workloads::StressTest parse_stress_test(const std::string& text);
workloads::Lifetimes parse_order(const std::string& text);
// Whether a test has launches or repetitions; whether it takes a number of threads.
bool has_iterations(workloads::StressTest test);
bool has_requests(workloads::StressTest test);
// The number of allocating threads.
std::uint32_t stress_threads(const StressSettings& settings, const StressPoint& point);

// Values of each parameter: "4,64,1K", "sweep" (the paper's), "" (the test's default).
struct StressLists {
  std::string payload{}, pool{}, iterations{}, blocks{}, requests{};
};
// All combinations of the values, the last parameters outermost. The defaults are small on the CPU.
std::vector<StressPoint> stress_points(const StressLists& lists, workloads::StressTest test,
                                       const simt::DeviceInfo& device);
// Removes and returns the points whose requests together exceed the pool.
std::vector<StressPoint> take_oversized(std::vector<StressPoint>& points);

// One allocator at one point.
struct StressRow : MeasuredRow {
  StressSettings settings;
  StressPoint point;

  std::vector<double> runs_ms, allocate_ms, free_ms, reset_ms, floor_ms;
  std::optional<workloads::StressCounts> counts;  // of the run with the most refusals
  std::uint64_t split_failures = 0;               // of that run's allocate kernel, in `malloc-free`
  std::uint64_t damaged = 0;  // with `touch`: blocks with changed contents, over all runs
  std::optional<std::uint64_t> overlaps;          // overlapping blocks, by address
  std::optional<workloads::PoolState> peak, end;  // absent if the pool cannot be walked
  std::optional<registry::CallUse> calls;         // on CUDA
  std::vector<double> refusal_ms;                 // utilization
  // Tests of memory use: the iterations of each run.
  std::vector<std::vector<workloads::StressStep>> steps;
  std::uint64_t capacity_bytes = 0;  // size of the pool, or of the heap outside it
  bool out_of_time = false;          // a run was stopped by its time limit

  std::optional<double> median_ms() const { return median(runs_ms); }
};

// Figures of tests of memory use: medians over the runs; absent if there was no such iteration.
struct StressSpaceFigures {
  std::optional<double> utilization;            // bytes in use at the end / capacity
  std::optional<double> blocks;                 // blocks in use at the end
  std::optional<double> first_address_bytes;    // after the first iteration
  std::optional<double> address_bytes;          // at the end
  std::optional<double> iterations;             // iterations without a refusal
  std::optional<double> iteration_ms, last_ms;  // times of these iterations: median, last
};
StressSpaceFigures space_figures(const StressRow& row);
// lifetimes, soak: memory neither free nor in tables / requested bytes of live blocks.
std::optional<double> held_over_live(const StressRow& row);

struct StressBench {
  Allocators allocators;
  std::vector<StressPoint> points;
  std::vector<StressPoint> left_out;  // take_oversized()
  StressSettings settings;
  simt::DeviceInfo device;
};

// The job of a point, without pool and allocator's options.
workloads::StressJob stress_job(const StressBench& bench, const StressPoint& point);

// Measures point by point, allocators in the given order. A failure of one allocator is reported in
// its row. point_done is called after each point, with all rows so far.
std::vector<StressRow> run_stress(
    const StressBench& bench, const OnStep& on_step,
    const std::function<void(const std::vector<StressRow>&)>& point_done = {});

inline constexpr const char* stress_schema = "heapwood.stress/1";
void describe(JsonFields& fields, StressRow& row);

}  // namespace heapwood::bench
