// SPDX-License-Identifier: MIT
// Runs a workload of steps (strings, particles) with several allocators in pools of several sizes,
// and its method without an allocator. Prints nothing. The warm-up checks the results and inspects
// the pool.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/pool_bench.hpp"
#include "simt/device.hpp"
#include "workloads/program_trace/recorded_workloads.hpp"
#include "workloads/steps.hpp"

namespace heapwood::bench {

struct StepsSettings {
  std::vector<PoolSize> pools;
  int runs = 5;
  double seconds = 20;  // time limit of a launch
  double budget_seconds = 0;
  // The input. strings: rows, or the lines of a file; particles: primaries. 0 rows: as many as suit
  // the device.
  std::string file, population = "steady";
  std::uint32_t count = 0, seed = 1;
  unsigned rounds = 100;  // of particles
};

struct StepSamples {
  std::string name;
  std::uint64_t items = 0;                  // of the workload's unit
  std::uint64_t requests = 0, refused = 0;  // max of all runs
  std::vector<double> ms;

  std::optional<double> rate() const;  // items per second at the median
};

// What differs between the workloads.
struct StepsWorkload {
  const char* schema;
  std::string input;               // as given
  std::string digest;              // of a file's content
  std::string unit;                // what a step works on: "row"
  double per_second = 1;           // unit of rates in tables
  std::vector<StepSamples> steps;  // names and items of the steps whose times are reported
  std::uint64_t peak_bytes = 0;    // max bytes requested and not freed, at the end of a step
  std::function<workloads::StepsResult(const Allocator&, const workloads::StepsJob&)> run;
  // The method without an allocator.
  const char *baseline, *baseline_label;
  bool baseline_uses_pool = false;
  std::function<workloads::StepsResult(const workloads::StepsJob&)> run_baseline;
  // All steps, for a recording.
  std::function<workloads::RecordedJob(const workloads::StepsJob&)> recorded;
};

struct StepsRow : PoolRow {  // runs_ms: of all steps
  std::string input, digest;
  StepsSettings settings;

  std::vector<StepSamples> steps;
  std::vector<workloads::StepMemory> memory;  // in the untimed run

  std::uint64_t sum_of(std::uint64_t StepSamples::*figure) const;
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

std::uint64_t pool_bytes(const StepsBench& bench, const PoolSize& pool);
// Returns a row per pool and candidate, in order; the baseline is the last of a pool.
std::vector<StepsRow> run_steps(const StepsBench& bench, const OnStep& on_step);

// Reads or writes a row; its settings are only written.
void describe(JsonFields& fields, StepsRow& row);
Json to_json(const StepsSettings& settings);
// For --resume: the complete rows in a file that are of this input and these settings.
Earlier<StepsRow> read_steps(const std::string& path, const StepsBench& bench);

inline constexpr const char* strings_schema = "heapwood.strings/1";
inline constexpr const char* particles_schema = "heapwood.particles/1";

// Read or generate the input, and compute the expected result.
StepsWorkload strings_workload(const StepsSettings& settings, const simt::DeviceInfo& device);
StepsWorkload particles_workload(const StepsSettings& settings, const simt::DeviceInfo& device);

}  // namespace heapwood::bench
