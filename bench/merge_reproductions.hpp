// SPDX-License-Identifier: MIT
// merge_results() for parts of one reproduction, whose files have lists of cases.
#pragma once

#include <optional>
#include <vector>

#include "bench/merge.hpp"

namespace heapwood::bench {

// After the checks of merge_results().
Merged merge_reproductions(const std::optional<ResultsFile>& earlier,
                           const std::vector<ResultsFile>& parts);

}  // namespace heapwood::bench
