// SPDX-License-Identifier: MIT
#include "bench/stress_primitives.hpp"

#include <fmt/format.h>

#include <optional>

#include "bench/results/format.hpp"
#include "bench/results/samples.hpp"
#include "simt/device.hpp"
#include "simt/error.hpp"
#include "workloads/stress_primitives.hpp"

namespace heapwood::bench {

namespace {

using workloads::PrimitiveJob;
using workloads::PrimitiveTest;

// Absent if a run exceeded its limit.
std::optional<double> median_ms(const PrimitiveJob& job, int runs) {
  std::vector<double> samples;
  for (int run = -1; run < runs; ++run) {
    workloads::PrimitiveResult result;
    try {
      result = workloads::run_primitive(job);
    } catch (const simt::Stopped&) {
      if (simt::interrupted()) throw;
      return std::nullopt;
    }
    if (result.done != result.wanted) {
      throw Error(Exit::failed, fmt::format("stress: only {} of {} operations were completed",
                                            result.done, result.wanted));
    }
    if (run >= 0) samples.push_back(result.ms);
  }
  return median(samples);
}

Cell rate(std::uint32_t n, std::optional<double> ms) {
  return ms ? figure_text(n / *ms / 1e3) : missing;
}
Cell ratio(std::optional<double> a, std::optional<double> b) {
  return a && b ? ratio_text(*a / *b) : missing;
}

// Powers of four, up to 2^20 on a GPU as in the paper; on the CPU a warp is one thread.
std::vector<std::uint32_t> thread_counts(const simt::DeviceInfo& device, std::uint32_t max) {
  if (device.id.kind == simt::DeviceKind::cpu) max /= 64;
  std::vector<std::uint32_t> counts;
  for (std::uint32_t n = 4; n <= max; n *= 4) counts.push_back(n);
  return counts;
}

Table semaphores(PrimitiveJob job, const simt::DeviceInfo& device, int runs) {
  Table table;
  table.title =
      fmt::format("Two-stage allocation, batches of {}: units/s (bulk, figure 5)", job.batch);
  table.columns = {{"threads"}, {"counting, M/s"}, {"bulk, M/s"}, {"bulk / counting"}};
  for (const std::uint32_t n : thread_counts(device, 1 << 20)) {
    job.threads = n;
    job.test = PrimitiveTest::counting_semaphore;
    const std::optional<double> counting = median_ms(job, runs);
    job.test = PrimitiveTest::bulk_semaphore;
    const std::optional<double> bulk = median_ms(job, runs);
    table.add({count_text(n), rate(n, counting), rate(n, bulk), ratio(counting, bulk)});
  }
  return table;
}

Table rcu(PrimitiveJob job, const simt::DeviceInfo& device, int runs) {
  constexpr std::uint32_t ratios[] = {1, 4, 16, 64, 256};
  Table table;
  table.title = "RCU: time with one barrier per writer / time with delegation (bulk, figure 6)";
  table.columns = {{"threads"}};
  for (const std::uint32_t r : ratios)
    table.columns.push_back({fmt::format("1:{}", r), false, false, "writers : readers"});
  for (const std::uint32_t n : thread_counts(device, 1 << 14)) {
    std::vector<Cell> cells{count_text(n)};
    for (const std::uint32_t r : ratios) {
      job.threads = n;
      job.readers = r;
      job.test = PrimitiveTest::plain_rcu;
      const std::optional<double> plain = median_ms(job, runs);
      job.test = PrimitiveTest::delegated_rcu;
      cells.push_back(ratio(plain, median_ms(job, runs)));
    }
    table.add(std::move(cells));
  }
  return table;
}

}  // namespace

bool is_primitive_test(const std::string& test) { return test == "semaphore" || test == "rcu"; }

Table stress_primitives(const std::string& test, const simt::DeviceInfo& device, int runs,
                        double seconds) {
  PrimitiveJob job;
  job.device = device.id;
  job.seconds = seconds;
  return test == "rcu" ? rcu(job, device, runs) : semaphores(job, device, runs);
}

}  // namespace heapwood::bench
