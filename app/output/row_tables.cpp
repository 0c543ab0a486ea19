// SPDX-License-Identifier: MIT
#include "app/output/row_tables.hpp"

namespace heapwood::app {

bench::Cell name_cell(const bench::MeasuredRow& row, bench::Footnotes& footnotes) {
  std::string text = row.marked_label();
  if (!row.reason.empty()) text += " " + footnotes.mark(row.label, row.reason);
  return text;
}

void explain_marks(bench::Table& table, bool has_fastest, bool has_lower_bound) {
  if (has_fastest)
    table.notes.push_back("◂ fastest allocator that frees: its quartiles overlap no other's");
  if (has_lower_bound) table.notes.push_back("* lower bound: cannot free, never named the fastest");
}

}  // namespace heapwood::app
