// SPDX-License-Identifier: MIT
// The builder template without the registry: on simulated warps, whose lanes are concurrent
// threads.
#pragma once

#include "kdtree/build/driver.hpp"
#include "simt/cpu.hpp"
#include "tests/kdtree/build_support.hpp"
#include "tests/simt/lockstep.hpp"

namespace heapwood::kdtree::test {

#if defined(HEAPWOOD_LONG_TESTS)
inline constexpr bool is_long = !sanitized;
#else
inline constexpr bool is_long = false;
#endif

inline simt::Cpu threads(int count) {
  return simt::Cpu({.kind = simt::DeviceKind::cpu, .index = 0, .threads = count});
}

// A mesh, its workspace, and the hash of the tree that one thread builds.
struct Case {
  explicit Case(RefKind kind, std::uint64_t seed = 41, const WorkspaceLimits& limits = {})
      : Case(small_soup(seed), kind, limits) {}
  Case(Soup made, RefKind kind, const WorkspaceLimits& limits = {})
      : soup(std::move(made)),
        mesh({}, soup.view()),
        workspace(mesh, kind, std::size_t{16} << 20, limits),
        want(expected(soup.view(), kind).built.stats.hash) {}

  // Just above shared_limit, so that all warps split the root; random triangles, and some with many
  // equal bounds.
  static Soup small_soup(std::uint64_t seed) {
    Soup soup = random_soup(900, seed, 0.01f);
    soup.add(grid_soup(300, seed + 1, 8));
    return soup;
  }
  std::uint64_t hash() { return measure(workspace.download(), {}).hash; }

  Soup soup;
  DeviceMesh mesh;
  Workspace workspace;
  std::uint64_t want;
};

// Options without a time limit: simulated warps take minutes on a busy computer. A build that hangs
// ends at the limit of ctest.
inline BuildOptions unlimited() {
  BuildOptions options;
  options.seconds = 1e9;
  return options;
}

// Builds on a device.
template <class Allocator, RefKind kind, class Device>
void expect_the_tree(const Device& device, Case& c) {
  const BuildRun run = build_with<Allocator, kind>(device, c.workspace, unlimited(), [&] {
    return Allocator::create(c.workspace.pool(), {}, device);
  });
  EXPECT_FALSE(run.incomplete);
  EXPECT_EQ(c.hash(), c.want);
}

}  // namespace heapwood::kdtree::test
