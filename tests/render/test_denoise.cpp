// SPDX-License-Identifier: MIT
#include "render/denoise.hpp"

#include <gtest/gtest.h>

#include "tests/render/trees.hpp"

namespace heapwood::render {
namespace {

// A ball on a floor with a fine chequered texture.
struct Still {
  Soup soup = closed_surface(12, 1, {0, 1, 0});
  Appearance look;
  Tree tree;

  Still() {
    look.triangle_materials.assign(soup.triangles.size(), 0);
    soup.add({-4, 0, -4}, {4, 0, 4}, {4, 0, -4});
    soup.add({-4, 0, -4}, {-4, 0, 4}, {4, 0, 4});
    look.triangle_materials.resize(soup.triangles.size(), 1);
    look.materials.push_back({.name = "ball", .colour = {0.7f, 0.3f, 0.2f}});
    look.materials.push_back({.name = "floor", .texture = 0});
    look.uvs = {{0, 0}, {20, 20}, {20, 0}, {0, 20}};
    look.uv_triangles.resize(soup.triangles.size());
    look.uv_triangles.end()[-2] = {{0, 1, 2}};
    look.uv_triangles.end()[-1] = {{0, 3, 1}};
    look.textures.push_back({.width = 2,
                             .height = 2,
                             .texels = {0xffe0e0e0, 0xff404040, 0xff404040, 0xffe0e0e0},
                             .nearest = true});
    tree = MedianBuilder::build(soup.view());
  }
};

TEST(Denoise, ComesCloserToAPictureOfManySamples) {
  const Still still;
  const Scene scene(test_device(), still.tree, still.soup.view(), false, &still.look);
  RenderJob job;
  job.mode = Mode::path;
  job.width = 64;
  job.height = 48;
  job.camera = {{2, 2.5f, 4}, {0, 0.6f, 0}, 40, 1};
  job.exposure = 1;
  job.spp = 128;
  const Image reference = render(job, scene);
  job.spp = 4;
  const Image noisy = render(job, scene);
  job.denoise = true;
  const Image clean = render(job, scene);
  EXPECT_LT(compare(clean, reference, 8).mean, 0.6 * compare(noisy, reference, 8).mean);
  EXPECT_EQ(render(job, scene), clean);
  // The other modes have no noise to remove.
  job.mode = Mode::normals;
  const Image normals = render(job, scene);
  job.denoise = false;
  EXPECT_EQ(render(job, scene), normals);
}

TEST(Denoise, KeepsAPictureWithoutNoise) {
  const Still still;
  const Scene scene(test_device(), still.tree, still.soup.view(), false, &still.look);
  RenderJob job;
  job.width = 40;
  job.height = 30;
  job.spp = 16;
  job.camera = {{2, 2.5f, 4}, {0, 0.6f, 0}, 40, 1};
  job.mode = Mode::albedo;
  Progressive picture(scene, job);
  picture.add(job.spp, 60);
  const Film film = picture.film();
  const Film clean = denoise(film, render_guides(job, scene));
  // Except at the silhouette, where the picture's black background is mixed in.
  const auto is_inside = [&](std::size_t i) { return film.sums[i].a == 16; };
  std::size_t checked = 0;
  for (std::size_t i = 0; i < film.sums.size(); ++i) {
    if (!is_inside(i)) continue;
    ++checked;
    EXPECT_NEAR(clean.sums[i].r, film.sums[i].r / 16, 0.06) << i;
  }
  EXPECT_GT(checked, 600u);
}

}  // namespace
}  // namespace heapwood::render
