// SPDX-License-Identifier: MIT
// Remarks that cells of a table refer to.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace heapwood::app {

// Reasons below the table, each once, numbered.
class Footnotes {
 public:
  std::string mark(const std::string& text) {
    const auto at = std::find(texts_.begin(), texts_.end(), text);
    if (at == texts_.end()) {
      texts_.push_back(text);
      return number(texts_.size());
    }
    return number(static_cast<std::size_t>(at - texts_.begin()) + 1);
  }
  void append_to(std::vector<std::string>& notes) const {
    for (std::size_t i = 0; i < texts_.size(); ++i) notes.push_back(number(i + 1) + " " + texts_[i]);
  }

 private:
  static std::string number(std::size_t n) { return "[" + std::to_string(n) + "]"; }

  std::vector<std::string> texts_;
};

}  // namespace heapwood::app
