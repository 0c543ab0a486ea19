// SPDX-License-Identifier: MIT
// From the published to the redesigned CFMMalloc, one change at a time. A measurement of these
// allocators beside each other says what each change gains.
#pragma once

namespace heapwood::alloc {

struct AblationStep {
  const char* allocator;  // id
  const char* change;     // from the previous step
};

inline constexpr AblationStep ablation_steps[] = {
    {"cfmmalloc-published", "as published"},
    {"cfmmalloc-table", "headers in a table beside the memory"},
    {"cfmmalloc-draws", "walks that get stuck continue at a chunk drawn by hash"},
    {"cfmmalloc-ungrouped", "pieces with counts of free chunks; walkers merge free chunks"},
    {"cfmmalloc", "lanes that make the same request share a walk"},
};

}  // namespace heapwood::alloc
