// SPDX-License-Identifier: MIT
// Compiled once per registry: registry_table.inc is generated from registry.def files
// (cmake/registry.cmake).
#include "registry/registry.hpp"

namespace heapwood::registry {

#include "registry_table.inc"

std::span<const RegisteredAllocator> allocators() { return table; }

const RegisteredAllocator* find(const std::string& id) {
  for (const RegisteredAllocator& entry : table) {
    if (id == entry.traits->id) return &entry;
  }
  return nullptr;
}

}  // namespace heapwood::registry
