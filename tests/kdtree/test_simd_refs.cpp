// SPDX-License-Identifier: MIT
// A CPU thread's routines for refs, compared with the code of warps: the same bins, the same bounds
// of clipped parts.
#include <gtest/gtest.h>

#include <algorithm>

#include "kdtree/build/partition.hpp"
#include "kdtree/split/simd.hpp"
#include "simt/control.hpp"
#include "simt/serial_warp.hpp"
#include "tests/kdtree/reference.hpp"
#include "tests/kdtree/soup.hpp"

namespace heapwood::kdtree {
namespace {

using Refs = RefArray<RefKind::clipped>;

struct Array {
  explicit Array(std::size_t refs) : storage(2 * refs), n(static_cast<std::uint32_t>(refs)) {}
  std::byte* data() { return Refs::in_block(reinterpret_cast<std::byte*>(storage.data()), n); }
  Ref operator[](std::uint32_t i) { return Refs::load(data(), i, {}, nullptr); }
  std::vector<Ref> from(std::uint32_t first) {
    std::vector<Ref> refs;
    for (std::uint32_t i = first; i < n; ++i) refs.push_back((*this)[i]);
    return refs;
  }
  std::vector<Float4> storage;
  std::uint32_t n;
};

// Expects equal sets of refs, in any order.
void expect_same(std::vector<Ref> a, std::vector<Ref> b) {
  const auto by_id = [](const Ref& x, const Ref& y) { return x.id < y.id; };
  std::ranges::sort(a, by_id);
  std::ranges::sort(b, by_id);
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].id, b[i].id);
    ASSERT_EQ(a[i].box, b[i].box);
  }
}

std::vector<Soup> soups() {
  return {random_soup(700, 1, 0.3f),
          grid_soup(700, 2, 4),
          slivers(300, 3),
          flat_soup(200, 4, 1, 0.5f),
          degenerate(200, 5),
          transformed(random_soup(300, 6, 0.4f), 1e-3f, {1e3f, -1e3f, 0}),
          transformed(random_soup(300, 7, 0.4f), 1e20f)};
}

class SimdRefs : public testing::TestWithParam<std::size_t> {
 protected:
  void SetUp() override {
    soup_ = soups()[GetParam()];
    for (std::uint32_t i = 0; i < soup_.triangles.size(); ++i) {
      const Corners t = corners(soup_.view(), i);
      corners_.push_back(
          {{t.a.x, t.a.y, t.a.z, 0}, {t.b.x, t.b.y, t.b.z, 0}, {t.c.x, t.c.y, t.c.z, 0}});
      Refs::store(refs_.data(), i, i, bounds(t));
      node_.grow(bounds(t));
    }
  }

  Soup soup_;
  std::vector<PackedCorners> corners_;
  Array refs_{soups()[GetParam()].triangles.size()};
  Box node_;
};

TEST_P(SimdRefs, AreBinnedAsByAWarp) {
  simt::Control control;
  simt::SerialWarp warp(0, 1, &control);
  const std::uint32_t first = 3, last = refs_.n - 5;
  std::vector<std::uint32_t> want(histogram_words, 0);
  CountingAxis axes[3];
  set_counting_axes(warp, axes, node_);
  Box tight;
  for (std::uint32_t i = first; i < last; ++i) {
    count_in_bins(warp, want.data(), axes, refs_[i].box);
    tight.grow(refs_[i].box);
  }
  BinCounts counts;
  EXPECT_EQ(bin_refs(refs_.data(), first, last, node_, counts), tight);
  for (unsigned axis = 0; axis < 3; ++axis) {
    if (!bin_axis(node_, axis).usable()) continue;
    for (unsigned k = axis * bin_count; k < (axis + 1) * bin_count; ++k) {
      ASSERT_EQ(counts.begins[k], want[k] & 0xffffu) << k;
      ASSERT_EQ(counts.ends[k], want[k] >> 16) << k;
    }
  }
}

