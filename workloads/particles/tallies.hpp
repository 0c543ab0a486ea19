// SPDX-License-Identifier: MIT
// Sums of tallies over the lanes of a warp, and over all warps on the host.
#pragma once

#include <vector>

#include "workloads/particles/particle.hpp"
#include "workloads/steps.hpp"

namespace heapwood::workloads::particles {

// Adds the tallies of all lanes to `total`, which no other warp writes.
template <class Warp>
HEAPWOOD_INLINE void add_tally(const Warp& warp, Tally& total, const Tally& own) {
  const Tally sum{add_up(warp, own.energy_in), add_up(warp, own.energy_out),
                  add_up(warp, own.born),      add_up(warp, own.died),
                  add_up(warp, own.requests),  add_up(warp, own.refused)};
  if (warp.lane() != 0) return;
  Tally all = total;
  all.add(sum);
  total = all;
}

inline Tally sum_of(const std::vector<Tally>& tallies) {
  Tally sum{};
  for (const Tally& one : tallies) sum.add(one);
  return sum;
}

}  // namespace heapwood::workloads::particles
