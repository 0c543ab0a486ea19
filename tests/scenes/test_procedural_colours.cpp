// SPDX-License-Identifier: MIT
#include <algorithm>

#include "scenes/scene.hpp"
#include "tests/scenes/support.hpp"

namespace heapwood::scenes {
namespace {

// The procedural scenes' geometry does not depend on their colours.
TEST(ProceduralColours, LeaveTheGeometryAsItIs) {
  for (const char* name : {"atrium:70k", "statue:5k", "stadium:60k", "pipes:40k"}) {
    const Mesh coloured = load(name, Content::materials), plain = load(name);
    testing::expect_same(coloured, plain);
    EXPECT_TRUE(plain.appearance.empty());
    EXPECT_GE(coloured.appearance.materials.size(), 2u) << name;
    EXPECT_EQ(coloured.appearance.triangle_materials.size(), coloured.triangles.size());
    for (std::uint32_t m = 0; m < coloured.appearance.materials.size(); ++m) {
      EXPECT_NE(std::count(coloured.appearance.triangle_materials.begin(),
                           coloured.appearance.triangle_materials.end(), m),
                0)
          << name << " " << coloured.appearance.materials[m].name;
    }
  }
}

}  // namespace
}  // namespace heapwood::scenes
