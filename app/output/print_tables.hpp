// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "bench/results/table.hpp"

namespace heapwood::app {

// Prints tables to standard output with an empty line between them: as Markdown if `format` is
// "markdown", otherwise in the terminal's style.
void print_tables(const std::vector<bench::Table>& tables, const std::string& format);

}  // namespace heapwood::app
