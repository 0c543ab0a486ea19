// SPDX-License-Identifier: MIT
// The Learn tab: nodes explained, the lesson, the slice plane, and the way from a block of the heap
// map to its node.
#include <algorithm>

#include "kdtree/check/quality.hpp"
#include "tests/viewer/program.hpp"
#include "tests/viewer/recorded.hpp"
#include "viewer/node_view.hpp"
#include "viewer/recording.hpp"
#include "viewer/tree_view.hpp"

namespace heapwood::viewer {

namespace {

class NodeExplain : public testing::Test {
 protected:
  const kdtree::Tree& tree() const { return scene_->tree; }

  Prepared prepared_{"statue:1k"};
  std::shared_ptr<const BuiltScene> scene_ = prepared_.built();
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
  for (const std::uint32_t count : histograms.by_refs) by_refs += count;
  for (const std::uint32_t count : histograms.by_depth) by_depth += count;
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

// The recording names no nodes, but the refs of a node and of its array are the same number.
TEST_F(NodeExplain, ABlockLeadsToItsNode) {
  const auto bytes = static_cast<std::uint32_t>(kdtree::ref_bytes(kdtree::RefKind::clipped));
  const Recording recording = prepared_.recording(prepared_.run(), bytes);
  std::size_t known = 0;
  for (const workloads::Block& block : recording.blocks()) {
    const Recording::NodeEvent* node = recording.node_of(block);
    known += node != nullptr;
    if (node) {
      EXPECT_EQ(std::uint64_t{node->refs} * bytes, block.bytes);
    }
  }
  EXPECT_GT(known, recording.blocks().size() * 9 / 10);
  const auto largest =
      std::max_element(recording.blocks().begin(), recording.blocks().end(),
                       [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
  const Recording::NodeEvent* node = recording.node_of(*largest);
  ASSERT_NE(node, nullptr);
  EXPECT_EQ(node->depth, 0);
  const std::vector<RootPath> nodes = nodes_with(tree(), node->depth, node->refs);
  ASSERT_EQ(nodes.size(), 1u);
  EXPECT_EQ(nodes.front().back().node, 0u);
}

// At every depth the cells on a plane cover the box once.
TEST_F(NodeExplain, CellsOnAPlaneCoverItOnce) {
  const Box& box = tree().bounds;
  for (const unsigned axis : {0u, 1u, 2u}) {
    const unsigned u = (axis + 1) % 3, v = (axis + 2) % 3;
    const auto area = [&](const Box& of) {
      return static_cast<double>(of.hi[u] - of.lo[u]) * static_cast<double>(of.hi[v] - of.lo[v]);
    };
    // Also on the root's plane, which belongs to the cells above it.
    const float root =
        tree().nodes[0].axis() == axis ? tree().nodes[0].split : (box.lo[axis] + box.hi[axis]) / 2;
    for (const float position : {root, box.lo[axis] * 0.7f + box.hi[axis] * 0.3f}) {
      for (const unsigned depth : {0u, 1u, 6u, kdtree::max_depth}) {
        std::size_t total = 0;
        const std::vector<NodeBox> cells = cells_on(tree(), axis, position, depth, 100000, total);
        EXPECT_EQ(cells.size(), total);
        double covered = 0;
        for (const NodeBox& cell : cells) {
          covered += area(cell.box);
          EXPECT_LE(cell.box.lo[axis], position);
          EXPECT_GE(cell.box.hi[axis], position);
          EXPECT_TRUE(cell.leaf || cell.depth == depth);
        }
        EXPECT_NEAR(covered, area(box), 1e-4 * area(box)) << axis << ", depth " << depth;
      }
      std::size_t total = 0;
      EXPECT_EQ(cells_on(tree(), axis, position, 1, 1, total).size(), 1u);
      EXPECT_EQ(total, tree().nodes[0].axis() == axis ? 1u : 2u);
    }
  }
}

TEST(SliceSection, CutsEachTriangleOnce) {
  const std::vector<Vec3> vertices{{0, 0, 0}, {2, 0, 0}, {0, 2, 4},
                                   {5, 5, 5}, {6, 5, 5}, {5, 6, 5}};
  const std::vector<Triangle> triangles{{0, 1, 2}, {3, 4, 5}};
  const std::vector<Vec3> cut = section_on({vertices, triangles}, 0, 1);
  ASSERT_EQ(cut.size(), 2u);
  for (const Vec3& point : cut) EXPECT_EQ(point.x, 1);
  EXPECT_EQ(std::max(cut[0].z, cut[1].z), 2);
  EXPECT_TRUE(section_on({vertices, triangles}, 2, 7).empty());
  // A corner in the plane counts as one above it.
  EXPECT_TRUE(section_on({vertices, triangles}, 0, 0).empty());
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

TEST_F(Learn, ANodeIsExplainedAndItsBlocksAreMarked) {
  run("atrium:1k --allocator cfmmalloc --size 1280x800 --mode normals --spp 1",
      "wait built; wait samples 1; key N; wait 0.4; report @root; click Left child; wait 0.3; "
      "report @child; click Parent; wait 0.3; click 300 400; wait 0.3; report @picked; down Shift; "
      "click 300 400; up Shift; wait 0.3; report @leaf; click Root; wait 0.3; click Record the "
      "heap map; wait recorded; key Space; wait 0.2; report @heap; window @window.png 1280x800 1; "
      "click map 0; wait 0.3; report @block");
  const Json root = json("root")["node"], child = json("child")["node"];
  EXPECT_EQ(root["depth"], 0);
  EXPECT_EQ(child["depth"], 1);
  EXPECT_EQ(child["refs"], root["left"]);
  EXPECT_EQ(json("picked")["node"]["depth"], 1);
  EXPECT_EQ(json("leaf")["node"]["leaf"], true);
  const Json marked = json("heap")["node"]["marked"];
  ASSERT_EQ(marked.size(), 3u);
  EXPECT_EQ(marked[1], root["left"].get<std::uint64_t>() * 32);
  EXPECT_EQ(json("heap")["tab"], "heap");
  EXPECT_PRED2(has, json("heap")["texts"]["legend"], "arrays of the node");
}

// The slice plane: what is in front of it is gone, and its cells follow its position and depth.
TEST_F(Learn, ASlicePlaneCutsTheSceneOpen) {
  run("statue:1k --size 1280x800 --mode normals --spp 1",
      "wait built; wait samples 1; key X; wait 0.3; report @middle; window @window.png 1280x800 1; "
      "drag slice position 0.5 0.53; wait 0.2; report @moved; click x##slice; wait 0.2; report "
      "@axis; drag slice depth 0.9 0.1; wait 0.2; report @coarse; key X; wait 0.2; report @off");
  const Json middle = json("middle")["slice"], moved = json("moved")["slice"],
             axis = json("axis")["slice"], coarse = json("coarse")["slice"];
  EXPECT_EQ(middle["visible"], true);
  EXPECT_EQ(middle["place"], 0.5);
  EXPECT_GT(middle["cells"], 100);
  EXPECT_GT(middle["triangles"], 10);
  EXPECT_NEAR(moved["place"].get<double>(), 0.53, 0.02);
  EXPECT_NE(moved["cells"], middle["cells"]);
  EXPECT_EQ(axis["axis"], 0);
  EXPECT_LT(coarse["cells"], axis["cells"]);
  EXPECT_EQ(json("off")["slice"]["visible"], false);
  EXPECT_PRED2(has, json("middle")["texts"]["slice"], "cells");
  // The section through triangles is white.
  // (Text of the panel is darker.)
  EXPECT_GT(count_near(picture("window.png"), {255, 255, 255}, 15), 150);
}

}  // namespace

}  // namespace heapwood::tests
