// SPDX-License-Identifier: MIT
#include "workloads/strings/strings.hpp"

#include <algorithm>
#include <string>

#include "simt/cpu.hpp"
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

Source Column::source() const {
  return {.rows = rows, .firsts = begins.data(), .offsets = offsets.data(), .bytes = bytes.data()};
}

HostColumn Column::download() const {
  return {begins.download(), offsets.download(), bytes.download()};
}

Column two_pass_step(const simt::DeviceId& device, Step step, const Source& from,
                     const Source& second, double seconds, double& ms) {
  if (device.kind == simt::DeviceKind::cpu)
    return two_pass_detail::step_on(simt::Cpu(device), step, from, second, seconds, ms);
  if constexpr (simt::has_cuda) return two_pass_cuda::step(device, step, from, second, seconds, ms);
  simt::throw_without_cuda("strings");
}

std::uint64_t StringsData::peak_bytes() const { return *std::ranges::max_element(live_bytes); }

StringsData prepare_strings(const simt::DeviceId& device, const StringsInput& input) {
  constexpr double seconds = 86400;
  StringsData data;
  data.device = device;
  data.input = Column(device, input.column);
  const simt::DeviceId cpu;
  const Column host_input(cpu, input.column);
  Column now;
  double ms = 0;
  for (const Step step : {Step::load, Step::upper, Step::concatenate, Step::replace, Step::split,
                          Step::filter, Step::compact}) {
    if (step == Step::compact) {  // the column has no gaps
      data.live_bytes.push_back(0);
      continue;
    }
    now = two_pass_step(cpu, step, (step == Step::load ? host_input : now).source(),
                        host_input.source(), seconds, ms);
    const std::uint64_t pieces = now.offsets.size() - 1;
    std::uint64_t live = 0;
    for (std::uint64_t i = 0; i < pieces; ++i)
      live += alloc::padded(now.offsets.data()[i + 1] - now.offsets.data()[i]);
    data.live_bytes.push_back(live);
    if (step == Step::split) data.pieces = pieces;
  }
  data.result = now.download();
  return data;
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
    // The first kernel leaves the sizes of each row to the second.
    if (inspects)
      result.memory.push_back(
          {i, next.memory_bytes(),
           now.memory_bytes() + next.memory_bytes() + sizeof(Sizes) * data.rows()});
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
    const std::uint64_t first = result.begin(row), other = expected.begin(row),
                        count = expected.begin(row + 1) - other;
    if (result.begin(row + 1) - first != count) differs(row);
    const std::uint64_t at = result.offsets[first], from = expected.offsets[other];
    for (std::uint64_t i = 1; i <= count; ++i) {
      if (result.offsets[first + i] - at != expected.offsets[other + i] - from) differs(row);
    }
    const auto begin = expected.bytes.begin() + static_cast<std::ptrdiff_t>(from);
    if (!std::equal(begin,
                    begin + static_cast<std::ptrdiff_t>(expected.offsets[other + count] - from),
                    result.bytes.begin() + static_cast<std::ptrdiff_t>(at)))
      differs(row);
  }
}

}  // namespace heapwood::workloads::strings
