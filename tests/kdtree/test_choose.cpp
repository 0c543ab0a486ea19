// SPDX-License-Identifier: MIT
// The choice of a split, compared with brute force: bins count exactly the refs that the partition
// moves, and the choice is the cheapest candidate for any width of a warp.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <mutex>
#include <numeric>

#include "kdtree/split/choose.hpp"
#include "tests/kdtree/soup.hpp"
#include "tests/simt/lockstep.hpp"

namespace heapwood::kdtree {
namespace {

// Boxes inside [lo, hi]^3, of which many are flat, and many touch bin boundaries or the ends.
struct Scene {
  const char* name;
  Box node;
  std::vector<Box> refs;
};

float snap(float x, const BinAxis& bins, Random& random) {
  switch (random.below(4)) {
    case 0:
      return bins.plane(static_cast<int>(random.below(33)));
    case 1:
      return std::nextafter(bins.plane(static_cast<int>(random.below(33))),
                            random.below(2) != 0 ? 3e38f : -3e38f);
    default:
      return x;
  }
}

// Few distinct values and many boxes, so that many planes coincide and candidates have equal costs.
Scene crowded(std::size_t n, std::uint64_t seed) {
  Scene s{"crowded", {{0, 0, 0}, {1, 1, 1}}, {}};
  Random random(seed);
  for (std::size_t i = 0; i < n; ++i) {
    Box box;
    for (unsigned axis = 0; axis < 3; ++axis) {
      const float a = 0.25f * static_cast<float>(random.below(5)),
                  b = 0.25f * static_cast<float>(random.below(5));
      box.lo[axis] = std::min(a, b);
      box.hi[axis] = std::max(a, b);
    }
    s.refs.push_back(box);
  }
  return s;
}

Scene scene(const char* name, Vec3 lo, Vec3 extent, std::size_t n, std::uint64_t seed,
            bool aligned) {
  Scene s{name, {lo, lo + extent}, {}};
  Random random(seed);
  for (std::size_t i = 0; i < n; ++i) {
    Box box;
    for (unsigned axis = 0; axis < 3; ++axis) {
      const float low = s.node.lo[axis], high = s.node.hi[axis];
      const BinAxis bins = bin_axis(s.node, axis);
      float a = random.uniform(low, high);
      float b = random.below(3) == 0 ? a : a + (high - low) * random.uniform(0, 0.2f);
      if (aligned) {
        const bool flat = a == b;
        a = snap(a, bins, random);
        b = flat ? a : snap(b, bins, random);
      }
      a = std::clamp(a, low, high);
      b = std::clamp(b, low, high);
      box.lo[axis] = std::min(a, b);
      box.hi[axis] = std::max(a, b);
    }
    s.refs.push_back(box);
  }
  return s;
}

std::vector<Scene> scenes(std::size_t n) {
  const float ulp = std::nextafter(1.0f, 2.0f) - 1.0f;
  return {scene("random", {0, 0, 0}, {1, 2, 3}, n, 1, false),
          scene("aligned", {0, 0, 0}, {1, 1, 1}, n, 2, true),
          scene("odd", {-0.7f, 0.3f, 11.1f}, {1.3f, 0.7f, 0.1f}, n, 3, true),
          scene("few ulps", {1, 1, 1}, {8 * ulp, 40 * ulp, 100 * ulp}, n, 4, true),
          scene("far", {1e6f, -1e6f, 1e6f}, {10, 3, 0.5f}, n, 5, true),
          scene("far and odd", {123456.7f, -98765.4f, 1e7f}, {1, 0.125f, 33}, n, 6, true),
          scene("flat", {0, 0, 0.3f}, {1, 1, 0}, n, 7, true),
          scene("tiny", {0, 0, 0}, {1e-20f, 2e-20f, 1e-20f}, n, 8, true),
          scene("huge", {-1e20f, 0, 0}, {2e20f, 1e20f, 3e20f}, n, 9, true),
          crowded(n, 10)};
}

std::uint32_t left_of(const Scene& s, unsigned axis, float p, bool flats_right = false) {
  return static_cast<std::uint32_t>(std::ranges::count_if(
      s.refs, [&](const Box& b) { return goes_left(b.lo[axis], b.hi[axis], p, flats_right); }));
}
std::uint32_t right_of(const Scene& s, unsigned axis, float p, bool flats_right = false) {
  return static_cast<std::uint32_t>(std::ranges::count_if(
      s.refs, [&](const Box& b) { return goes_right(b.lo[axis], b.hi[axis], p, flats_right); }));
}

// For every boundary inside the node, the sums over bins equal the counts by comparison.
TEST(ChooseBins, CountWhatThePartitionMoves) {
  for (const Scene& s : scenes(3000)) {
    SCOPED_TRACE(s.name);
    simt::Control control;
    simt::SerialWarp warp(0, 1, &control);
    std::vector<std::uint32_t> histogram(histogram_words, 0);
    CountingAxis axes[3];
    set_counting_axes(warp, axes, s.node);
    for (const Box& box : s.refs) count_in_bins(warp, histogram.data(), axes, box);
    for (unsigned axis = 0; axis < 3; ++axis) {
      const BinAxis bins = bin_axis(s.node, axis);
      if (!bins.usable()) continue;
      std::uint32_t left = 0, ended = 0;
      for (int b = 1; b < static_cast<int>(bin_count); ++b) {
        const std::uint32_t word = histogram[axis * bin_count + static_cast<unsigned>(b) - 1];
        left += word & 0xffffu;
        ended += word >> 16;
        const float p = bins.plane(b);
        if (!(p > s.node.lo[axis] && p < s.node.hi[axis])) continue;
        ASSERT_EQ(left, left_of(s, axis, p)) << "axis " << axis << ", boundary " << b;
        ASSERT_EQ(s.refs.size() - ended, right_of(s, axis, p))
            << "axis " << axis << ", boundary " << b;
      }
    }
  }
}

// ---- choices ------------------------------------------------------------------------------------

struct NodeData {
  explicit NodeData(const Scene& s) : storage(2 * s.refs.size()) {
    float scale = 1;
    const Vec3 e = s.node.extent();
    const float most = std::max({e.x, e.y, e.z});
    scale = std::ldexp(1.0f, -std::ilogb(most));
    const auto n = static_cast<std::uint32_t>(s.refs.size());
    task = {Refs::in_block(reinterpret_cast<std::byte*>(storage.data()), n),
            n,
            0,
            s.node,
            NodePath(scale),
            root_allowance(n)};
    for (std::uint32_t i = 0; i < task.n; ++i) Refs::store(task.refs, i, i, s.refs[i]);
  }
  SplitCost cost() const { return SplitCost(SahCosts{}, task.path.scale(), task.box, task.n); }

