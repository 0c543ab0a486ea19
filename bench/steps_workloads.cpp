// SPDX-License-Identifier: MIT
#include <memory>

#include "bench/program/messages.hpp"
#include "bench/results/format.hpp"
#include "bench/steps_bench.hpp"

namespace heapwood::bench {

namespace {

using workloads::StepsJob;

std::uint32_t count_or(std::uint32_t count, const simt::DeviceInfo& device, std::uint32_t on_gpu,
                       std::uint32_t on_cpu) {
  if (count != 0) return count;
  return device.id.kind == simt::DeviceKind::cuda ? on_gpu : on_cpu;
}

}  // namespace

StepsWorkload strings_workload(const StepsSettings& settings, const simt::DeviceInfo& device) {
  namespace strings = workloads::strings;
  StepsWorkload workload;
  workload.schema = strings_schema;
  workload.input = settings.file;
  strings::HostColumn column;
  if (settings.file.empty()) {
    const std::uint32_t rows = count_or(settings.count, device, 1'000'000, 100'000);
    workload.input = fmt::format("{} random rows, seed {}", count_text(rows), settings.seed);
    column = strings::generate_strings(rows, settings.seed);
  } else {
    column = strings::read_lines(settings.file, workload.digest);
  }
  const auto data =
      std::make_shared<const strings::StringsData>(strings::prepare_strings(device.id, column));
  workload.unit = "row";
  workload.per_second = 1e6;
  for (const char* step : strings::step_names)
    workload.steps.push_back({step, column.rows(), 0, 0, {}});
  workload.peak_bytes = data->peak_bytes;
  workload.run = [data](const Allocator& entry, const StepsJob& job) {
    return entry.on(job.device.kind)->strings({job, data.get()});
  };
  workload.baseline = "two-pass";
  workload.baseline_label = "no allocator: two passes";
  workload.run_baseline = [data](const StepsJob& job) {
    return strings::run_two_pass(*data, job.inspects, job.seconds);
  };
  workload.recorded = [data](const StepsJob& job) { return strings::StringsJob{job, data.get()}; };
  return workload;
}

namespace {

using workloads::particles::ParticlesJob;

// Runs all rounds in growing pools until no particle is lost.
workloads::StepsResult find_peak(ParticlesJob job, const simt::DeviceInfo& device) {
  const Allocator* entry = registry::find("heapwood");
  if (entry == nullptr || entry->on(device.id.kind) == nullptr)
    throw_error(Exit::usage, "particles: needs the allocator heapwood, which is not compiled");
  job.device = device.id;
  job.inspects = true;
  job.seconds = 86400;  // --seconds limits what is measured
  for (std::uint64_t bytes = (1 << 20) + 256 * job.primaries;; bytes *= 2) {
    const simt::Memory pool(device.id, bytes);
    job.pool = {pool.data(), pool.bytes()};
    const workloads::StepsResult result = entry->on(device.id.kind)->particles(job);
    if (result.refused() == 0) return result;
  }
}

}  // namespace

StepsWorkload particles_workload(const StepsSettings& settings, const simt::DeviceInfo& device) {
  using workloads::particles::Population;
  ParticlesJob input;
  input.population = settings.population == "steady"     ? Population::steady
                     : settings.population == "doubling" ? Population::doubling
                                                         : Population::collapsing;
  input.primaries = count_or(settings.count, device, 1'000'000, 10'000);
  input.seed = settings.seed;
  input.rounds = settings.rounds;
  const workloads::StepsResult sized = find_peak(input, device);
  input.digest = sized.digest;
  StepsWorkload workload;
  workload.schema = particles_schema;
  workload.input =
      fmt::format("{} particles, {}, {}, seed {}", count_text(input.primaries), settings.population,
                  plural_text(input.rounds, "round"), settings.seed);
  workload.unit = "round";
  workload.steps = {{"rounds", input.rounds, 0, 0, {}}};
  for (const workloads::StepMemory& memory : sized.memory)
    workload.peak_bytes = std::max(workload.peak_bytes, memory.live_bytes);
  const auto job_of = [input](const StepsJob& job) {
    ParticlesJob all = input;
    static_cast<StepsJob&>(all) = job;
    return all;
  };
  workload.run = [job_of](const Allocator& entry, const StepsJob& job) {
    return entry.on(job.device.kind)->particles(job_of(job));
  };
  workload.baseline = "rings";
  workload.baseline_label = "no allocator: rings";
  workload.baseline_uses_pool = true;
  workload.run_baseline = [job_of](const StepsJob& job) {
    return workloads::particles::run_rings(job_of(job));
  };
  workload.recorded = job_of;
  return workload;
}

}  // namespace heapwood::bench
