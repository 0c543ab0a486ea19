// SPDX-License-Identifier: MIT
// The item `own-ablation`: what each change from the published to the redesigned CFMMalloc gains,
// in the generic tests and in builds (alloc/circular_list_published/ablation.hpp).
#pragma once

#include "bench/reproduce/reproduce.hpp"

namespace heapwood::bench {

// Its allocators are compiled with -DHEAPWOOD_PUBLISHED=ON; otherwise the item is absent.
ReproduceItem ablation_item();

}  // namespace heapwood::bench
