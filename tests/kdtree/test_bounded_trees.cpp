// SPDX-License-Identifier: MIT
// Trees are bounded on every mesh: refs per triangle, moved refs and the memory in use at once, on
// families of meshes made to break one of these bounds. Also, large nodes without a good first
// split are split.
#include "kdtree/split/choose.hpp"
#include "tests/kdtree/build_support.hpp"
#include "tests/kdtree/families.hpp"

namespace heapwood::kdtree {
namespace {

using namespace test;

// The numbers of triangles of each family.
std::vector<std::uint32_t> sizes() {
#if defined(HEAPWOOD_LONG_TESTS)
  if (!sanitized) return {250, 1000, 2000, 5000};
#endif
  return {1000};
}

class BoundedTrees : public ::testing::TestWithParam<Family> {};

// The work of a build is moving refs: each array that it requests is filled once. 300 refs per
// triangle are about six times what the build of a statue moves. In use at once are the arrays of
// nodes that are not split yet, and the children of those that are being split: twice the refs that
// a tree may have.
TEST_P(BoundedTrees, RefsAndWorkAreBounded) {
  for (const std::uint32_t n : sizes()) {
    SCOPED_TRACE(n);
    const Soup soup = GetParam().make(n);
    const double triangles = static_cast<double>(soup.triangles.size());
    const Expected want = expected(soup.view(), RefKind::clipped);
    const std::size_t bytes = ref_bytes(RefKind::clipped);
    EXPECT_LE(static_cast<double>(want.built.stats.refs), 16 * triangles);
    EXPECT_LE(static_cast<double>(want.total_bytes / bytes), 300 * triangles);
    EXPECT_LE(static_cast<double>(want.live_bytes / bytes), 32 * triangles);
    RecordProperty("refs_per_triangle_" + std::to_string(n),
                   std::to_string(want.built.stats.refs / triangles));
    expect_sound(want.built, soup.view());
    // The device under test builds the same tree with many warps.
    const Subject subject = subjects().front();
    if (!subject.unusable.empty()) continue;
    Bench(subject, soup, RefKind::clipped, want).build();
  }
}

INSTANTIATE_TEST_SUITE_P(Families, BoundedTrees, ::testing::ValuesIn(nasty_families),
                         [](const auto& info) { return std::string(info.param.name); });

// Kind `ids` clips the whole triangle to each node. Rounding must not lose a triangle whose corners
// differ by twelve decades.
TEST(BoundedTreesClipping, IdsKeepTrianglesOfAllScales) {
  for (const std::uint32_t n : {50u, 200u, sanitized ? 300u : 1000u}) {
    const Soup soup = all_scales(n);
    expect_sound(expected(soup.view(), RefKind::ids).built, soup.view(), tolerant(RefKind::ids));
  }
}

}  // namespace
}  // namespace heapwood::kdtree
