// SPDX-License-Identifier: MIT
// Replays a program trace (workloads/program_trace/) with several allocators in pools of several
// sizes and prints nothing. Per pool: a warm-up of each allocator, in which the contents of blocks
// are checked; then run 1 of all, run 2 of all, and so on; then replays in which the pool is
// inspected.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "alloc/recording/program_trace.hpp"
#include "bench/earlier_results.hpp"
#include "bench/row_bench.hpp"
#include "simt/device.hpp"
#include "workloads/program_trace/replay.hpp"

namespace heapwood::bench {

struct ReplaySettings {
  std::vector<PoolSize> pools{parse_pool("auto")};
  int runs = 5;
  std::size_t window = 0;  // as ReplayPlanOptions
  unsigned samples = 32;   // of the pool over time, in an inspected replay
  double seconds = 60;     // limit of a replay
  double budget_seconds = 0;
};

// "auto,256M,1.5x": multiples are of the bytes in use at the peak of the trace.
std::vector<PoolSize> parse_replay_pools(const std::string& text);

struct ReplayRow : MeasuredRow {
  std::string trace;   // the file, as given
  std::string digest;  // of its content
  std::string pool;    // as given
  std::uint64_t pool_bytes = 0;
  ReplaySettings settings;

  std::vector<double> runs_ms, reset_ms;
  std::vector<double> floor_ms;  // of replays without the allocator's calls
  std::uint64_t requests = 0;    // per run
  std::uint64_t refused = 0;     // max of all runs
  std::uint64_t first_refused_bytes = 0;
  // Neither free nor the allocator's tables, at the peak of the trace: one figure per inspected
  // replay; empty if the pool cannot be walked.
  std::vector<double> peak_held_bytes;
  std::vector<workloads::ReplaySample> samples;  // of the last inspected replay
  std::optional<std::size_t> peak_sample;        // its index

  const workloads::ReplaySample* peak() const {
    return peak_sample ? &samples[*peak_sample] : nullptr;
  }
  std::optional<double> median_ms() const { return median(runs_ms); }
  // Held bytes per byte in use at the peak.
  std::optional<double> held_over_live() const;
};

struct ReplayBench {
  std::string name, digest;  // of the trace
  const alloc::ProgramTrace* trace = nullptr;
  workloads::TraceSummary summary;
  Allocators allocators;
  // An automatic pool suits all of these; empty: those measured.
  Allocators sized_for{};
  ReplaySettings settings;
  simt::DeviceInfo device;
  std::vector<ReplayRow> kept;  // of an earlier report: measured already
};

// Automatic: 4 times the memory in use at the peak of the trace and 16 MiB; at least 1.25 times all
// requests if an allocator does not free single blocks; at most half of the memory that the device
// has available.
std::uint64_t pool_bytes(const ReplayBench& bench, const PoolSize& pool);
// One row per pool and allocator, in order. A failure of one allocator is reported in its row.
std::vector<ReplayRow> run_replay(const ReplayBench& bench, const OnStep& on_step);

// Which allocator serves the program fastest, and which with the least memory.
struct ReplayChoice {
  std::string text;  // one line
  // Ids; empty if undecided.
  std::string fastest, smallest;
};
// Considers the allocators that free single blocks and served every request. Time is compared in
// the largest pool. For memory, one that serves the program in a smaller pool than all others is
// best; else, the bytes held at the peak decide. An allocator is named only where the quartiles of
// its samples do not overlap the others'.
ReplayChoice choose_allocators(const std::vector<ReplayRow>& rows);

inline constexpr const char* replay_schema = "heapwood.replay/1";
// All but the settings can be read back.
void describe(JsonFields& fields, ReplayRow& row);
Json replay_report(const std::vector<std::string>& argv, const ReplayBench& bench,
                   const std::vector<ReplayRow>& rows, const ReplayChoice& choice);
// For --resume: complete rows of the same trace and settings.
Earlier<ReplayRow> read_replays(const std::string& path, const ReplayBench& bench);

}  // namespace heapwood::bench
