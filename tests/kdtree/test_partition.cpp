// SPDX-License-Identifier: MIT
// The loop that moves refs to the children's arrays: with every placement each ref arrives once on
// each of its sides, and a round that does not fit is not stored.
#include "kdtree/build/partition.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "simt/control.hpp"
#include "simt/warp.hpp"
#include "tests/kdtree/reference.hpp"
#include "tests/kdtree/soup.hpp"

namespace heapwood::kdtree {
namespace {

using Refs = RefArray<RefKind::clipped>;
constexpr std::uint32_t untouched = ~0u;

struct Partition : testing::Test {
  Partition() : soup(random_soup(300, 21, 0.3f)), refs(2 * soup.triangles.size()) {
    n = static_cast<std::uint32_t>(soup.triangles.size());
    for (std::uint32_t i = 0; i < n; ++i) {
      const Corners t = kdtree::corners(soup.view(), i);
      corners.push_back(
          {{t.a.x, t.a.y, t.a.z, 0}, {t.b.x, t.b.y, t.b.z, 0}, {t.c.x, t.c.y, t.c.z, 0}});
      Refs::store(array(refs), i, i, bounds(t));
      box.grow(bounds(t));
    }
    cut = {1, box.centre().y, false};
    for (std::uint32_t i = 0; i < n; ++i) {
      const Box ref = Refs::load(array(refs), i, {}, nullptr).box;
      if (goes_left(ref.lo.y, ref.hi.y, cut.plane)) want[0].push_back(i);
      if (goes_right(ref.lo.y, ref.hi.y, cut.plane)) want[1].push_back(i);
    }
    counts = {static_cast<std::uint32_t>(want[0].size()),
              static_cast<std::uint32_t>(want[1].size())};
    for (unsigned side = 0; side < 2; ++side)
      children[side].resize(2 * want[side].size(), {simt::from_bits(untouched), 0, 0, 0});
  }

  // The array that fills a block.
  static std::byte* array(std::vector<Float4>& block) {
    return Refs::in_block(reinterpret_cast<std::byte*>(block.data()),
                          static_cast<std::uint32_t>(block.size() / 2));
  }
  template <class Placement>
  bool move(Placement& placement, std::uint32_t first, std::uint32_t last) {
    NoBins none;
    const PartitionArrays arrays{array(refs),        n,     box, array(children[0]),
                                 array(children[1]), counts};
    return partition_refs<Refs>(warp, arrays, cut, corners.data(), first, last, placement, none);
  }
  std::vector<std::uint32_t> ids(unsigned side) {
    std::vector<std::uint32_t> found;
    for (std::size_t i = 0; i < want[side].size(); ++i)
      found.push_back(Refs::load_id(array(children[side]), static_cast<std::uint32_t>(i)));
    std::sort(found.begin(), found.end());
    return found;
  }
  void expect_moved() {
    EXPECT_EQ(ids(0), want[0]);
    EXPECT_EQ(ids(1), want[1]);
    for (std::uint32_t i = 0; i < counts.left; ++i)
      EXPECT_LE(Refs::load(array(children[0]), i, {}, nullptr).box.hi.y, cut.plane);
    for (std::uint32_t i = 0; i < counts.right; ++i)
      EXPECT_GE(Refs::load(array(children[1]), i, {}, nullptr).box.lo.y, cut.plane);
  }

  simt::Control control;
  simt::SerialWarp warp{0, 1, &control};
  Soup soup;
  std::uint32_t n = 0;
  std::vector<Float4> refs, children[2];
  std::vector<PackedCorners> corners;
  std::vector<std::uint32_t> want[2];
  Box box;
  Cut cut{};
  SidePair counts;
};

TEST_F(Partition, MovesAWholeNode) {
  WholeNode placement{};
  EXPECT_TRUE(move(placement, 0, n));
  EXPECT_EQ(placement.next, counts);
  EXPECT_GT(counts.left + counts.right, n) << "no ref straddles the plane";
  expect_moved();
}

TEST_F(Partition, MovesChunksToTheirStretches) {
  SidePair next;
  for (std::uint32_t first = 0; first < n; first += 70) {
    OwnStretch placement{next};
    EXPECT_TRUE(move(placement, first, std::min(first + 70, n)));
    next = placement.next;
  }
  EXPECT_EQ(next, counts);
  expect_moved();
}

TEST_F(Partition, MovesChunksByASharedCursor) {
  std::uint64_t cursor = 0;
  for (std::uint32_t first = 0; first < n; first += 70) {
    SharedCursor placement{cursor};
    EXPECT_TRUE(move(placement, first, std::min(first + 70, n)));
  }
  EXPECT_EQ(SidePair::of(cursor), counts);
  expect_moved();
}

// A child in the place of its parent, on either side.
TEST_F(Partition, MovesAWholeNodeInPlace) {
  for (unsigned side = 0; side < 2; ++side) {
    std::vector<Float4> parent = refs, child = children[1 - side];
    const PartitionArrays arrays{array(parent),
                                 n,
                                 box,
                                 side == 0 ? array(parent) : array(child),
                                 side == 0 ? array(child) : array(parent),
                                 counts};
    WholeNode placement{};
    NoBins none;
    EXPECT_TRUE(partition_refs<Refs>(warp, arrays, cut, corners.data(), 0, n, placement, none));
    EXPECT_EQ(placement.next, counts);
    std::vector<std::uint32_t> found;
    for (std::uint32_t i = 0; i < want[side].size(); ++i) {
      found.push_back(Refs::load_id(array(parent), i));
      const Box part = Refs::load(array(parent), i, {}, nullptr).box;
      EXPECT_TRUE(side == 0 ? part.hi.y <= cut.plane : part.lo.y >= cut.plane);
    }
    EXPECT_EQ(found, want[side]);
  }
}

TEST_F(Partition, StopsAtARoundThatDoesNotFit) {
  OwnStretch placement{{1, 0}};  // the last ref on the left has no place
  EXPECT_FALSE(move(placement, 0, n));
  EXPECT_EQ(Refs::load_id(array(children[0]), 0), untouched);
  std::uint64_t cursor = SidePair{0, 1}.word();
  SharedCursor shared{cursor};
  EXPECT_FALSE(move(shared, 0, n));
}

}  // namespace
}  // namespace heapwood::kdtree
