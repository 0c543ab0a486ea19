// SPDX-License-Identifier: MIT
#include "workloads/program_trace/replay_data.hpp"

#include <algorithm>
#include <vector>

namespace heapwood::workloads {

namespace {

template <class T>
simt::Buffer<T> uploaded(const simt::DeviceId& device, const std::vector<T>& host) {
  simt::Buffer<T> buffer(device, std::max<std::size_t>(1, host.size()));
  buffer.upload(host);
  return buffer;
}

}  // namespace

ReplayData::ReplayData(const simt::DeviceId& device, const ReplayPlan& plan)
    : bytes(uploaded(device, plan.bytes)),
      requests(uploaded(device, plan.requests)),
      groups(uploaded(device, plan.groups)),
      warp_begins(uploaded(device, plan.warp_begins)),
      progress(device, plan.warp_begins.size()),
      step_warps(uploaded(device, plan.step_warps)),
      steps_ended(device, plan.launches.size() + 1),
      blocks(device, plan.bytes.size() + 1),
      damaged(device, 1) {}

void ReplayData::reset(const ReplayPlan& plan) {
  progress.fill(0);
  step_warps.upload(plan.step_warps);
  steps_ended.fill(0);
  blocks.fill(0);
  damaged.fill(0);
}

}  // namespace heapwood::workloads
