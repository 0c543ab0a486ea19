// SPDX-License-Identifier: MIT
// Binning the refs of a chunk for a shared node: first in the warp's Scratch, then added to the
// node.
#pragma once

#include <cstdint>

#include "kdtree/build/kernel.hpp"

namespace heapwood::kdtree {

// Clears the histograms of a chunk's refs, for both children.
template <class Warp>
HEAPWOOD_INLINE void clear_histograms(Warp& warp, ChooseScratch& scratch) {
  for (unsigned k = warp.lane(); k < 2 * histogram_words; k += Warp::width)
    scratch.histogram[k] = 0;
  warp.sync();
}

// Bins the clipped refs [first, last) of `node`, whose array is `refs` and whose box is `box`. For
// one CPU thread; other threads may still be filling other parts of the array.
inline void bin_array_for(SharedNode& node, ChooseScratch& scratch, const std::byte* refs,
                          std::uint32_t first, std::uint32_t last, const Box& box) {
  const Box tight = bin_refs(refs, first, last, box, scratch.sums);
  node.add(scratch.sums, tight);
}

}  // namespace heapwood::kdtree
