// SPDX-License-Identifier: MIT
// Scenes with their trees, and recordings of builds, on CPU threads.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "bench/prepared_scene.hpp"
#include "viewer/built_scene.hpp"
#include "viewer/recording.hpp"

namespace heapwood::viewer {

inline simt::DeviceInfo cpu() { return simt::find_device("cpu", 2); }

// A scene after a build with an allocator.
struct Prepared {
  explicit Prepared(const std::string& source, const std::string& allocator = "cfmmalloc")
      : entry(*registry::find(allocator)), scene(source, cpu(), {}, {.frees = false}) {
    scene.build_growing(entry);
  }
  std::shared_ptr<const BuiltScene> built() {
    return make_built_scene(scene.source(), scene.name(), scene.mesh(),
                            scene.workspace().download(), cpu(), entry.traits->id);
  }
  kdtree::RecordedRun run() { return scene.build_recorded(entry, 1u << 20); }
  Recording recording() { return {scene.source(), entry, "cpu", scene.pool_bytes(), run()}; }

  const registry::RegisteredAllocator& entry;
  bench::PreparedScene scene;
};

inline std::shared_ptr<const BuiltScene> built(const std::string& source) {
  return Prepared(source).built();
}
inline Recording record(const std::string& source, const std::string& allocator = "cfmmalloc") {
  return Prepared(source, allocator).recording();
}

// Whether a condition comes true within a minute.
template <class Condition>
bool wait_for(const Condition& condition) {
  for (int i = 0; i < 6000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

}  // namespace heapwood::viewer
