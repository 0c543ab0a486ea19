// SPDX-License-Identifier: MIT
#include <cstdlib>

#include "registry/registry.hpp"
#include "simt/device.hpp"
#include "tests/alloc/targets.hpp"

namespace heapwood::alloc::test {

std::vector<Target> targets() {
  const char* wanted = std::getenv("HEAPWOOD_TEST_DEVICE");
  const std::string key = wanted != nullptr ? wanted : "cpu";
  std::vector<Target> list;
  for (const registry::RegisteredAllocator& entry : registry::allocators()) {
    Target t;
    t.name = identifier(std::string(entry.traits->id) + "_" + key);
    t.traits = entry.traits;
    t.heap_beside = std::string(entry.traits->id).ends_with("-builtin");
    try {
      const simt::DeviceInfo device = simt::find_device(key, key == "cpu" ? 4 : 0);
      t.device = device.id;
      const registry::CompiledAllocator* compiled = entry.on(device.id.kind);
      if (compiled != nullptr) t.run = compiled->exercise;
      if (!device.usable) t.unusable = device.reason;
      if (compiled == nullptr) t.unusable = key + ": not built";
    } catch (const Error& error) {
      t.unusable = error.what();
    }
    list.push_back(t);
  }
  return list;
}

}  // namespace heapwood::alloc::test
