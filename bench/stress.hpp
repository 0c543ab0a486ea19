// SPDX-License-Identifier: MIT
// Runs the stress tests of allocators (workloads/stress.hpp) and prints nothing. At each point of a
// sweep: a warm-up of each allocator; run 1 of all, run 2 of all, and so on; one inspected run of
// each (addresses, fragmentation), untimed. Tests of space have no warm-up and inspect each run.
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

// The parameters of a sweep.
struct StressPoint {
  std::size_t payload = 4;  // bytes
  std::size_t pool_bytes = 0;
  unsigned iterations = 1;
  unsigned blocks = 0;         // of 256 threads; 0 = by requests
  std::size_t page_bytes = 0;  // ScatterAlloc; 0 = chosen
  std::uint32_t requests = 0;  // allocating threads; 0 = by blocks
  bool operator==(const StressPoint&) const = default;
};

struct StressSettings {
  workloads::StressTest test = workloads::StressTest::alloc_dealloc;
  unsigned lanes = 1;  // allocating lanes per warp
  bool touch = false, coalesced = false, wait = false;
  workloads::Lifetimes order = workloads::Lifetimes::random;  // lifetimes
  std::uint32_t seed = 1;
  double probability = 0.75;          // p
  alloc::AllocatorOptions allocator;  // its settings (AllocatorSetting)
  unsigned rounds = 1;                // per run, in one pool; the last one is timed
  int runs = 5;
  double seconds = 10;  // limit of a launch; soak: duration of all launches
  // Seconds per allocator and point, for warm-up and runs including their time on the host. A run
  // starts only if one as long as the last would fit; if none fits, the warm-up is the only run.
  // No limit if 0.
  double budget_seconds = 0;
  bool inspect = true;  // one more run, untimed, for addresses and fragmentation
};

const char* name(workloads::StressTest test);  // in results: "ad"
const char* name(workloads::Lifetimes order);
const char* command_name(workloads::StressTest test);  // "malloc-free"
// Takes both names. Throws Error{Exit::usage} that lists the command's.
workloads::StressTest parse_stress_test(const std::string& text);
workloads::Lifetimes parse_order(const std::string& text);
// Parameters of a test: launches or repetitions; a number of threads instead of blocks of 256.
bool has_iterations(workloads::StressTest test);
bool has_requests(workloads::StressTest test);
// The number of allocating threads.
std::uint32_t stress_threads(const StressSettings& settings, const StressPoint& point);

// Values of each parameter as on the command line: "4,64,1K", "sweep" (the paper's), "" (the test's
// default).
struct StressLists {
  std::string payload{}, pool{}, iterations{}, blocks{}, page_bytes{}, requests{};
};
// All combinations, the last parameters outermost. The defaults are small on the CPU.
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
  std::uint64_t split_failures = 0;       // the same, of the allocate kernel of `malloc-free`
  std::uint64_t damaged = 0;              // touch: blocks with changed contents, all runs
  std::optional<std::uint64_t> overlaps;  // by addresses
  std::optional<workloads::PoolState> peak, end;  // absent if the pool cannot be walked
  std::optional<registry::CallUse> calls;         // CUDA
  std::vector<double> refusal_ms;                 // utilization
  // Tests of space: iterations of each run.
  std::vector<std::vector<workloads::StressStep>> steps;
  std::uint64_t capacity_bytes = 0;  // the pool, or the heap elsewhere
  bool out_of_time = false;          // of a run

  std::optional<double> median_ms() const { return median(runs_ms); }
};

// Figures of tests of space: medians over the runs; absent if there was no such iteration.
struct StressSpaceFigures {
  std::optional<double> utilization;            // bytes in use at the end / capacity
  std::optional<double> blocks;                 // in use at the end
  std::optional<double> first_address_bytes;    // after the first iteration
  std::optional<double> address_bytes;          // at the end
  std::optional<double> iterations;             // without a refusal
  std::optional<double> iteration_ms, last_ms;  // of these: median, last
};
StressSpaceFigures space_figures(const StressRow& row);
// Memory that is neither free nor in the allocator's tables / requested bytes of live blocks:
// lifetimes, soak.
std::optional<double> held_over_live(const StressRow& row);

struct StressBench {
  Allocators allocators;
  std::vector<StressPoint> points;
  std::vector<StressPoint> left_out;  // take_oversized()
  StressSettings settings;
  simt::DeviceInfo device;
};

// Point by point, allocators in the given order. A failure of one allocator is reported in its row.
// point_done is called after each point, with all rows so far.
std::vector<StressRow> run_stress(
    const StressBench& bench, const OnStep& on_step,
    const std::function<void(const std::vector<StressRow>&)>& point_done = {});

inline constexpr const char* stress_schema = "heapwood.stress/1";
void describe(JsonFields& fields, StressRow& row);

}  // namespace heapwood::bench
