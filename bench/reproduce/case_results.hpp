// SPDX-License-Identifier: MIT
// What the measurements of cases share.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "bench/measured_row.hpp"
#include "bench/reproduce/reproduce.hpp"

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

// Those of `asked` whose ids are in a list separated by commas; all if it is empty.
inline std::vector<const registry::RegisteredAllocator*> chosen_allocators(
    const std::vector<const registry::RegisteredAllocator*>& asked, const std::string& ids) {
  if (ids.empty()) return asked;
  const std::vector<std::string> wanted = split(ids, ',');
  std::vector<const registry::RegisteredAllocator*> some;
  for (const registry::RegisteredAllocator* entry : asked) {
    if (std::find(wanted.begin(), wanted.end(), entry->traits->id) != wanted.end())
      some.push_back(entry);
  }
  return some;
}

}  // namespace heapwood::bench
