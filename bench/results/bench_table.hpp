// SPDX-License-Identifier: MIT
// The tables of `heapwood bench`, made from results only, so a JSON report reproduces them.
#pragma once

#include <string>
#include <vector>

#include "bench/results/result.hpp"
#include "bench/results/table.hpp"

namespace heapwood::bench {

// A table like RegEff's tables 3 and 4, one column per scene: properties of the build, then
// slowdowns over AtomicMalloc.
Table slowdown_table(const std::vector<Result>& results);
// Slowdowns in several pool sizes, one group of columns per scene; no columns for one size.
Table pool_table(const std::vector<Result>& results);
// Memory at the end of the instrumented builds: one group of columns per scene.
Table fragmentation_table(const std::vector<Result>& results);
// GPU builds: registers, stack and resident warps of the build kernels, and build times. No columns
// if no result has them. If there are several pool sizes, times are those in the first.
Table kernel_table(const std::vector<Result>& results);
// Compares the single kernel, with the fastest allocator that frees, with the per-level builder,
// one row per scene. No columns if the per-level builder was not measured.
Table builder_table(const std::vector<Result>& results);
// The columns of CSV output, which has one line per result (bench/results/json_fields.hpp).
extern const char* const bench_columns;
Table flat_table(const std::vector<Result>& results);

// One line that says how the results were measured. There must be at least one result.
std::string method_line(const std::vector<Result>& results);

}  // namespace heapwood::bench
