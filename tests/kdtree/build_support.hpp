// SPDX-License-Identifier: MIT
// Builds for tests, through the registry: on the device of tests/test_device.hpp, compared with a
// build on one CPU thread.
#pragma once

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "kdtree/check/quality.hpp"
#include "kdtree/check/validate.hpp"
#include "registry/registry.hpp"
#include "tests/kdtree/reference.hpp"
#include "tests/kdtree/soup.hpp"
#include "tests/test_device.hpp"

namespace heapwood::kdtree::test {

struct Subject {
  std::string name;
  const alloc::AllocatorTraits* traits = nullptr;
  const registry::CompiledAllocator* compiled = nullptr;
  simt::DeviceId device;
  std::string unusable;  // why the subject cannot run, or empty

  bool on_gpu() const { return device.kind == simt::DeviceKind::cuda; }
  bool frees() const { return traits->frees == alloc::Frees::individually; }
  // Whether the pool's size limits the memory handed out. The GPU's own heap does not shrink.
  bool bounded() const { return traits->in_pool || !on_gpu(); }
};
inline std::ostream& operator<<(std::ostream& out, const Subject& subject) {
  return out << subject.name;
}

// Returns every registered allocator.
inline std::vector<Subject> subjects() {
  std::vector<Subject> list;
  for (const registry::RegisteredAllocator& entry : registry::allocators()) {
    // Toy may refuse a request while other threads free memory, so its trees may be incomplete.
    if (std::string(entry.traits->id) == "toy") continue;
    Subject subject;
    subject.name = entry.traits->id;
    subject.traits = entry.traits;
    for (char& c : subject.name) {
      if (c == '-' || c == '+') c = '_';
    }
    try {
      const simt::DeviceInfo device = tests::test_device();
      subject.device = device.id;
      subject.compiled = entry.on(device.id.kind);
      if (!device.usable) subject.unusable = device.reason;
      if (subject.compiled == nullptr) subject.unusable = device.key + ": not built";
      if (subject.traits->frees == alloc::Frees::all_at_once)
        subject.unusable = "no trees are built with it";
    } catch (const Error& error) {
      subject.unusable = error.what();
    }
    list.push_back(subject);
  }
  return list;
}

// Few allocators for tests of the builder rather than of the allocator: one that never frees, one
// list, and private arenas. On a GPU all allocators.
inline std::vector<Subject> few_subjects() {
  std::vector<Subject> list = subjects();
  std::erase_if(list, [](const Subject& subject) {
    return !subject.on_gpu() && subject.name != "atomic" && subject.name != "cfmmalloc" &&
           subject.name != "heapwood";
  });
  return list;
}

// A test that runs for every allocator.
class PerAllocator : public ::testing::TestWithParam<Subject> {
 protected:
  void SetUp() override {
    if (!GetParam().unusable.empty()) GTEST_SKIP() << GetParam().unusable;
  }
};
// Calls f(subject) for all that can run, in one test, so that what they are compared with is made
// once.
template <class F>
void for_usable(const std::vector<Subject>& list, F f) {
  for (const Subject& subject : list) {
    if (!subject.unusable.empty()) continue;
    SCOPED_TRACE(subject.name);
    f(subject);
  }
}
inline std::string name_of(const ::testing::TestParamInfo<Subject>& info) {
  return info.param.name;
}

inline BuildOptions with_warps(unsigned warps) {
  BuildOptions options;
  options.warps = warps;
  return options;
}

struct NamedSoup {
  const char* name;
  Soup soup;
};

// The first soup has several levels of shared nodes. Soups are smaller with ids, which clips at
// every visit, and under sanitizers with boxes, of which there are most.
inline std::vector<NamedSoup> soups(RefKind kind, std::size_t divisor = 1) {
  const bool small = kind == RefKind::ids || (sanitized && kind == RefKind::boxes);
  divisor *= (sanitized ? 3 : 1) * (small ? 3 : 1);
  return {{"random", random_soup(24000 / divisor, 11, 0.01f)},
          {"grid", grid_soup(4000 / divisor, 12)},
          {"slivers", slivers(900 / divisor, 13)},
          {"cluster", cluster(4500 / divisor, 14)}};
}

struct Built {
  BuildRun run;
  Tree tree;
  TreeStats stats;
};

inline Built finish(Workspace& workspace, const BuildRun& run, const SahCosts& costs = {}) {
  Built built{.run = run, .tree = workspace.download(), .stats = {}};
  built.stats = measure(built.tree, costs);
  return built;
}
inline Built build(const Subject& subject, Workspace& workspace, const BuildOptions& options = {}) {
  return finish(workspace, subject.compiled->build(workspace, options), options.costs);
}

// The expected tree, and the memory that its build requests.
struct Expected {
  Built built;
  std::uint64_t allocations = 0;
  std::uint64_t live_bytes = 0;   // high-water mark with one thread
  std::uint64_t total_bytes = 0;  // the sum of all requests
};

inline Expected expected(const MeshView& mesh, RefKind kind, const SahCosts& costs = {}) {
  const registry::CompiledAllocator& compiled = *registry::find("atomic")->cpu;
  const DeviceMesh device_mesh(
      simt::DeviceId{.kind = simt::DeviceKind::cpu, .index = 0, .threads = 1}, mesh);
  Workspace workspace(device_mesh, kind,
                      Workspace::suggested_pool(mesh.triangles.size(), kind, false));
  BuildOptions options;
  options.costs = costs;
  InstrumentedRun instrumented = compiled.build_instrumented(workspace, options);
  while (instrumented.run.incomplete) {
    workspace.resize_pool(2 * workspace.pool().bytes);
    instrumented = compiled.build_instrumented(workspace, options);
  }
  const alloc::RequestStats& requests = instrumented.requests;
  return {.built = finish(workspace, instrumented.run, costs),
          .allocations = requests.allocations,
          .live_bytes = requests.high_water_bytes,
          .total_bytes = static_cast<std::uint64_t>(requests.mean_bytes *
                                                    static_cast<double>(requests.allocations))};
}

// A pool large enough whatever the allocator does with freed memory and whatever it keeps for each
// of several thousand warps of a GPU (Heapwood: two arenas of up to 16 KiB). The GPU's own heap
// always gets the same size, because its size is fixed at the first use.
inline std::size_t ample_pool(const Subject& subject, const Expected& expected) {
  if (!subject.bounded()) return std::size_t{1} << 30;
  const std::size_t padding = expected.allocations * 64;
  const std::size_t warps = std::size_t{subject.device.kind == simt::DeviceKind::cpu ? 4u : 96u}
                            << 20;
  return alloc::round_up(2 * (expected.total_bytes + padding) + warps, std::size_t{1} << 20);
}

// The number of arrays that a build requests. The root has one, and each child with refs gets one
// at the split: one per node that is not an empty leaf.
inline std::uint64_t arrays_of(const TreeStats& stats) {
  return stats.inner + stats.leaves - stats.empty_leaves;
}

// Clips in float exceed the default tolerance of validate() where an edge of a long sliver is
// nearly parallel to a plane. Kind `ids` clips at every visit.
inline ValidateOptions tolerant(RefKind kind) {
  ValidateOptions options;
  if (kind == RefKind::ids) options.tolerance = 2e-5;  // errors in these meshes reach 1.1e-5
  return options;
}

// The tree is valid and contains exactly the refs counted, even if it is incomplete.
inline void expect_sound(const Built& built, const MeshView& mesh,
                         const ValidateOptions& options = {}) {
  for (const std::string& fault : validate(built.tree, mesh, options)) ADD_FAILURE() << fault;
  std::uint64_t refs = 0;
  for (const Leaf& leaf : leaves(built.tree)) refs += leaf.triangles.size();
  EXPECT_EQ(refs, built.stats.refs);
  EXPECT_LE(refs, built.tree.refs.size());
  EXPECT_GE(refs, mesh.triangles.size());
  EXPECT_EQ(built.tree.bounds, kdtree::bounds(mesh));
  EXPECT_EQ(built.tree.incomplete, built.run.incomplete);
  EXPECT_EQ(built.run.incomplete, built.run.failed_splits != 0);
}

// A complete, instrumented build frees all memory.
inline void expect_all_freed(const Subject& subject, Workspace& workspace, const Expected& expected,
                             const BuildOptions& options = {}) {
  const InstrumentedRun instrumented = subject.compiled->build_instrumented(workspace, options);
  const Built built = finish(workspace, instrumented.run, options.costs);
  EXPECT_FALSE(instrumented.run.incomplete);
  EXPECT_EQ(built.stats.hash, expected.built.stats.hash);
  EXPECT_EQ(instrumented.requests.allocations, arrays_of(built.stats));
  EXPECT_EQ(instrumented.requests.allocations, expected.allocations);
  EXPECT_EQ(instrumented.requests.deallocations, instrumented.requests.allocations);
  EXPECT_EQ(instrumented.requests.failures, 0u);
  if (subject.frees() && instrumented.at_end.measured) {
    EXPECT_EQ(instrumented.at_end.used_bytes, 0u);
  }
}

// A subject that builds the tree of a soup: what is expected, and a workspace with an ample pool.
struct Bench {
  Bench(const Subject& on, const Soup& soup, RefKind kind = RefKind::clipped,
        const WorkspaceLimits& limits = {})
      : Bench(on, soup, kind, expected(soup.view(), kind), limits) {}
  Bench(const Subject& on, const Soup& soup, RefKind kind, const Expected& expects,
        const WorkspaceLimits& limits = {})
      : subject(on),
        want(expects),
        mesh(on.device, soup.view()),
        workspace(mesh, kind, ample_pool(on, want), limits) {}

  // Builds, and expects the complete tree.
  Built build(const BuildOptions& options = {}) {
    Built built = test::build(subject, workspace, options);
    EXPECT_FALSE(built.run.incomplete);
    EXPECT_EQ(built.stats.hash, want.built.stats.hash);
    return built;
  }
  void expect_all_freed(const BuildOptions& options = {}) {
    test::expect_all_freed(subject, workspace, want, options);
  }

  const Subject& subject;
  const Expected want;
  DeviceMesh mesh;
  Workspace workspace;
};

}  // namespace heapwood::kdtree::test
