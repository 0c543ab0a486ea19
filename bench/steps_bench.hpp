// SPDX-License-Identifier: MIT
// Runs a workload of steps (strings, particles) with several allocators in pools of several sizes,
// and its method without an allocator. Prints nothing. In each pool there is an untimed run of each
// candidate, in which results are checked and the pool is inspected; then run 1 of all, run 2 of
// all, and so on.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/earlier_results.hpp"
#include "bench/row_bench.hpp"
#include "simt/device.hpp"
#include "workloads/steps.hpp"

namespace heapwood::bench {

struct StepsSettings {
  std::vector<PoolSize> pools;
  unsigned rounds = 0;  // of particles
  int runs = 5;
  double seconds = 60;  // time limit of a launch
  double budget_seconds = 0;
};

// What differs between the workloads.
struct StepsWorkload {
  const char* schema;
  std::string input;      // as given
  std::string digest;     // of a file's content
  std::string unit;       // what a step works on: "row"
  double per_second = 1;  // unit of rates in tables
  struct Step {
    std::string name;
    std::uint64_t items;  // of the unit
  };
  std::vector<Step> steps;       // of which times are reported
  std::uint64_t peak_bytes = 0;  // max bytes requested and not freed, at the end of a step
  std::function<workloads::StepsResult(const Allocator&, const workloads::StepsJob&)> run;
  // The method without an allocator.
  const char *baseline, *baseline_label;
  bool baseline_uses_pool = false;
  std::function<workloads::StepsResult(const workloads::StepsJob&)> run_baseline;
};

// The times of one step.
struct StepSamples {
  std::string name;
  std::uint64_t items = 0;
  std::uint64_t requests = 0, refused = 0;  // max of all runs
  std::vector<double> ms;

  // Items per second at the median.
  std::optional<double> rate() const;
};

struct StepsRow : MeasuredRow {
  std::string input, digest;
  std::string pool;  // as given; "" for a method that does not use it
  std::uint64_t pool_bytes = 0;
  StepsSettings settings;

  std::vector<StepSamples> steps;
  std::vector<double> runs_ms, reset_ms;      // runs_ms: all steps
  std::vector<workloads::StepMemory> memory;  // in the untimed run

  std::uint64_t requests() const;
  std::uint64_t refused() const;
  // Held bytes / live bytes: the max over all steps after which at least half of the peak is live.
  std::optional<double> held_over_live() const;
};

struct StepsBench {
  StepsWorkload workload;
  Allocators allocators;
  bool has_baseline = true;
  StepsSettings settings;
  simt::DeviceInfo device;
  std::vector<StepsRow> kept;  // rows of an earlier report, which are not measured again
};

// Parses "4x,2x,1G": multiples of the bytes in use at the peak.
std::vector<PoolSize> parse_steps_pools(const std::string& text);
std::uint64_t pool_bytes(const StepsBench& bench, const PoolSize& pool);
// Returns a row per pool and candidate, in order; the baseline is the last of a pool.
std::vector<StepsRow> run_steps(const StepsBench& bench, const OnStep& on_step);

// Reads or writes a row; its settings are only written.
void describe(JsonFields& fields, StepsRow& row);
// For --resume: the complete rows in a file that are of this input and these settings.
Earlier<StepsRow> read_steps(const std::string& path, const StepsBench& bench);

inline constexpr const char* strings_schema = "heapwood.strings/1";
inline constexpr const char* particles_schema = "heapwood.particles/1";

}  // namespace heapwood::bench
