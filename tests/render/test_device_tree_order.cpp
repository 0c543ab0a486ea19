// SPDX-License-Identifier: MIT
// The kernels that reorder a tree depth-first, on the device that the ray tests use: their result
// equals that of a single thread bit for bit, with more warps than a multiprocessor holds.
#include <gtest/gtest.h>

#include <cstring>

#include "render/backend.hpp"
#include "render/scene.hpp"
#include "tests/kdtree/layouts.hpp"
#include "tests/kdtree/reference.hpp"
#include "tests/render/trees.hpp"

namespace heapwood::render {
namespace {

using kdtree::Node;

void expect_ordered(const Tree& tree) {
  const simt::DeviceId device = test_device();
  const Tree want = kdtree::depth_first(tree);
  // Several runs, since the order in which warps execute varies.
  for (int run = 0; run < 3; ++run) {
    kdtree::TreeArrays arrays{{device, tree.nodes}, {device, tree.refs}};
    EXPECT_GE(backend(device).order(device, arrays.view(), arrays, {}), 0);
    const std::vector<Node> nodes = arrays.nodes.download();
    ASSERT_EQ(nodes.size(), want.nodes.size());
    EXPECT_EQ(std::memcmp(nodes.data(), want.nodes.data(), nodes.size() * sizeof(Node)), 0);
    EXPECT_EQ(arrays.refs.download(), want.refs);
  }
}

// A random tree of 2^bits pairs in random places, with some deep branches and some large leaves.
Tree grown(unsigned bits, std::uint64_t seed) {
  Random random(seed);
  const std::uint32_t pairs = 1u << bits;
  Tree tree;
  tree.nodes.assign(2 * std::size_t{pairs},
                    Node::make_inner(0, 0, pairs / 2));  // placed where unused nodes are
  tree.nodes[1] = Node::make_leaf(0, 0);
  struct Open {
    std::uint32_t node;
    unsigned depth;
  };
  std::vector<Open> open{{0, 0}};
  for (std::uint32_t used = 1; !open.empty();) {
    // Takes the newest or a random open node: gives deep branches and wide levels.
    const std::size_t which = random.below(4) == 0
                                  ? open.size() - 1
                                  : random.below(static_cast<std::uint32_t>(open.size()));
    const Open node = open[which];
    open[which] = open.back();
    open.pop_back();
    if (node.depth < kdtree::max_depth && used < pairs && (random.below(8) != 0 || open.empty())) {
      const std::uint32_t pair =
          (used++ * 2654435761u) & (pairs - 1);  // the factor is odd: all are different, none is 0
      tree.nodes[node.node] = Node::make_inner(random.uniform(), node.depth % 3, pair);
      open.push_back({2 * pair, node.depth + 1});
      open.push_back({2 * pair + 1, node.depth + 1});
    } else {
      const std::uint32_t count = random.below(1000) == 0 ? random.below(3000) : random.below(5);
      tree.nodes[node.node] = Node::make_leaf(static_cast<std::uint32_t>(tree.refs.size()), count);
      for (std::uint32_t i = 0; i < count; ++i)
        tree.refs.push_back(static_cast<std::uint32_t>(random.next()));
      tree.refs.resize(tree.refs.size() + random.below(3), 77);
    }
  }
  return tree;
}

TEST(DeviceTreeOrder, OrdersTreesOfAnyShape) {
  for (const unsigned bits : {1u, 2u, 5u, 9u, 13u, kdtree::sanitized ? 14u : 19u})
    expect_ordered(grown(bits, bits));
}

TEST(DeviceTreeOrder, CirclesAreRefused) {
  const simt::DeviceId device = test_device();
  Tree tree = grown(9, 42);
  std::uint32_t inner = 0;  // the last inner node on the path of left children
  while (!tree.nodes[tree.nodes[inner].child(0)].leaf()) inner = tree.nodes[inner].child(0);
  tree.nodes[inner] = Node::make_inner(0, 0, tree.nodes[0].link >> 2);
  kdtree::TreeArrays arrays{{device, tree.nodes}, {device, tree.refs}};
  EXPECT_THROW(backend(device).order(device, arrays.view(), arrays, {}), Error);
  expect_ordered(grown(9, 43));  // the device still works
}

TEST(DeviceTreeOrder, IsWhatAScenesRaysAreTracedIn) {
  if (test_device().kind == simt::DeviceKind::cpu)
    GTEST_SKIP() << "CPU threads trace trees as they come";
  const Soup soup = kdtree::random_soup(3000, 44);
  const Tree tree = kdtree::shuffled(kdtree::build_reference(soup.view(), {})),
             want = kdtree::depth_first(tree);
  const Scene scene(test_device(), tree, soup.view());
  std::vector<Node> nodes(want.nodes.size());
  simt::device_download(test_device(), nodes.data(), scene.data().nodes,
                        nodes.size() * sizeof(Node));
  EXPECT_EQ(std::memcmp(nodes.data(), want.nodes.data(), nodes.size() * sizeof(Node)), 0);
  EXPECT_EQ(scene.data().ref_count, want.refs.size());
}

}  // namespace
}  // namespace heapwood::render
