// SPDX-License-Identifier: MIT
// Signs of numbers in text files.
#pragma once

#include <string_view>

namespace heapwood::scenes {

// The number without a leading `+`, which std::from_chars refuses. `+-1` is returned unchanged, so
// that it is refused.
inline std::string_view without_plus(std::string_view number) {
  const bool has_plus = number.starts_with('+') && !number.substr(1).starts_with('-');
  return number.substr(has_plus ? 1 : 0);
}

}  // namespace heapwood::scenes
