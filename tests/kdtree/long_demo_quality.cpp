// SPDX-License-Identifier: MIT
// Trees of the demo scenes cost at most 5% more than with the exact SAH, also with the default cost
// of duplicates, which makes trees smaller.
#include <gtest/gtest.h>

#include <cstdio>

#include "kdtree/check/quality.hpp"
#include "kdtree/check/validate.hpp"
#include "registry/registry.hpp"
#include "scenes/scene.hpp"
#include "tests/kdtree/reference.hpp"

namespace heapwood::kdtree {
namespace {

class DemoQuality : public testing::TestWithParam<const char*> {};

TEST_P(DemoQuality, IsNearTheReference) {
  const registry::RegisteredAllocator* const allocator = registry::find("cfmmalloc");
  if (allocator == nullptr) GTEST_SKIP() << "cfmmalloc is not compiled (HEAPWOOD_ALLOCATORS)";
  scenes::Mesh mesh = scenes::load(GetParam());
  scenes::drop_degenerate(mesh);
  const MeshView view{mesh.vertices, mesh.triangles};
  constexpr SahCosts costs{.duplicate = 0};
  const double exact = measure(build_reference(view, costs), costs).sah_cost;

  const simt::DeviceId cpu;
  const DeviceMesh device_mesh(cpu, view);
  for (const RefKind kind : {RefKind::clipped, RefKind::ids}) {
    SCOPED_TRACE(name(kind));
    Workspace workspace(device_mesh, kind,
                        Workspace::suggested_pool(mesh.triangles.size(), kind, false));
    BuildOptions options;
    options.costs = costs;
    const BuildRun run = allocator->cpu->build(workspace, options);
    EXPECT_FALSE(run.incomplete);
    const Tree tree = workspace.download();
    const double cost = measure(tree, costs).sah_cost;
    EXPECT_LE(cost, 1.05 * exact);
    EXPECT_GE(cost, 0.90 * exact);  // a greedy builder can be beaten, but not by this much
    EXPECT_EQ(validate(tree, view), std::vector<std::string>{});
    const BuildRun lean = allocator->cpu->build(workspace, {});
    EXPECT_FALSE(lean.incomplete);
    const TreeStats stats = measure(workspace.download(), costs);
    EXPECT_LE(stats.sah_cost, 1.05 * exact);
    EXPECT_LT(stats.refs, 0.97 * static_cast<double>(measure(tree, costs).refs));
    printf("%s %s: SAH %.2f, exact %.2f (%+.1f%%); default %+.1f%%, refs %+.1f%%\n", GetParam(),
           name(kind), cost, exact, 100 * (cost / exact - 1), 100 * (stats.sah_cost / exact - 1),
           100 * (static_cast<double>(stats.refs) / static_cast<double>(measure(tree, costs).refs) -
                  1));
  }
}

INSTANTIATE_TEST_SUITE_P(Scenes, DemoQuality,
                         testing::Values("atrium:20k", "statue:20k", "stadium:20k", "pipes:20k"),
                         [](const auto& param) {
                           return std::string(param.param, std::string(param.param).find(':'));
                         });

}  // namespace
}  // namespace heapwood::kdtree
