// SPDX-License-Identifier: MIT
// Numbered remarks below a table, which its cells refer to.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "bench/results/measured_row.hpp"

namespace heapwood::bench {

// Each remark appears once, with all names it applies to: "[1] CMalloc, CFMalloc: ...".
class Footnotes {
 public:
  std::string mark(const std::string& name, const std::string& remark) {
    auto at = std::find_if(notes_.begin(), notes_.end(),
                           [&](const Note& note) { return note.remark == remark; });
    if (at == notes_.end()) at = notes_.insert(at, Note{remark, {}});
    if (std::find(at->names.begin(), at->names.end(), name) == at->names.end())
      at->names.push_back(name);
    return number(static_cast<std::size_t>(at - notes_.begin()));
  }
  // The text, with a mark if the row has a reason.
  std::string marked(const std::string& text, const MeasuredRow& row) {
    return row.reason.empty() ? text : text + " " + mark(row.label, row.reason);
  }
  void append_to(std::vector<std::string>& lines) const {
    for (std::size_t i = 0; i < notes_.size(); ++i) {
      std::string line = number(i);
      for (const std::string& name : notes_[i].names)
        line += (&name == &notes_[i].names.front() ? " " : ", ") + name;
      lines.push_back(line + ": " + notes_[i].remark);
    }
  }

 private:
  struct Note {
    std::string remark;
    std::vector<std::string> names;
  };
  static std::string number(std::size_t i) { return "[" + std::to_string(i + 1) + "]"; }

  std::vector<Note> notes_;
};

}  // namespace heapwood::bench
