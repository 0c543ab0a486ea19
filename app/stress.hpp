// SPDX-License-Identifier: MIT
// Measures the generic tests of allocators (alloc/stress.hpp); prints nothing. At each point of a sweep: a warm-up of each
// allocator, then run 1 of all, run 2 of all, ..., then one inspected run of each (addresses, fragmentation), untimed.
// Tests of space have neither warm-up nor inspected run: each of their runs is looked at.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "alloc/stress.hpp"
#include "app/result.hpp"
#include "simt/device.hpp"

namespace heapwood::app {

inline constexpr unsigned stress_block_threads = 256;  // RegEff section 7

// What a sweep may vary.
struct StressPoint {
  std::size_t payload = 4;  // bytes
  std::size_t pool_bytes = 0;
  unsigned iterations = 1;
  unsigned blocks = 0;         // of 256 threads; 0 = by requests
  std::size_t page_bytes = 0;  // ScatterAlloc; 0 = chosen
  std::uint32_t requests = 0;  // threads that allocate; 0 = by blocks
  bool operator==(const StressPoint&) const = default;
};

struct StressSettings {
  alloc::StressTest test = alloc::StressTest::alloc_dealloc;
  unsigned lanes = 1;  // of a warp that allocate
  bool touch = false, coalesced = false, wait = false;
  alloc::LargeBackend large = alloc::LargeBackend::buddy;
  alloc::Lifetimes order = alloc::Lifetimes::random;  // lifetimes
  std::uint32_t seed = 1;
  unsigned rounds = 1;  // of a run in one pool; the last one is timed
  int runs = 5;
  double seconds = 10;  // a launch; soak: all of them
  // An allocator's share of a point, in seconds: warm-up and runs, with all that they take on the host. It has no run that its
  // last one says would not fit, and if there is no room for any, the warm-up is the only one. 0 = no limit.
  double budget_seconds = 0;
  bool inspect = true;  // one more run, untimed, for addresses and fragmentation
};

const char* name(alloc::StressTest test);
const char* name(alloc::LargeBackend large);
const char* name(alloc::Lifetimes order);
// "ad, acd, ...": what parse_stress_test knows.
std::string stress_tests();
// Throws Error{Exit::usage} that lists the tests.
alloc::StressTest parse_stress_test(const std::string& text);
alloc::Lifetimes parse_order(const std::string& text);
// Which parameters the test has: launches or turns; a number of threads instead of blocks of 256.
bool has_iterations(alloc::StressTest test);
bool has_requests(alloc::StressTest test);
// Threads that allocate.
std::uint32_t stress_threads(const StressSettings& settings, const StressPoint& point);

// The values of each parameter as given on the command line: "4,64,1K", "sweep" (the paper's), "" (the test's own).
struct StressLists {
  std::string payload{}, pool{}, iterations{}, blocks{}, page_bytes{}, requests{};
};
// Every combination, the last-named parameters outermost. Small values on the CPU where nothing is given.
std::vector<StressPoint> stress_points(const StressLists& lists, alloc::StressTest test,
                                       const simt::DeviceInfo& device);
// Takes the points out whose requests are together larger than the pool, and returns them.
std::vector<StressPoint> take_oversized(std::vector<StressPoint>& points);

// One allocator at one point.
struct StressRow {
  std::string allocator, label;
  alloc::Frees frees = alloc::Frees::individually;
  bool lower_bound = false;
  StressSettings settings;
  StressPoint point;

  Status status = Status::skipped;
  std::string reason;
  std::vector<double> runs_ms, allocate_ms, free_ms, reset_ms, floor_ms;
  std::optional<alloc::StressCounts> counts;  // of the run that was refused most
  std::uint64_t split_failures = 0;           // the same, of the allocate kernel of `ad`
  std::uint64_t damaged = 0;                  // touch: blocks that had changed, all runs
  std::optional<std::uint64_t> overlaps;      // addresses compared
  std::optional<alloc::PoolState> peak, end;  // absent where the pool cannot be walked
  std::optional<engine::CallUse> calls;       // CUDA
  std::vector<double> refusal_ms;             // utilization
  // Tests of space: the iterations of each run.
  std::vector<std::vector<alloc::StressStep>> steps;
  std::uint64_t capacity_bytes = 0;  // the pool, or the heap elsewhere
  bool out_of_time = false;          // of a run
  double seconds = 0;                // that the point took of the clock, for this allocator

  std::optional<double> median_ms() const { return median(runs_ms); }
};

// What tests of space say: medians over the runs. Absent where there was no such iteration.
struct StressSpaceFigures {
  std::optional<double> utilization;            // bytes in use in the end / capacity
  std::optional<double> blocks;                 // in use in the end
  std::optional<double> first_address_bytes;    // after the first iteration
  std::optional<double> address_bytes;          // in the end
  std::optional<double> iterations;             // in which nothing was refused
  std::optional<double> iteration_ms, last_ms;  // of those: median, the last one
};
StressSpaceFigures space_figures(const StressRow& row);
// What is neither free nor the allocator's own tables, over what was wanted for the blocks in use: lifetimes, soak.
std::optional<double> held_over_live(const StressRow& row);

struct StressBench {
  std::vector<const engine::Entry*> allocators;
  std::vector<StressPoint> points;
  std::vector<StressPoint> left_out;  // take_oversized()
  StressSettings settings;
  simt::DeviceInfo device;
};

struct StressEvents {
  // Steps done, steps in all, what comes next.
  std::function<void(std::size_t, std::size_t, const std::string&)> progress;
  // After each point, with everything so far.
  std::function<void(const std::vector<StressRow>&)> point_done;
};

// Point by point, allocators in the order given. What goes wrong with one allocator is in its row.
std::vector<StressRow> run_stress(const StressBench& bench, const StressEvents& events);

}  // namespace heapwood::app