TEST_P(SimdRefs, AreMovedAndClippedAsByAWarp) {
  unsigned clipped = 0;
  for (std::uint32_t candidate = 0; candidate < refs_.n; candidate += 37) {
    for (unsigned axis = 0; axis < 3; ++axis) {
      const Box chosen = refs_[candidate].box;
      const bool flats_right = candidate % 2 != 0;
      const float p = candidate % 3 == 0 ? chosen.lo[axis] : chosen.centre()[axis];
      const Cut cut{axis, p, flats_right};
      std::vector<Ref> left, right;
      for (std::uint32_t i = 0; i < refs_.n; ++i) {
        const Ref ref = refs_[i];
        const bool to_left = goes_left(ref.box.lo[axis], ref.box.hi[axis], p, flats_right);
        const bool to_right = goes_right(ref.box.lo[axis], ref.box.hi[axis], p, flats_right);
        Sides sides{ref.box, ref.box};
        if (to_left && to_right) sides = split_bounds(corners_[ref.id].unpack(), ref.box, axis, p);
        if (to_left) left.push_back({ref.id, sides.left});
        if (to_right) right.push_back({ref.id, sides.right});
        clipped += to_left && to_right ? 1 : 0;
      }
      const Moved sides = count_sides(refs_.data(), 0, refs_.n, cut, corners_.data());
      ASSERT_EQ(sides.left, left.size());
      ASSERT_EQ(sides.right, right.size());
      // The refs that another chunk has moved come first in the arrays.
      Array to_left(left.size() + 2), to_right(right.size() + 1);
      const Moved moved = move_refs(refs_.data(), 0, refs_.n, cut, corners_.data(),
                                    {to_left.data(), 2}, {to_right.data(), 1});
      ASSERT_EQ(moved.left, left.size());
      ASSERT_EQ(moved.right, right.size());
      expect_same(to_left.from(2), left);
      expect_same(to_right.from(1), right);
      // A child whose array replaces its parent's.
      for (unsigned side = 0; side < 2; ++side) {
        Array parent = refs_, child((side == 0 ? right : left).size());
        const Target in_place{parent.data(), 0}, other{child.data(), 0};
        move_refs(parent.data(), 0, parent.n, cut, corners_.data(), side == 0 ? in_place : other,
                  side == 0 ? other : in_place);
        std::vector<Ref> found = parent.from(0);
        found.resize((side == 0 ? left : right).size());
        expect_same(found, side == 0 ? left : right);
        expect_same(child.from(0), side == 0 ? right : left);
      }
    }
  }
  if (GetParam() < 2) {
    EXPECT_GT(clipped, 100u);
  }
}

// The code of warps stops where the counts of a choice and of a move differ.
TEST(Partition, ARoundThatDoesNotFitIsNotStored) {
  simt::Control control;
  simt::SerialWarp warp(0, 1, &control);
  Array parent(1), left(1), right(1);
  const Box below{{0, 0, 0}, {0, 1, 1}}, node{{0, 0, 0}, {2, 1, 1}};
  Refs::store(parent.data(), 0, 7, below);
  Refs::store(left.data(), 0, 99, below);
  const PackedCorners corners{{0, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}};
  const PartitionArrays arrays{parent.data(), 1, node, left.data(), right.data(), {1, 0}};
  const auto moves = [&](auto placement) {
    NoBins none;
    return partition_refs<Refs>(warp, arrays, {0, 1, false}, &corners, 0, 1, placement, none);
  };
  std::uint64_t cursor = SidePair{1, 0}.word();  // the left child has no place for the ref
  EXPECT_FALSE(moves(OwnStretch{{1, 0}}));
  EXPECT_FALSE(moves(SharedCursor{cursor}));
  EXPECT_EQ(left[0].id, 99u);
  EXPECT_TRUE(moves(WholeNode{}));
  EXPECT_EQ(left[0].id, 7u);
}

INSTANTIATE_TEST_SUITE_P(Soups, SimdRefs, testing::Range(std::size_t{0}, soups().size()));

}  // namespace
}  // namespace heapwood::kdtree
