// SPDX-License-Identifier: MIT
// The tables of `heapwood bench`, from results alone: what the JSON holds is enough to write them again.
#pragma once

#include <string>
#include <vector>

#include "app/result.hpp"
#include "app/table.hpp"

namespace heapwood::app {

// RegEff tables 3 and 4: a column a scene; properties of the build, then slowdowns over AtomicMalloc.
Table slowdown_table(const std::vector<Result>& results);
// Memory at the end of the instrumented builds: a group of columns a scene.
Table fragmentation_table(const std::vector<Result>& results);
// The single kernel, with the fastest allocator that frees, against the per-level builder: a row a scene. No columns where
// the latter was not measured.
Table builder_table(const std::vector<Result>& results);
// A row a result with every figure, for --format csv: raw numbers, empty where not measured.
Table flat_table(const std::vector<Result>& results);

// How it was measured, one line each: device and source, method.
std::vector<std::string> method_lines(const std::vector<Result>& results, const std::string& device,
                                      const std::string& version);

}  // namespace heapwood::app
