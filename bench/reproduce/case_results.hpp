// SPDX-License-Identifier: MIT
// What the measurements of cases share.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/reproduce/reproduce.hpp"
#include "bench/row_bench.hpp"

namespace heapwood::bench {

using Announce = std::function<void(const std::string&)>;

// Announces the next step only.
inline OnStep on_step(const Announce& announce) {
  return [&](std::size_t, std::size_t, const std::string& what) { announce(what); };
}

inline void set_status(Json& result, Status status, const std::string& reason) {
  result["status"] = name(status);
  if (!reason.empty()) result["reason"] = reason;
}

// The file in the folder of the papers' meshes and graphs with one of these extensions, or "".
std::string find_file(const std::string& folder, const std::string& stem,
                      const std::vector<std::string>& extensions);

}  // namespace heapwood::bench
