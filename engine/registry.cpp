// SPDX-License-Identifier: MIT
// Compiled once per registry: registry_table.inc is generated from registry.def files
// (cmake/registry.cmake).
#include "engine/engine.hpp"

namespace heapwood::engine {

#include "registry_table.inc"

std::span<const Entry> registry() { return table; }

const Entry* find(const std::string& id) {
  for (const Entry& entry : table) {
    if (id == entry.traits->id) return &entry;
  }
  return nullptr;
}

}  // namespace heapwood::engine
