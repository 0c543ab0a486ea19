// SPDX-License-Identifier: MIT
// The Learn tab: nodes explained, the lesson, the slice plane, and the way from a block of the heap
// map to its node.
#include <algorithm>
#include <cmath>

#include "bench/prepared_scene.hpp"
#include "kdtree/check/quality.hpp"
#include "tests/viewer/program.hpp"
#include "viewer/node_view.hpp"
#include "viewer/recording.hpp"
#include "viewer/tree_view.hpp"

namespace heapwood::viewer {

namespace {

class NodeExplain : public testing::Test {
 protected:
  void SetUp() override {
    prepared_.build_growing(entry_);
    scene_ = make_built_scene("statue:1k", prepared_.name(), prepared_.mesh(),
                              prepared_.workspace().download(), cpu_, entry_.traits->id);
  }
  const kdtree::Tree& tree() const { return scene_->tree; }

  const registry::RegisteredAllocator& entry_ = *registry::find("cfmmalloc");
  simt::DeviceInfo cpu_ = simt::find_device("cpu", 2);
  bench::PreparedScene prepared_{"statue:1k", cpu_, {}, {}};
  std::shared_ptr<const BuiltScene> scene_;
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
  const Recording recording = make_recording("statue:1k", entry_, "cpu", prepared_.pool_bytes(),
                                             prepared_.build_recorded(entry_, 1u << 20), bytes);
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

using Json = nlohmann::json;

class Learn : public Program {};

TEST_F(Learn, SixStepsThroughTheBuild) {
  std::string steps = "wait built\n";
  for (int i = 1; i <= 6; ++i) {
    steps += "key PageDown\nwait 0.4\nreport " + path("step" + std::to_string(i)) + "\n";
    if (i == 3) steps += "window " + path("window.png") + " 1280x800 1\n";
  }
  steps += "key PageUp\nwait 0.2\nreport " + path("back") +
           "\nkey PageDown\nkey PageDown\nwait 0.2\nreport " + path("end") + "\n";
  const Outcome outcome =
      view({"atrium:1k", "--size", "1280x800", "--mode", "normals", "--spp", "1"}, steps);
  ASSERT_EQ(outcome.exit, 0) << outcome.err;
  std::vector<std::string> captions;
  for (int i = 1; i <= 6; ++i) {
    const Json report = json("step" + std::to_string(i));
    EXPECT_EQ(report["lesson"], i);
    EXPECT_EQ(report["texts"]["lesson"].get<std::string>().substr(0, 2), std::to_string(i) + ".");
    captions.push_back(report["texts"]["caption"]);
    EXPECT_GT(captions.back().size(), 80u) << captions.back();
  }
  EXPECT_EQ(json("step2")["node"]["depth"], 0);
  EXPECT_NE(captions[2].find("go left"), std::string::npos) << captions[2];
  EXPECT_TRUE(json("step4")["tree"]["visible"].get<bool>());
  EXPECT_TRUE(json("step5")["node"]["leaf"].get<bool>());
  EXPECT_EQ(json("back")["lesson"], 5);
  EXPECT_TRUE(json("end")["lesson"].is_null());
  // Triangles of both sides are drawn in their colours.
  const render::Image window = render::read_png(path("window.png"));
  std::size_t blue = 0, orange = 0;
  for (unsigned y = 60; y < 600; ++y) {
    for (unsigned x = 0; x < 860; ++x) {
      const render::Rgb8 c = window.at(x, y);
      blue += c.b > c.r + 70 && c.b > c.g + 40;
      orange += c.r > c.b + 90 && c.g > c.b + 20 && c.r > c.g + 30;
    }
  }
  EXPECT_GT(blue, 5000u);
  EXPECT_GT(orange, 5000u);
}

TEST_F(Learn, ANodeIsExplainedAndItsBlocksAreMarked) {
  const Outcome outcome =
      view({"atrium:1k", "--allocator", "cfmmalloc", "--size", "1280x800", "--mode", "normals",
            "--spp", "1"},
           "wait built\nwait samples 1\nkey N\nwait 0.4\nreport " + path("root") +
               "\nclick Left child\nwait 0.3\nreport " + path("child") +
               "\nclick Parent\nwait 0.3\nclick 300 400\nwait 0.3\nreport " + path("picked") +
               "\ndown Shift\nclick 300 400\nup Shift\nwait 0.3\nreport " + path("leaf") +
               "\nclick Root\nwait 0.3\nclick Record the heap map\nwait recorded\nkey Space\n"
               "wait 0.2\nreport " +
               path("heap") + "\nwindow " + path("window.png") +
               " 1280x800 1\nclick map 0\nwait 0.3\nreport " + path("block") + "\n");
  ASSERT_EQ(outcome.exit, 0) << outcome.err;
  const Json root = json("root")["node"], child = json("child")["node"];
  EXPECT_EQ(root["depth"], 0);
  EXPECT_EQ(child["depth"], 1);
  EXPECT_EQ(child["refs"], root["left"]);
  EXPECT_EQ(json("picked")["node"]["depth"], 1);
  EXPECT_TRUE(json("leaf")["node"]["leaf"].get<bool>());
  const Json marked = json("heap")["node"]["marked"];
  ASSERT_EQ(marked.size(), 3u);
  EXPECT_EQ(marked[1], root["left"].get<std::uint64_t>() * 32);
  EXPECT_EQ(json("heap")["tab"], "heap");
  EXPECT_NE(json("heap")["texts"]["legend"].get<std::string>().find("arrays of the node"),
            std::string::npos);
}

// The slice plane: what is in front of it is gone, and its cells follow its position and depth.
TEST_F(Learn, ASlicePlaneCutsTheSceneOpen) {
  const Outcome outcome =
      view({"statue:1k", "--size", "1280x800", "--mode", "normals", "--spp", "1"},
           "wait built\nwait samples 1\nkey X\nwait 0.3\nreport " + path("middle") + "\nwindow " +
               path("window.png") + " 1280x800 1\ndrag slice position 0.5 0.53\nwait 0.2\nreport " +
               path("moved") + "\nclick x##slice\nwait 0.2\nreport " + path("axis") +
               "\ndrag slice depth 0.9 0.1\nwait 0.2\nreport " + path("coarse") +
               "\nkey X\nwait 0.2\nreport " + path("off") + "\n");
  ASSERT_EQ(outcome.exit, 0) << outcome.err;
  const Json middle = json("middle")["slice"], moved = json("moved")["slice"],
             axis = json("axis")["slice"], coarse = json("coarse")["slice"];
  EXPECT_TRUE(middle["visible"].get<bool>());
  EXPECT_EQ(middle["place"], 0.5);
  EXPECT_GT(middle["cells"], 100);
  EXPECT_GT(middle["triangles"], 10);
  EXPECT_NEAR(moved["place"].get<double>(), 0.53, 0.02);
  EXPECT_NE(moved["cells"], middle["cells"]);
  EXPECT_EQ(axis["axis"], 0);
  EXPECT_LT(coarse["cells"], axis["cells"]);
  EXPECT_FALSE(json("off")["slice"]["visible"].get<bool>());
  EXPECT_NE(json("middle")["texts"]["slice"].get<std::string>().find("cells"), std::string::npos);
  // The section through triangles is white.
  const render::Image window = render::read_png(path("window.png"));
  std::size_t white = 0;
  for (unsigned y = 60; y < 790; ++y) {
    for (unsigned x = 0; x < 870; ++x) {
      const render::Rgb8 c = window.at(x, y);
      white += c.r > 240 && c.g > 240 && c.b > 240;
    }
  }
  EXPECT_GT(white, 150u);
}

}  // namespace

}  // namespace heapwood::tests
