// SPDX-License-Identifier: MIT
#include "workloads/strings/strings.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "workloads/prefix_sum.hpp"
#include "workloads/strings/two_pass_run.hpp"

namespace heapwood::workloads::strings {

Column::Column(const simt::DeviceId& device, const HostColumn& host)
    : begins(device, host.begins.size()),
      offsets(device, host.offsets.size()),
      bytes(device, host.bytes.size() / 8 * 8 + 8),
      rows(host.rows()) {
  begins.upload(host.begins);
  offsets.upload(host.offsets);
  bytes.upload(host.bytes);
  bytes.set_size(host.bytes.size());
}

Column two_pass_step(const simt::DeviceId& device, Step step, const Source& from,
                     const Source& second, double seconds, double& ms) {
  if (device.kind == simt::DeviceKind::cpu)
    return two_pass_detail::step_on<CpuScan>(simt::Cpu(device), step, from, second, seconds, ms);
  if constexpr (simt::has_cuda) return two_pass_cuda::step(device, step, from, second, seconds, ms);
  simt::throw_without_cuda("strings");
}

StepsResult run_two_pass(const StringsData& data, bool inspects, double seconds) {
  StepsResult result;
  Column now;
  for (unsigned i = 0; i < step_count; ++i) {
    const auto step = static_cast<Step>(i);
    StepResult& done = result.steps.emplace_back();
    if (step == Step::compact) continue;  // the column has no gaps
    Column next = two_pass_step(data.device, step, (i == 0 ? data.input : now).source(),
                                data.input.source(), seconds, done.ms);
    if (inspects)
      result.memory.push_back(
          {i, next.memory_bytes(),
           now.memory_bytes() + next.memory_bytes() + 2 * sizeof(std::uint64_t) * now.rows});
    now = std::move(next);
  }
  if (inspects) check_strings(now.download(), data.result, {});
  return result;
}

void check_strings(const HostColumn& result, const HostColumn& expected,
                   const std::vector<std::uint8_t>& is_refused) {
  const auto differs = [](std::uint64_t row) {
    throw Error(Exit::failed, "the strings of row " + std::to_string(row) +
                                  " differ from those computed on the host");
  };
  if (result.rows() != expected.rows()) differs(std::min(result.rows(), expected.rows()));
  for (std::uint64_t row = 0; row < expected.rows(); ++row) {
    if (!is_refused.empty() && is_refused[row] != 0) continue;
    const std::uint64_t first = result.begins[row], other = expected.begins[row],
                        count = expected.begins[row + 1] - other;
    if (result.begins[row + 1] - first != count) differs(row);
    const std::uint64_t at = result.offsets[first], from = expected.offsets[other];
    for (std::uint64_t i = 1; i <= count; ++i) {
      if (result.offsets[first + i] - at != expected.offsets[other + i] - from) differs(row);
    }
    if (!std::equal(expected.bytes.data() + from,
                    expected.bytes.data() + expected.offsets[other + count],
                    result.bytes.data() + at))
      differs(row);
  }
}

}  // namespace heapwood::workloads::strings
