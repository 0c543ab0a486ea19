// SPDX-License-Identifier: MIT
// The demo scenes' trees against the exact SAH's: within 5%.
#include <gtest/gtest.h>

#include <cstdio>

#include "engine/engine.hpp"
#include "kdtree/quality.hpp"
#include "kdtree/reference.hpp"
#include "kdtree/validate.hpp"
#include "scenes/scene.hpp"

namespace heapwood::kdtree {
namespace {

class DemoQuality : public testing::TestWithParam<const char*> {};

TEST_P(DemoQuality, AgainstTheReference) {
  scenes::Mesh mesh = scenes::load(GetParam());
  scenes::drop_degenerate(mesh);
  const MeshView view{mesh.vertices, mesh.triangles};
  const SahCosts costs;
  const double exact = measure(build_reference(view, costs), costs).sah_cost;

  const simt::DeviceId cpu;
  const DeviceMesh device_mesh(cpu, view);
  for (const RefKind kind : {RefKind::clipped, RefKind::ids}) {
    SCOPED_TRACE(name(kind));
    Workspace workspace(device_mesh, kind, Workspace::suggested_pool(mesh.triangles.size(), kind, false));
    const BuildRun run = engine::find("cfmmalloc")->cpu->build(workspace, {.costs = costs});
    EXPECT_FALSE(run.incomplete);
    const Tree tree = workspace.download();
    const double cost = measure(tree, costs).sah_cost;
    EXPECT_LE(cost, 1.05 * exact);
    EXPECT_GE(cost, 0.90 * exact);  // a greedy builder may be beaten, but not by this much
    EXPECT_EQ(validate(tree, view), std::vector<std::string>{});
    printf("%s %s: SAH %.2f, exact %.2f (%+.1f%%)\n", GetParam(), name(kind), cost, exact, 100 * (cost / exact - 1));
  }
}

INSTANTIATE_TEST_SUITE_P(Scenes, DemoQuality, testing::Values("atrium:20k", "statue:20k", "stadium:20k", "pipes:20k"),
                         [](const auto& param) {
                           return std::string(param.param, std::string(param.param).find(':'));
                         });

}  // namespace
}  // namespace heapwood::kdtree
