// SPDX-License-Identifier: MIT
// What the measurements of cases share.
#pragma once

#include <functional>
#include <string>

#include "bench/reproduce/reproduce.hpp"

namespace heapwood::bench {

using Announce = std::function<void(const std::string&)>;

inline void set_status(Json& result, Status status, const std::string& reason) {
  result["status"] = name(status);
  if (!reason.empty()) result["reason"] = reason;
}

}  // namespace heapwood::bench
