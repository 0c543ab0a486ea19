// SPDX-License-Identifier: MIT
// The Learn tab: nodes explained, and the lesson.
#include <algorithm>

#include "kdtree/check/quality.hpp"
#include "tests/viewer/program.hpp"
#include "tests/viewer/recorded.hpp"
#include "viewer/node_view.hpp"

namespace heapwood::viewer {

namespace {

class NodeExplain : public testing::Test {
 protected:
  const kdtree::Tree& tree() const { return scene_->tree; }

  std::shared_ptr<const BuiltScene> scene_ = built("statue:1k");
};

TEST_F(NodeExplain, TheRootIsCutWhereItIsCheap) {
  const NodeExplanation root = explain(*scene_, root_of(tree()), {});
  EXPECT_EQ(root.refs, scene_->mesh.triangles.size());
  EXPECT_EQ(root.depth(), 0u);
  ASSERT_FALSE(root.leaf);
  EXPECT_EQ(root.plane, tree().nodes[0].split);
  EXPECT_GE(root.left + root.right, root.refs);
  EXPECT_EQ(root.sides.size(), root.refs);
  EXPECT_EQ(
      static_cast<std::uint32_t>(std::count(root.sides.begin(), root.sides.end(), Side::both)),
      root.left + root.right - root.refs);
  EXPECT_LT(root.split_cost, root.leaf_cost);
  EXPECT_LE(root.lowest, root.split_cost * 1.00001);
  for (unsigned axis = 0; axis < 3; ++axis) {
    const auto& curve = root.curve[axis];
    ASSERT_FALSE(curve.empty());
    EXPECT_LE(curve.size(), NodeExplanation::max_points);
    EXPECT_TRUE(std::is_sorted(curve.begin(), curve.end(), [](const auto& a, const auto& b) {
      return a.position < b.position;
    }));
  }
}

// The builder tries all candidates of small nodes, and the explanation repeats its arithmetic: the
// chosen plane is the lowest point of the curves, and the leaves have the refs that are explained.
TEST_F(NodeExplain, SmallNodesAreCutAtTheLowestPoint) {
  std::vector<RootPath> stack{root_of(tree())};
  unsigned nodes = 0;
  while (!stack.empty()) {
    const RootPath path = std::move(stack.back());
    stack.pop_back();
    const NodeExplanation node = explain(*scene_, path, {});
    if (node.leaf) {
      EXPECT_TRUE(node.sides.empty());
      EXPECT_EQ(node.refs, tree().nodes[path.back().node].count());
      continue;
    }
    for (const unsigned side : {0u, 1u}) {
      RootPath child = path;
      descend(tree(), child, side);
      EXPECT_EQ(child.size(), path.size() + 1);
      stack.push_back(std::move(child));
    }
    if (node.refs > 32) continue;
    ++nodes;
    EXPECT_EQ(node.split_cost, node.lowest) << "depth " << node.depth() << ", " << node.refs;
  }
  EXPECT_GT(nodes, 50u);
}

TEST_F(NodeExplain, PathsAndHistogramsAreThoseOfTheTree) {
  const kdtree::TreeStats stats = kdtree::measure(tree(), {});
  const LeafHistograms histograms = leaf_histograms(tree());
  std::uint64_t by_refs = 0, by_depth = 0;
  for (const std::uint64_t count : histograms.by_refs) by_refs += count;
  for (const std::uint64_t count : histograms.by_depth) by_depth += count;
  EXPECT_EQ(by_refs, stats.leaves);
  EXPECT_EQ(by_depth, stats.leaves);
  EXPECT_EQ(histograms.by_refs.front(), stats.empty_leaves);
  EXPECT_EQ(histograms.by_depth.size(), stats.depth + 1u);
  const Vec3 point = (tree().bounds.lo + tree().bounds.hi) * 0.5f;
  const RootPath path = path_to(tree(), point);
  ASSERT_FALSE(path.empty());
  EXPECT_TRUE(tree().nodes[path.back().node].leaf());
  for (unsigned axis = 0; axis < 3; ++axis) {
    EXPECT_LE(path.back().box.lo[axis], point[axis]);
    EXPECT_GE(path.back().box.hi[axis], point[axis]);
  }
}

}  // namespace

}  // namespace heapwood::viewer

namespace heapwood::tests {

namespace {

class Learn : public Program {};

TEST_F(Learn, SixStepsThroughTheBuild) {
  std::string steps = "wait built";
  for (int i = 1; i <= 6; ++i) {
    steps += "; key PageDown; wait 0.4; report @step" + std::to_string(i);
    if (i == 3) steps += "; window @window.png 1280x800 1";
  }
  steps +=
      "; key PageUp; wait 0.2; report @back; key PageDown; key PageDown; wait 0.2; report @end";
  run("atrium:1k --size 1280x800 --mode normals --spp 1", steps);
  std::vector<std::string> captions;
  for (int i = 1; i <= 6; ++i) {
    const Json report = json("step" + std::to_string(i));
    EXPECT_EQ(report["lesson"], i);
    EXPECT_EQ(report["texts"]["lesson"].get<std::string>().substr(0, 2), std::to_string(i) + ".");
    captions.push_back(report["texts"]["caption"]);
    EXPECT_GT(captions.back().size(), 80u) << captions.back();
  }
  EXPECT_EQ(json("step2")["node"]["depth"], 0);
  EXPECT_PRED2(has, captions[2], "go left");
  EXPECT_EQ(json("step4")["tree"]["visible"], true);
  EXPECT_EQ(json("step5")["node"]["leaf"], true);
  EXPECT_EQ(json("back")["lesson"], 5);
  EXPECT_TRUE(json("end")["lesson"].is_null());
  // Triangles of both sides are drawn in their colours.
  const render::Image window = picture("window.png");
  EXPECT_GT(count_pixels(window, [](auto c) { return c.b > c.r + 70 && c.b > c.g + 40; }), 5000);
  EXPECT_GT(count_pixels(window,
                         [](auto c) { return c.r > c.b + 90 && c.g > c.b + 20 && c.r > c.g + 30; }),
            5000);
}

TEST_F(Learn, ANodeIsExplained) {
  run("atrium:1k --allocator cfmmalloc --size 1280x800 --mode normals --spp 1",
      "wait built; wait samples 1; key N; wait 0.4; report @root; click Left child; wait 0.3; "
      "report @child; click Parent; wait 0.3; click 300 400; wait 0.3; report @picked; down Shift; "
      "click 300 400; up Shift; wait 0.3; report @leaf");
  const Json root = json("root")["node"], child = json("child")["node"];
  EXPECT_EQ(root["depth"], 0);
  EXPECT_EQ(child["depth"], 1);
  EXPECT_EQ(child["refs"], root["left"]);
  EXPECT_EQ(json("picked")["node"]["depth"], 1);
  EXPECT_EQ(json("leaf")["node"]["leaf"], true);
}

}  // namespace

}  // namespace heapwood::tests
