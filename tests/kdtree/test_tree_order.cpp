// SPDX-License-Identifier: MIT
// Trees in depth-first order: the same tree, laid out in the order of a walk, by any number of
// warps of any width.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "kdtree/check/quality.hpp"
#include "kdtree/check/validate.hpp"
#include "kdtree/traverse/tree_order.hpp"
#include "tests/kdtree/layouts.hpp"
#include "tests/kdtree/reference.hpp"
#include "tests/kdtree/soup.hpp"
#include "tests/simt/lockstep.hpp"

namespace heapwood::kdtree {
namespace {

bool same_bits(const Tree& a, const Tree& b) {
  if (a.nodes.size() != b.nodes.size() || a.refs != b.refs) return false;
  return a.nodes.empty() ||
         std::memcmp(a.nodes.data(), b.nodes.data(), a.nodes.size() * sizeof(Node)) == 0;
}

// Memory that is not zero, like a GPU's, while the object exists.
class DirtyMemory final : public simt::MemorySource {
 public:
  DirtyMemory() { simt::set_memory_source(this); }
  ~DirtyMemory() override { simt::set_memory_source(nullptr); }
  DirtyMemory(DirtyMemory&&) = delete;
  void* allocate(const simt::DeviceId&, std::size_t bytes) override {
    const std::size_t whole = (bytes + 255) / 256 * 256;
    return std::memset(std::aligned_alloc(256, whole), 0xcd, whole);
  }
  void deallocate(const simt::DeviceId&, void* block) noexcept override { std::free(block); }
  std::size_t available(const simt::DeviceId& device) override {
    return simt::platform_available(device);
  }
};

template <class Device>
Tree ordered_by(const Device& device, const Tree& tree, unsigned warps) {
  const DirtyMemory dirty;
  TreeArrays arrays{{device.id(), tree.nodes}, {device.id(), tree.refs}};
  depth_first(device, arrays.view(), arrays, warps);
  return {tree.bounds, arrays.nodes.download(), arrays.refs.download(), tree.incomplete};
}

// The order of one thread's walk, after a check that warps of all widths give the same.
Tree ordered(const Tree& tree) {
  const Tree want = depth_first(tree);
  for (const unsigned warps : {0u, 1u, 3u, 8u}) {
    EXPECT_TRUE(same_bits(ordered_by(simt::Cpu(), tree, warps), want)) << warps << " threads";
  }
  EXPECT_TRUE(same_bits(ordered_by(simt::Lockstep<4>(), tree, 3), want)) << "warps of 4";
  EXPECT_TRUE(same_bits(ordered_by(simt::Lockstep<8>(), tree, 1), want)) << "a warp of 8";
  return want;
}

// A chain of `depth` inner nodes, each with a leaf as its other child. The chain goes on in the
// lower children if `to_below`.
Tree chain(unsigned depth, bool to_below) {
  Tree tree;
  tree.nodes.assign(2, Node::make_leaf(0, 0));
  for (unsigned level = 0; level < depth; ++level) {
    const std::size_t inner = level == 0 ? 0 : tree.nodes.size() - (to_below ? 2 : 1);
    tree.nodes[inner] = Node::make_inner(static_cast<float>(level), level % 3,
                                         static_cast<std::uint32_t>(tree.nodes.size() / 2));
    tree.refs.insert(tree.refs.begin(), level);
    for (unsigned side = 0; side < 2; ++side)
      tree.nodes.push_back(Node::make_leaf(depth - 1 - level, 1));
  }
  tree.refs.push_back(depth);
  tree.nodes.back().first = depth;
  return tree;
}

TEST(TreeOrder, TheSameTreeAsItIsWalked) {
  const Soup soup = random_soup(2000, 21);
  const Tree tree = build_reference(soup.view(), {});
  Tree mixed = shuffled(tree);
  mixed.incomplete = true;
  const Tree out = ordered(mixed);
  EXPECT_EQ(measure(out, {}).hash, measure(tree, {}).hash);
  EXPECT_EQ(validate(out, soup.view()), std::vector<std::string>{});
  EXPECT_TRUE(out.incomplete);
  EXPECT_EQ(out.bounds.lo, tree.bounds.lo);
  EXPECT_EQ(out.bounds.hi, tree.bounds.hi);
  // In device memory, equal trees have equal hashes in any layout.
  const auto hash = [](const Tree& t) {
    const TreeArrays arrays{{simt::DeviceId{}, t.nodes}, {simt::DeviceId{}, t.refs}};
    return structural_hash(simt::Cpu(), arrays.view());
  };
  EXPECT_EQ(hash(mixed), hash(tree));
  Tree other = tree;
  other.nodes[0].split += 0.25f;
  EXPECT_NE(hash(other), hash(tree));
  other = tree;
  ++other.refs.front();
  EXPECT_NE(hash(other), hash(tree));
}

// Leaves of an incomplete tree, with more refs than a lane copies alone.
TEST(TreeOrder, LargeLeavesAreCopiedWhole) {
  Tree tree;
  tree.nodes = {Node::make_inner(0.5f, 1, 2),  Node::make_leaf(0, 0),
                Node::make_leaf(1100, 33),     Node::make_leaf(1000, 17),
                Node::make_inner(0.25f, 0, 1), Node::make_leaf(0, 1000)};
  for (std::uint32_t i = 0; i < 1200; ++i) tree.refs.push_back(i);
  const Tree out = ordered(tree);
  EXPECT_EQ(out.refs.size(), 1050u);
  EXPECT_EQ(out.refs.front(), 1100u);
}

// Pairs that no node refers to may contain anything, including links into the tree and cycles.
TEST(TreeOrder, UnusedPairsAreNotFollowed) {
  const Tree tree = build_reference(random_soup(200, 24).view(), {});
  Tree more = tree;
  const auto pairs = static_cast<std::uint32_t>(tree.nodes.size() / 2);
  for (std::uint32_t i = 0; i < 64; ++i) {
    const std::uint32_t to = i % 4 == 0   ? 1
                             : i % 4 == 1 ? pairs + i / 2
                             : i % 4 == 2 ? 0x3fffffffu
                                          : i;
    more.nodes.push_back(Node::make_inner(0, i % 3, to));
  }
  more.nodes.push_back(Node::make_leaf(~0u, 0x3fffffffu));
  more.nodes.push_back(Node::make_inner(0, 0, 0));
  EXPECT_TRUE(same_bits(ordered(more), depth_first(tree)));
}

TEST(TreeOrder, ReadsNothingAndSingleLeaves) {
  EXPECT_TRUE(ordered({}).nodes.empty());
  Tree leaf;
  leaf.nodes = {Node::make_leaf(1, 2), Node::make_leaf(0, 0)};
  leaf.refs = {9, 5, 3};
  const Tree out = ordered(leaf);
  EXPECT_EQ(out.refs, (std::vector<std::uint32_t>{5, 3}));
  leaf.nodes.resize(1);  // the root's neighbour is not read
  EXPECT_EQ(ordered(leaf).nodes.size(), 1u);
  leaf = {};
  leaf.nodes = {Node::make_leaf(0, 0), Node::make_leaf(0, 0)};
  EXPECT_TRUE(ordered(leaf).refs.empty());
}

TEST(TreeOrder, TreesMayBeAsDeepAsAllowed) {
  for (const bool to_below : {false, true}) {
    for (const unsigned depth : {1u, 2u, max_depth}) ordered(chain(depth, to_below));
    EXPECT_THROW(ordered_by(simt::Cpu(), chain(max_depth + 1, to_below), 3), Error);
  }
}

TEST(TreeOrder, UnsoundTreesAreRefused) {
  const auto refused = [](const Tree& tree) {
    for (const unsigned warps : {1u, 4u})
      EXPECT_THROW(ordered_by(simt::Cpu(), tree, warps), Error) << warps;
    EXPECT_THROW(ordered_by(simt::Lockstep<4>(), tree, 2), Error);
  };
  const Tree sound = build_reference(random_soup(300, 25).view(), {});
  const auto pairs = static_cast<std::uint32_t>(sound.nodes.size() / 2);
  const auto last_inner = static_cast<std::size_t>(
      std::find_if(sound.nodes.rbegin(), sound.nodes.rend(), [](Node node) { return !node.leaf(); })
          .base() -
      sound.nodes.begin() - 1);
  for (const std::uint32_t to :
       {pairs, 0x3fffffffu, 0u, 1u, static_cast<std::uint32_t>(last_inner / 2)}) {
    Tree tree = sound;
    tree.nodes[last_inner] = Node::make_inner(0, 0, to);  // out of the array, or a cycle
    refused(tree);
  }
  Tree tree = sound;
  tree.nodes[0] = Node::make_inner(0, 0, pairs);
  refused(tree);
  tree.nodes[0] = Node::make_leaf(1, static_cast<std::uint32_t>(sound.refs.size()));
  refused(tree);
  tree = sound;
  *std::find_if(tree.nodes.begin() + 2, tree.nodes.end(), [](Node node) { return node.leaf(); }) =
      Node::make_leaf(~0u, 1);
  refused(tree);
}

}  // namespace
}  // namespace heapwood::kdtree
