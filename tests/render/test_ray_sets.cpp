// SPDX-License-Identifier: MIT
// The ray sets of measurements: origins, directions and order.
#include <gtest/gtest.h>

#include <tuple>
#include <utility>

#include "render/random.hpp"
#include "render/ray_sets.hpp"
#include "render/surface.hpp"
#include "simt/error.hpp"
#include "tests/kdtree/reference.hpp"
#include "tests/render/trees.hpp"

namespace heapwood::render {
namespace {

const Camera camera{{0.5f, 0.6f, 4}, {0.5f, 0.4f, 0.5f}, 40, 1};

TEST(RaySetsPrimary, GoThroughPixelsInTiles) {
  const std::vector<kdtree::Ray> rays = primary_rays(camera, 16, 8);
  ASSERT_EQ(rays.size(), 128u);
  const CameraFrame frame = make_frame(camera, 16, 8);
  // Ray number, x and y: tiles of 8 x 4 pixels, row by row within a tile.
  for (const auto& [i, x, y] : {std::tuple{0u, 0, 0},
                                {7u, 7, 0},
                                {8u, 0, 1},
                                {31u, 7, 3},
                                {32u, 8, 0},
                                {64u, 0, 4},
                                {127u, 15, 7}}) {
    const kdtree::Ray want =
        frame.ray(static_cast<float>(x) + 0.5f, static_cast<float>(y) + 0.5f, 1);
    EXPECT_EQ(rays[i].direction, want.direction) << i;
    EXPECT_EQ(rays[i].origin, camera.eye);
    EXPECT_EQ(rays[i].tmin, 0);
  }
}

TEST(RaySetsPrimary, NeedWholeTiles) {
  for (const auto& [width, height] : {std::pair{12u, 8u}, {16u, 6u}, {0u, 4u}}) {
    EXPECT_THROW(primary_rays(camera, width, height), Error) << width << "x" << height;
  }
}

TEST(RaySetsDiffuse, LeaveTheSurfaceThatWasHit) {
  const Soup soup = kdtree::random_soup(400, 5);
  const kdtree::MeshView mesh = soup.view();
  const Scene scene(test_device(), kdtree::build_reference(mesh, {}), mesh);
  const std::vector<kdtree::Ray> primary = primary_rays(camera, 64, 64);
  const RayMeasurement measured = measure_rays(scene, primary, 2, 60);
  EXPECT_EQ(measured.rays, primary.size());
  EXPECT_EQ(measured.runs_ms.size(), 2u);
  ASSERT_EQ(measured.found.size(), primary.size());
  const std::vector<kdtree::Hit> closest = scene.closest(primary);
  for (std::size_t i = 0; i < closest.size(); ++i) {
    EXPECT_EQ(measured.found[i].triangle, closest[i].triangle) << i;
    EXPECT_EQ(measured.found[i].t, closest[i].t) << i;
  }
  // Every hit takes at least one leaf and one triangle test.
  EXPECT_GE(measured.steps.tests, measured.hits);
  EXPECT_GE(measured.steps.leaves, measured.hits);
  EXPECT_GT(measured.steps.inner, 0u);

  const std::vector<kdtree::Ray> rays = diffuse_rays(scene, primary, measured.found, 64);
  ASSERT_GT(measured.hits, 100u);
  ASSERT_EQ(rays.size(), measured.hits);
  const float offset = 1e-4f * length(scene.bounds().extent());
  double cosines = 0;
  std::size_t k = 0;
  for (std::size_t i = 0; i < primary.size(); ++i) {
    if (!measured.found[i].found()) continue;
    const Vec3 normal = scene.normal(measured.found[i].triangle, primary[i]);
    const Vec3 hit = primary[i].origin + primary[i].direction * measured.found[i].t;
    EXPECT_NEAR(length(rays[k].direction), 1, 1e-5);
    EXPECT_GE(dot(rays[k].direction, normal), -1e-6f);
    EXPECT_NEAR(length(rays[k].origin - hit), offset, 0.01f * offset + 1e-6f);
    cosines += dot(rays[k].direction, normal);
    ++k;
  }
  // Cosine-weighted: the mean cosine is 2/3.
  EXPECT_NEAR(cosines / static_cast<double>(rays.size()), 2.0 / 3, 0.05);
}

TEST(RaySetsNormal, IsExactlyUprightOnUprightWallsOfAnySize) {
  for (const float size : {1e-20f, 1e-3f, 1.0f, 1e6f, 1e20f}) {
    for (int i = 1; i < 50; ++i) {
      // In x and y both are multiples of one vector: the products of the cross product's z cancel
      // unless one of them is rounded first.
      const Vec3 a{3, 1, 0.3f}, b{static_cast<float>(3 * i), static_cast<float>(i), -7.1f};
      const Vec3 normal = geometric_normal({{0, 0, 0}, a * size, b * size});
      EXPECT_NEAR(length(normal), 1, 1e-6f) << size << ' ' << i;
      if (size == 1) {
        EXPECT_EQ(normal.z, 0) << i;
      } else {
        EXPECT_NEAR(normal.z, 0, 1e-6f) << size << ' ' << i;
      }
    }
  }
}

}  // namespace
}  // namespace heapwood::render