  using Refs = RefArray<RefKind::clipped>;
  std::vector<Float4> storage;
  NodeTask task;
};

void expect_same(const Split& a, const Split& b) {
  EXPECT_EQ(a.cost, b.cost);
  EXPECT_EQ(a.axis_nl, b.axis_nl);
  EXPECT_EQ(a.plane, b.plane);
  EXPECT_EQ(a.nr(), b.nr());  // so the flat refs, if any, are on the same side
}

struct ChooseKernel {
  using Scratch = ChooseScratch;
  const NodeTask& task;
  const SplitCost& cost;
  SharedNode* shared;
  std::mutex& mutex;
  std::vector<Split>& answers;
  template <class Warp>
  void operator()(Warp& warp, Scratch& scratch) const {
    const Split split = choose<NodeData::Refs>(warp, scratch, task, nullptr, cost, shared);
    const std::lock_guard lock(mutex);
    answers.push_back(split);
  }
};
// The choice of every model of a warp: all lanes of all models must return the same split.
Split chosen(const NodeTask& task, const SplitCost& cost, SharedNode* shared = nullptr) {
  std::mutex mutex;
  std::vector<Split> answers;
  const ChooseKernel kernel{task, cost, shared, mutex, answers};
  simt::Cpu().launch(kernel, 1);
  simt::Lockstep<4>(1).launch(kernel, 1);
  simt::Lockstep<8>(1).launch(kernel, 1);
  EXPECT_EQ(answers.size(), 1u + 4u + 8u);
  for (const Split& split : answers) expect_same(split, answers.front());
  return answers.front();
}

void consider(const Scene& s, const SplitCost& cost, unsigned axis, float p, Split& best,
              bool flats_right = false) {
  cost.consider(best, axis, p, left_of(s, axis, p, flats_right), right_of(s, axis, p, flats_right),
                flats_right);
}
// Considers the bounds of the box that are `wanted`.
void consider_bounds(const Scene& s, const SplitCost& cost, unsigned axis, const Box& box,
                     Split& best, auto wanted) {
  for (const float p : {box.lo[axis], box.hi[axis]}) {
    if (!wanted(p)) continue;
    consider(s, cost, axis, p, best);
    if (box.lo[axis] == box.hi[axis]) consider(s, cost, axis, p, best, true);
  }
}

// Calls check(scene, node, cost) for each scene of each number of refs that can be split.
void for_scenes(const std::vector<std::size_t>& numbers, auto check) {
  for (const std::size_t n : numbers) {
    for (const Scene& s : scenes(n)) {
      SCOPED_TRACE(s.name + std::string(", ") + std::to_string(n));
      const NodeData node(s);
      const SplitCost cost = node.cost();
      if (cost.splittable()) check(s, node, cost);
    }
  }
}

TEST(ChooseExact, IsTheCheapestOfAllBounds) {
  std::vector<std::size_t> numbers(exact_limit);
  std::iota(numbers.begin(), numbers.end(), 1);
  for_scenes(numbers, [](const Scene& s, const NodeData& node, const SplitCost& cost) {
    Split want;
    for (unsigned axis = 0; axis < 3; ++axis) {
      for (const Box& box : s.refs)
        consider_bounds(s, cost, axis, box, want, [](float) { return true; });
    }
    expect_same(chosen(node.task, cost), want);
  });
}

// The best boundary or tight cut. Returns the best boundary in `boundary`.
Split best_of_bins(const Scene& s, const SplitCost& cost, Split& boundary) {
  Box all;
  for (const Box& box : s.refs) all.grow(box);
  for (unsigned axis = 0; axis < 3; ++axis) {
    const BinAxis bins = bin_axis(s.node, axis);
    if (!bins.usable()) continue;
    for (int b = 1; b < static_cast<int>(bin_count); ++b)
      consider(s, cost, axis, bins.plane(b), boundary);
  }
  Split best = boundary;
  for (unsigned axis = 0; axis < 3; ++axis) {
    const auto n = static_cast<std::uint32_t>(s.refs.size());
    cost.consider(best, axis, all.lo[axis], 0, n, true);
    cost.consider(best, axis, all.hi[axis], n, 0);
  }
  return best;
}

TEST(ChooseBinned, IsTheCheapestBoundaryCutOrBoundNearby) {
  for_scenes({33, 100, 1024, 1025, 3000},
             [](const Scene& s, const NodeData& node, const SplitCost& cost) {
               Split boundary;
               Split want = best_of_bins(s, cost, boundary);
               if (s.refs.size() <= shared_limit && boundary.cost != Split{}.cost) {
                 const unsigned axis = boundary.axis();
                 const BinAxis bins = bin_axis(s.node, axis);
                 const int b = bins.begin(boundary.position(), true);
                 const float above = bins.plane(b - 1), below = bins.plane(b + 1);
                 const auto between = [&](float x) { return x > above && x < below; };
                 std::vector<Box> inside;
                 std::ranges::copy_if(s.refs, std::back_inserter(inside), [&](const Box& box) {
                   return between(box.lo[axis]) || between(box.hi[axis]);
                 });
                 if (inside.size() > refine_limit) inside.clear();
                 for (const Box& box : inside) consider_bounds(s, cost, axis, box, want, between);
               }
               expect_same(chosen(node.task, cost), want);
             });
}

TEST(ChooseShared, IsTheCheapestBoundaryOrCut) {
  for_scenes({2500}, [](const Scene& s, const NodeData& data, const SplitCost& cost) {
    SharedNode node{};
    node.task = data.task;
    simt::Control control;
    simt::SerialWarp warp(0, 1, &control);
    std::uint32_t histogram[histogram_words] = {};
    CountingAxis axes[3];
    set_counting_axes(warp, axes, s.node);
    GatheredBounds<simt::SerialWarp> tight;
    for (const Box& box : s.refs) {
      count_in_bins(warp, histogram, axes, box);
      tight.add(warp, true, box);
    }
    tight.add_to(node, warp);
    for (unsigned k = 0; k < histogram_words; ++k) {
      node.histogram[k] = std::uint64_t{histogram[k] >> 16} << 32 | (histogram[k] & 0xffffu);
    }
    Split boundary;
    const Split want = best_of_bins(s, cost, boundary);
    expect_same(chosen(node.task, cost, &node), want);
  });
}

// ---- costs --------------------------------------------------------------------------------------

TEST(ChooseOrder, IsByCostAxisCountAndPlane) {
  const auto make = [](float cost, unsigned axis, std::uint32_t nl, float p) {
    return Split{simt::bits(cost), axis << 30 | nl, simt::ordered_key(p), 7};
  };
  const std::vector<Split> ascending = {
      make(1, 0, 0, -3), make(1, 0, 0, 2), make(1, 0, 5, -9), make(1, 1, 0, -9), make(1, 2, 9, -9),
      make(2, 0, 0, -9), Split{}};
  for (std::size_t i = 0; i < ascending.size(); ++i) {
    for (std::size_t j = 0; j < ascending.size(); ++j)
      EXPECT_EQ(ascending[i].before(ascending[j]), i < j);
  }
  EXPECT_EQ(make(1, 2, 123, -4.5f).axis(), 2u);
  EXPECT_EQ(make(1, 2, 123, -4.5f).nl(), 123u);
  EXPECT_EQ(make(1, 2, 123, -4.5f).position(), -4.5f);
  EXPECT_FALSE(std::signbit(make(1, 0, 0, -0.0f).position()));
}

TEST(ChooseCosts, AreThoseOfTheFormula) {
  const Box box{{0, 0, 0}, {2, 1, 1}};  // half of its area is 5; that of each half is 3
  const SplitCost cost({1, 2, 0.25f}, 1, box, 10);
  EXPECT_TRUE(cost.splittable());
  EXPECT_EQ(cost.leaf_cost(), 20);
  Split split;
  cost.consider(split, 0, 1, 4, 6);
  EXPECT_FLOAT_EQ(simt::from_bits(split.cost), 1 + 2 * (3.0f * 4 + 3.0f * 6) / 5);
  Split empty;
  cost.consider(empty, 0, 1, 0, 10);
  EXPECT_FLOAT_EQ(simt::from_bits(empty.cost), 0.75f * (1 + 2 * 3.0f * 10 / 5));
  Split none;
  for (const float p : {0.0f, 2.0f, -1.0f, 3.0f, std::nanf("")}) cost.consider(none, 0, p, 0, 10);
  EXPECT_EQ(none.cost, Split{}.cost);
  EXPECT_FALSE(SplitCost({}, 1, {{0, 0, 0}, {1, 0, 0}}, 3).splittable());
  EXPECT_FALSE(SplitCost({}, 1, {{0, 0, 0}, {0, 0, 0}}, 3).splittable());
}

}  // namespace
}  // namespace heapwood::kdtree
