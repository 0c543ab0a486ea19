// SPDX-License-Identifier: MIT
// Trees are bounded on every mesh: refs per triangle and moved refs, on families of meshes made to
// break one of these bounds. Also, large nodes without a good first split are split.
//
// HEAPWOOD_FAMILY_TRIANGLES sets the number of triangles of each family (default: 250 to 5,000).
#include <cstdlib>

#include "kdtree/levels/builder.hpp"
#include "kdtree/split/choose.hpp"
#include "tests/kdtree/build_support.hpp"
#include "tests/kdtree/families.hpp"
#include "tests/kdtree/plain_host.hpp"

namespace heapwood::kdtree {
namespace {

using namespace test;

std::vector<std::uint32_t> sizes() {
  if (const char* given = std::getenv("HEAPWOOD_FAMILY_TRIANGLES")) {
    return {static_cast<std::uint32_t>(std::strtoul(given, nullptr, 10))};
  }
  return sanitized ? std::vector<std::uint32_t>{1000}
                   : std::vector<std::uint32_t>{250, 1000, 2000, 5000};
}

class Families : public ::testing::TestWithParam<Family> {};

// The work of a build is moving refs: each array that it requests is filled once. 300 refs per
// triangle are about six times what the build of a statue moves.
TEST_P(Families, RefsAndWorkAreBounded) {
  for (const std::uint32_t n : sizes()) {
    SCOPED_TRACE(n);
    const Soup soup = GetParam().make(n);
    const double triangles = static_cast<double>(soup.triangles.size());
    const Expected want = expected(soup.view(), RefKind::clipped);
    EXPECT_LE(static_cast<double>(want.built.stats.refs), 16 * triangles);
    EXPECT_LE(
        static_cast<double>(want.total_bytes) / static_cast<double>(ref_bytes(RefKind::clipped)),
        300 * triangles);
    RecordProperty("refs_per_triangle_" + std::to_string(n),
                   std::to_string(want.built.stats.refs / triangles));
    if (n > 5000) continue;
    expect_sound(want.built, soup.view());
    // The device under test builds the same tree with many warps.
    const Subject subject = subjects().front();
    if (!subject.unusable.empty()) continue;
    const DeviceMesh mesh(subject.device, soup.view());
    Workspace workspace(mesh, RefKind::clipped, ample_pool(subject, want));
    EXPECT_EQ(build(subject, workspace).stats.hash, want.built.stats.hash);
    // So does the per-level builder.
    PlainHost host(subject.device);
    LevelBuilder levels(mesh, RefKind::clipped, host);
    levels.build();
    EXPECT_EQ(measure(levels.download(), {}).hash, want.built.stats.hash);
  }
}

INSTANTIATE_TEST_SUITE_P(Nasty, Families, ::testing::ValuesIn(nasty_families),
                         [](const auto& info) { return std::string(info.param.name); });

// Kind `ids` clips the whole triangle to each node. Rounding must not lose a triangle whose corners
// differ by twelve decades.
TEST(Clipping, IdsKeepTrianglesOfAllScales) {
  for (const std::uint32_t n : {50u, 200u, sanitized ? 300u : 1000u}) {
    const Soup soup = families::all_scales(n);
    expect_sound(expected(soup.view(), RefKind::ids).built, soup.view(), tolerant(RefKind::ids));
  }
}

TEST(NodePath, CountsLevelsAndPoorSplits) {
  NodePath path(0.25f);
  EXPECT_EQ(path.scale(), 0.25f);
  EXPECT_EQ(path.depth(), 0u);
  for (unsigned depth = 1; depth <= max_poor_splits; ++depth) {
    path = path.with_poor_splits(path.poor_splits() + 1).next_level();
    EXPECT_EQ(path.depth(), depth);
    EXPECT_EQ(path.poor_splits(), depth);
    EXPECT_TRUE(path.may_choose());
  }
  EXPECT_EQ(path.with_poor_splits(0).poor_splits(), 0u);
  EXPECT_EQ(path.with_poor_splits(0).depth(), max_poor_splits);
  EXPECT_EQ(path.with_poor_splits(0).scale(), 0.25f);
}

TEST(NodePath, ChoosesNoSplitOnTheLastLevelOrWhereThereIsOne) {
  NodePath path(1.0f);
  const NodePath chosen = path.with_middle_split();
  EXPECT_TRUE(chosen.has_middle_split());
  EXPECT_FALSE(chosen.may_choose());
  EXPECT_EQ(chosen.depth(), 0u);
  EXPECT_FALSE(chosen.without_middle_split().has_middle_split());
  for (unsigned depth = 0; depth < max_depth; ++depth) {
    EXPECT_TRUE(path.may_choose());
    path = path.next_level();
  }
  EXPECT_FALSE(path.may_choose());
  EXPECT_FALSE(path.has_middle_split());
}

// The refs allowed to the two children together never exceed those of their parent, and are hardly
// fewer.
TEST(Allowance, IsDividedAmongTheChildren) {
  Random random(7);
  for (int i = 0; i < 100000; ++i) {
    const std::uint32_t n = 1 + random.below(1u << random.below(28)), added = random.below(n + 1);
    const float allowance = random.uniform(1, 16);
    const double limit = static_cast<double>(allowance) * n,
                 children = static_cast<double>(allowance_below(allowance, n, added)) *
                            (double(n) + added);
    ASSERT_LE(children, limit * (1 + 1e-6));  // rounding of floats
    ASSERT_GE(children, limit * (1 - 3e-4));
  }
  EXPECT_EQ(allowance_below(7, 100, 0), 7.0f);
}

}  // namespace
}  // namespace heapwood::kdtree
