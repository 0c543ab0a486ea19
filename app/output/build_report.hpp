// SPDX-License-Identifier: MIT
// The report of `heapwood build` on one result.
#pragma once

#include <string>

#include "bench/results/result.hpp"
#include "bench/results/table.hpp"

namespace heapwood::app {

std::string build_text(const bench::Result& result, const std::string& device,
                       const bench::TextStyle& style);

}  // namespace heapwood::app
