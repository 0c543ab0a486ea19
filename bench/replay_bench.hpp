// SPDX-License-Identifier: MIT
// Replays a program trace (workloads/program_trace/) with several allocators in pools of several
// sizes. Prints nothing. In each pool there is a warm-up of each allocator, in which the contents
// of blocks are checked; then run 1 of all, run 2 of all, and so on; then replays in which the pool
// is inspected.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "alloc/recording/program_trace.hpp"
#include "bench/pool_bench.hpp"
#include "simt/device.hpp"
#include "workloads/program_trace/replay.hpp"

namespace heapwood::bench {

struct ReplaySettings {
  std::vector<PoolSize> pools{parse_pool("auto")};
  int runs = 5;
  std::size_t window = 0;  // see ReplayPlanOptions
  unsigned samples = 32;   // of the pool over time, per inspected replay
  double seconds = 60;     // time limit of a replay
  double budget_seconds = 0;
};

struct ReplayRow : PoolRow {
  std::string trace;   // the file, as given
  std::string digest;  // digest of its content
  ReplaySettings settings;

  std::vector<double> floor_ms;  // times of replays without calls of the allocator
  std::uint64_t requests = 0;    // requests per run
  std::uint64_t refused = 0;     // refused requests, max of all runs
  std::uint64_t first_refused_bytes = 0;
  // For each inspected replay the bytes at the peak of the trace that are neither free nor the
  // allocator's tables; empty if the pool cannot be walked.
  std::vector<double> peak_held_bytes;
  std::vector<workloads::ReplaySample> samples;  // taken in the last inspected replay
  std::optional<std::size_t> peak_sample;        // index of the sample at the peak

  const workloads::ReplaySample* peak() const {
    return peak_sample ? &samples[*peak_sample] : nullptr;
  }
  // Held bytes / bytes in use, at the peak.
  std::optional<double> held_over_live() const;
};

struct ReplayBench {
  std::string name, digest;  // of the trace
  const alloc::ProgramTrace* trace = nullptr;
  workloads::TraceSummary summary;
  Allocators allocators;
  // Allocators for all of which an automatic pool suffices; empty: those measured.
  Allocators sized_for{};
  ReplaySettings settings;
  simt::DeviceInfo device;
  std::vector<ReplayRow> kept;  // rows of an earlier report, which are not measured again
};

// The size of a pool. An automatic one has 16 MiB and 4 times the memory in use at the peak of the
// trace; if an allocator does not free single blocks, at least 1.25 times all requests; and at most
// half of the memory that the device has available.
std::uint64_t pool_bytes(const ReplayBench& bench, const PoolSize& pool);
// Returns a row per pool and allocator, in order; it reports a failure of its allocator.
std::vector<ReplayRow> run_replay(const ReplayBench& bench, const OnStep& on_step);

// The allocators that serve the program fastest, and with the least memory.
struct ReplayChoice {
  std::string text;  // one line
  // Ids of the two allocators; empty if undecided.
  std::string fastest, smallest;
};
// Considers the allocators that free single blocks and served every request. Time is compared in
// the largest pool. The allocator with the least memory is the one that serves the program in a
// smaller pool than all others or, if there is none, the one that holds the fewest bytes at the
// peak, tables included. An allocator is named only if its samples are clearly below the others';
// otherwise the text lists the tied ones.
ReplayChoice choose_allocators(const std::vector<ReplayRow>& rows);

inline constexpr const char* replay_schema = "heapwood.replay/1";
// Reads or writes a row; its settings are only written.
void describe(JsonFields& fields, ReplayRow& row);
Json to_json(const ReplaySettings& settings);
Json replay_report(const std::vector<std::string>& argv, const ReplayBench& bench,
                   const std::vector<ReplayRow>& rows, const ReplayChoice& choice);
// For --resume: the complete rows in a file that are of this trace and these settings.
Earlier<ReplayRow> read_replays(const std::string& path, const ReplayBench& bench);

}  // namespace heapwood::bench
