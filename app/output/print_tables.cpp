// SPDX-License-Identifier: MIT
#include "app/output/print_tables.hpp"

#include <fmt/format.h>

namespace heapwood::app {

void print_tables(const std::vector<bench::Table>& tables, const std::string& format) {
  const char* between = "";
  for (const bench::Table& table : tables) {
    fmt::print("{}{}", between,
               format == "markdown" ? to_markdown(table) : to_text(table, bench::terminal_style()));
    between = "\n";
  }
}

}  // namespace heapwood::app
