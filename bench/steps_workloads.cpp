// SPDX-License-Identifier: MIT
#include "bench/steps_workloads.hpp"

#include <memory>

#include "workloads/particles/particles.hpp"
#include "workloads/program_trace/recorded_workloads.hpp"
#include "workloads/strings/strings.hpp"

namespace heapwood::bench {

namespace {

namespace strings = workloads::strings;
namespace particles = workloads::particles;
using workloads::StepsJob;

std::string input_or(const std::string& input, const simt::DeviceId& device, const char* on_gpu,
                     const char* on_cpu) {
  if (!input.empty()) return input;
  return device.kind == simt::DeviceKind::cuda ? on_gpu : on_cpu;
}

}  // namespace

StepsTask strings_task(const std::string& input, const StepsSettings& /*settings*/,
                       const simt::DeviceId& device) {
  const strings::StringsInput loaded =
      strings::load_strings(input_or(input, device, "lognormal:1m", "lognormal:100k"));
  const auto data =
      std::make_shared<const strings::StringsData>(strings::prepare_strings(device, loaded));
  StepsTask task;
  task.notes = loaded.notes;
  StepsWorkload& workload = task.workload;
  workload.schema = strings_schema;
  workload.input = loaded.name;
  workload.digest = loaded.digest;
  workload.unit = "row";
  workload.per_second = 1e6;
  for (const char* step : strings::step_names) workload.steps.push_back({step, data->rows()});
  workload.peak_bytes = data->peak_bytes();
  workload.run = [data](const Allocator& entry, const StepsJob& job) {
    return entry.on(job.device.kind)->strings({job, data.get()});
  };
  workload.baseline = "two-pass";
  workload.baseline_label = "no allocator: two passes";
  workload.run_baseline = [data](const StepsJob& job) {
    return strings::run_two_pass(*data, job.inspects, job.seconds);
  };
  task.record = [data](const StepsJob& job, alloc::RecordedMemory& memory) {
    workloads::record_strings({job, data.get()}, memory);
  };
  return task;
}

StepsTask particles_task(const std::string& input, const StepsSettings& settings,
                         const simt::DeviceId& device) {
  const auto data = std::make_shared<const particles::ParticlesData>(
      particles::prepare_particles(particles::parse_particles(
          input_or(input, device, "steady:1m", "steady:10k"), settings.rounds)));
  StepsTask task;
  StepsWorkload& workload = task.workload;
  workload.schema = particles_schema;
  workload.input = data->input.name;
  workload.unit = "round";
  workload.steps = {{"rounds", settings.rounds}};
  workload.peak_bytes = data->peak_bytes();
  workload.run = [data](const Allocator& entry, const StepsJob& job) {
    return entry.on(job.device.kind)->particles({job, data.get()});
  };
  workload.baseline = "rings";
  workload.baseline_label = "no allocator: rings";
  workload.baseline_uses_pool = true;
  workload.run_baseline = [data](const StepsJob& job) {
    return particles::run_rings({job, data.get()});
  };
  task.record = [data](const StepsJob& job, alloc::RecordedMemory& memory) {
    workloads::record_particles({job, data.get()}, memory);
  };
  return task;
}

}  // namespace heapwood::bench
