// SPDX-License-Identifier: MIT
#include "kdtree/traverse/closest_packet.hpp"
#include "tests/kdtree/warps.hpp"

namespace heapwood::kdtree::test {

struct FindClosest {
  struct Scratch {};
  const PointTree& tree;
  Vec3d points[8];
  void operator()(simt::LockstepWarp<8>& warp, Scratch&) const {
    const Vec3d at = points[warp.lane()];
    ClosestPointSearch exact(tree, at, warp.lane() % 2 == 0 ? HUGE_VALF : 0.2f), alone = exact;
    const ClosestPoint a = ClosestPacketSearch::find(warp, exact, at == at), b = alone.find();
    EXPECT_TRUE(a.triangle == b.triangle && a.square == b.square);
  }
};

TEST(ClosestPacket, FindsWhatEachLaneFindsAlone) {
  Soup soup = random_soup(300, 3, 0.2f);
  for (float k = 0; k < 90; ++k)  // more triangles at one distance than are listed
    soup.add({2, 2, 2}, {2.5f, 2 + k, 1}, {2.5f, 3 + k, 1});
  const Tree t = build_reference(soup.view(), {});
  const PointTree tree{&t.nodes[0], &t.refs[0], &soup.vertices[0], &soup.triangles[0], t.bounds};
  for (const float reach : {1.0f, 1e-3f, 6.0f, 1e4f, 1e12f, 1e19f, 1e30f}) {
    FindClosest kernel{tree, {{1, 2, 2.5}, {NAN, NAN, NAN}}};
    Random random(4);
    for (unsigned k = 2; k < 8; ++k) kernel.points[k] = to_double(random.point(-reach, reach));
    simt::Lockstep<8>(1).launch(kernel);
  }
}

}  // namespace heapwood::kdtree::test
