// SPDX-License-Identifier: MIT
#include "kdtree/build/profile.hpp"

#include <algorithm>

#include "kdtree/build/profile_run.hpp"
#include "simt/cpu.hpp"

namespace heapwood::kdtree {

std::uint64_t BuildProfile::lifetime_ns() const {
  std::uint64_t sum = 0;
  for (const WarpTimes& warp : warps) sum += warp.end - warp.begin;
  return sum;
}

std::uint64_t BuildProfile::wall_ns() const {
  std::uint64_t last = 0;
  for (const WarpTimes& warp : warps) last = std::max(last, warp.end);
  return last;
}

namespace {

std::uint64_t column(const std::uint64_t* cells, Phase phase) {
  std::uint64_t sum = 0;
  for (unsigned level = 0; level < profile_levels; ++level)
    sum += cells[level * phase_count + static_cast<unsigned>(phase)];
  return sum;
}

}  // namespace

std::uint64_t BuildProfile::phase_ns(Phase phase) const { return column(sums.ns, phase); }
std::uint64_t BuildProfile::phase_visits(Phase phase) const { return column(sums.visits, phase); }

const char* name(Phase phase) {
  constexpr const char* names[phase_count] = {"bounds", "init",  "choose", "move",
                                              "binned", "exact", "leaf",   "allocate",
                                              "free",   "give",  "wait",   "other"};
  return names[static_cast<unsigned>(phase)];
}

NoCostBuilder::NoCostBuilder(const DeviceMesh& mesh, const BuildOptions& options)
    : options_(options),
      workspace_(mesh, RefKind::clipped,
                 Workspace::suggested_pool(mesh.triangles.size(), RefKind::clipped, false)) {
  while (build().incomplete) workspace_.resize_pool(2 * workspace_.pool().bytes);
}

BuildRun NoCostBuilder::build() {
  if (workspace_.mesh().triangles.size() == 0) return {};
  if (workspace_.device().kind == simt::DeviceKind::cpu)
    return build_no_cost(simt::Cpu(workspace_.device()), workspace_, options_);
  if constexpr (simt::has_cuda) return build_no_cost_cuda(workspace_, options_);
  simt::throw_without_cuda("profile");
}

}  // namespace heapwood::kdtree
