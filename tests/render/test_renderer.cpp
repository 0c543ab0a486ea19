// SPDX-License-Identifier: MIT
// Compares small pictures with tests/golden/*.png. Tolerance, on every device: a mean difference of
// at most 0.5 of 255, and at most 1% of the pixels with a channel that differs by more than 8. (CPU
// and GPU round sines and rays differently, and a ray that passes an edge on the other side changes
// a pixel.) HEAPWOOD_UPDATE_GOLDEN=1 rewrites the pictures.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "render/backend_impl.hpp"
#include "render/renderer.hpp"
#include "tests/errors.hpp"
#include "tests/render/pictures.hpp"
#include "tests/render/trees.hpp"
#include "tests/simt/lockstep.hpp"

namespace heapwood::render {
namespace {

// A ball and a cube on a slab in front of a wall. MedianBuilder builds the tree, so that changes of
// the real builders do not change the pictures.
const Soup& still_life() {
  static const Soup soup = [] {
    Soup all;
    const auto block = [&](Vec3 centre, Vec3 half) {
      Soup box = closed_surface(2, 0);
      for (Vec3& v : box.vertices) v = v * half + centre;
      append(all, box);
    };
    block({0, -0.1f, 0}, {2.2f, 0.1f, 1.6f});
    block({-0.2f, 0.7f, -1.5f}, {2.0f, 0.7f, 0.1f});
    block({0.9f, 0.35f, 0.3f}, {0.35f, 0.35f, 0.35f});
    append(all, closed_surface(16, 1, {-0.6f, 0.6f, 0.1f}, 0.6f));
    return all;
  }();
  return soup;
}
const Tree& still_life_tree() {
  static const Tree tree = MedianBuilder::build(still_life().view());
  return tree;
}

RenderJob still_life_job(Mode mode) {
  Lighting light;
  light.key = normalize(Vec3{0.6f, 0.9f, 0.7f});
  light.ambient_reach = 1.5f;
  light.floor = true;
  light.floor_height = -0.2f;
  return {.mode = mode,
          .width = 64,
          .height = 48,
          .spp = 4,
          .camera = {{1.6f, 1.9f, 4.2f}, {0, 0.45f, 0}, 38, 1},
          .lighting = light,
          .exposure = 1};
}

Image picture(const RenderJob& job, int threads = 0) {
  return render(job, test_device(threads), still_life_tree(), still_life().view());
}

class RendererGolden : public testing::TestWithParam<Mode> {};

TEST_P(RendererGolden, PictureIsAsKept) {
  const std::string path =
      std::string(HEAPWOOD_SOURCE_DIR) + "/tests/golden/" + name(GetParam()) + ".png";
  const Image image = picture(still_life_job(GetParam()));
  if (std::getenv("HEAPWOOD_UPDATE_GOLDEN")) std::ofstream(path, std::ios::binary) << to_png(image);
  const Difference difference = compare(image, read_png(path), 8);
  EXPECT_LE(difference.mean, 0.5);
  EXPECT_LE(difference.above, 0.01);
}

TEST_P(RendererGolden, WatertightGivesTheSamePicture) {
  if (GetParam() == Mode::heatmap || GetParam() == Mode::leaves) {
    GTEST_SKIP() << "it does not cull by the leaf's interval: steps, and the leaf that finds a "
                    "hit, are its own";
  }
  RenderJob job = still_life_job(GetParam());
  const Image fast = picture(job);
  job.watertight = true;
  const Difference difference = compare(picture(job), fast, 8);
  EXPECT_LE(difference.mean, 0.5);
  EXPECT_LE(difference.above, 0.01);
}

TEST_P(RendererGolden, ThreadsAndPassesDoNotMatter) {
  const RenderJob job = still_life_job(GetParam());
  const Image image = picture(job);
  for (const int threads : {1, 3, 7}) EXPECT_EQ(picture(job, threads), image) << threads;
  const Scene scene(test_device(2), still_life_tree(), still_life().view());
  Progressive in_steps(scene, job);
  for (const unsigned samples : {1u, 2u, 1u}) in_steps.add(samples, 60);
  EXPECT_EQ(develop(job, in_steps.film()), image);
  // A film is developed on its device as on the host.
  RenderJob plain = job;
  plain.legend = false;
  const Image host = develop(plain, in_steps.film());
  std::vector<Rgba8> device(host.pixels.size());
  in_steps.develop(device);
  for (std::size_t i = 0; i < device.size(); ++i)
    ASSERT_EQ((Rgb8{device[i].r, device[i].g, device[i].b}), host.pixels[i]) << i;
}

TEST(Renderer, StatesTheLimitOfThePictureNotOfTheLaunch) {
  RenderJob job = still_life_job(Mode::path);
  job.width = job.height = 1024;
  job.seconds = 7;
  const Scene scene(test_device(2), still_life_tree(), still_life().view());
  Progressive picture(scene, job);
  const auto stopped = tests::caught<simt::Stopped>([&] { picture.add(64, 0.01); });
  EXPECT_EQ(std::string(stopped.what()).find("rendering: not finished after 7 s"), 0u)
      << stopped.what();
}

INSTANTIATE_TEST_SUITE_P(Mode, RendererGolden,
                         testing::Values(Mode::shaded, Mode::path, Mode::ao, Mode::normals,
                                         Mode::depth, Mode::heatmap, Mode::leaves),
                         [](const auto& info) { return std::string(name(info.param)); });

// All tiles of a job's picture.
Frame frame_of(const RenderJob& job, unsigned samples, unsigned occlusion_rays) {
  Frame frame{};
  frame.camera = make_frame(job.camera, job.width, job.height);
  frame.lighting = *job.lighting;
  frame.width = job.width;
  frame.height = job.height;
  frame.samples = frame.total_samples = samples;
  frame.occlusion_rays = occlusion_rays;
  frame.end_tile =
      (job.width + tile_width - 1) / tile_width * ((job.height + tile_height - 1) / tile_height);
  return frame;
}

// The film that a kernel without film and ticket fills, with the first ticket.
template <class Kernel, class Launcher = simt::Cpu>
std::vector<Pixel> film_of(Kernel kernel, std::uint32_t ticket = 0,
                           const Launcher& launcher = Launcher()) {
  std::vector<Pixel> film(std::size_t{kernel.frame.width} * kernel.frame.height);
  kernel.film = film.data();
  kernel.ticket = &ticket;
  launcher.launch(kernel, 2);
  return film;
}

// Compares the kernel on simulated warps, whose lanes are concurrent threads, with warps of one
// lane.
TEST(RendererKernel, WarpWidthDoesNotMatter) {
  RenderJob job = still_life_job(Mode::shaded);
  job.width = 19;
  job.height = 10;
  const Scene scene({}, still_life_tree(), still_life().view());
  const RenderKernel<SceneView<kdtree::FastIntersection>, Shaded> kernel{
      view<kdtree::FastIntersection>(scene.data()), frame_of(job, 2, 2), {}, {}};
  const std::vector<Pixel> narrow = film_of(kernel), wide = film_of(kernel, 0, simt::Lockstep<8>());
  for (std::size_t i = 0; i < narrow.size(); ++i) {
    ASSERT_EQ(narrow[i].r, wide[i].r) << i;
    ASSERT_EQ(narrow[i].a, wide[i].a) << i;
  }
}

// On CPU threads mode shaded has a kernel of its own, which traces packets of rays.
TEST(RendererSerialShading, GivesThePictureOfTheKernel) {
  RenderJob job = still_life_job(Mode::shaded);
  job.width = 61;
  job.height = 30;
  Appearance look;
  look.materials.resize(2);
  look.materials[0].colour = {0.9f, 0.4f, 0.1f};
  look.materials[1].emission = {0.2f, 0.5f, 9};
  for (std::uint32_t i = 0; i < still_life().triangles.size(); ++i)
    look.triangle_materials.push_back(i % 7 == 0 ? 1 : 0);
  const Scene scene({}, still_life_tree(), still_life().view(), false, &look);
  const SceneView<kdtree::FastIntersection> clay = view<kdtree::FastIntersection>(scene.data());
  const ColouredView<kdtree::FastIntersection> coloured{clay, scene.data().materials};
  const auto compare_films = [&]<class View>(const View& shown, unsigned samples, unsigned rays) {
    SCOPED_TRACE(testing::Message() << View::coloured << ' ' << samples << ' ' << rays);
    Frame frame = frame_of(job, samples, rays);
    frame.end_tile = 8 * 8 - 5;  // leaves out some tiles
    const std::vector<Pixel> one = film_of(RenderKernel<View, Shaded>{shown, frame, {}, {}}, 3),
                             packets = film_of(SerialShadedKernel<View>{shown, frame, {}, {}}, 3);
    unsigned different = 0;
    double sum = 0, sum_of_packets = 0;
    for (std::size_t i = 0; i < one.size(); ++i) {
      ASSERT_EQ(one[i].a, packets[i].a) << i;
      sum += one[i].g;
      sum_of_packets += packets[i].g;
      different += std::fabs(one[i].b - packets[i].b) > 1e-4f * (1 + one[i].b) ? 1 : 0;
    }
    // Rays differ by rounding: one that passes an edge on the other side changes a pixel.
    EXPECT_LE(different, one.size() / 50);
    EXPECT_NEAR(sum_of_packets, sum, 1e-3 * sum);
  };
  for (const unsigned rays : {0u, 1u, 11u}) compare_films(clay, 3, rays);
  compare_films(coloured, 1, 16);
  compare_films(coloured, 130, 1);
}

// Frames of animations have a camera ray and a shadow ray per pixel.
TEST(RendererKernel, WithoutOcclusionRaysTheAmbientLightIsOpen) {
  RenderJob job = still_life_job(Mode::shaded);
  job.width = 40;
  job.height = 24;
  const Scene scene({}, still_life_tree(), still_life().view());
  const auto film = [&](unsigned rays) {
    return film_of(RenderKernel<SceneView<kdtree::FastIntersection>, Shaded>{
        view<kdtree::FastIntersection>(scene.data()), frame_of(job, 1, rays), {}, {}});
  };
  const std::vector<Pixel> open = film(0), occluded = film(64);
  double sum = 0, darker = 0;
  for (std::size_t i = 0; i < open.size(); ++i) {
    ASSERT_TRUE(std::isfinite(open[i].g)) << i;
    EXPECT_EQ(open[i].a, occluded[i].a);
    sum += open[i].g;
    darker += occluded[i].g;
  }
  EXPECT_GT(sum, 1.001 * darker);
  EXPECT_LT(sum, 1.5 * darker);
}

TEST(Renderer, SeedsChangeNoiseOnly) {
  RenderJob job = still_life_job(Mode::path);
  job.spp = 16;
  const Image image = picture(job);
  job.seed = 2;
  const Image other = picture(job);
  EXPECT_NE(image, other);
  EXPECT_LE(compare(image, other, 255).mean, 8);
}

TEST(Renderer, EmptySceneIsBackground) {
  for (const Mode mode : {Mode::shaded, Mode::path, Mode::normals, Mode::heatmap}) {
    const RenderJob job{.mode = mode, .width = 32, .height = 18, .spp = 2};
    EXPECT_EQ(render(job, test_device(), Tree{}, MeshView{}).pixels.size(), 32u * 18);
  }
}

TEST(Renderer, RefusesWhatMakesNoPicture) {
  for (const auto& [width, height, spp] :
       {std::array{0u, 9u, 1u}, {16u, 0u, 1u}, {16u, max_side + 1, 1u}, {16u, 9u, 0u}}) {
    const RenderJob job{.width = width, .height = height, .spp = spp};
    tests::expect_error(Exit::usage, {}, [&] { render(job, test_device(), Tree{}, MeshView{}); });
  }
}

TEST(Renderer, StopsAtTheTimeLimit) {
  RenderJob job = still_life_job(Mode::path);
  job.width = job.height = 2000;
  job.spp = 4096;
  job.seconds = 0.05;
  EXPECT_THROW(picture(job), simt::Stopped);
}

TEST(Renderer, ReportsProgress) {
  RenderJob job = still_life_job(Mode::normals);
  job.width = job.height = 1024;
  job.spp = 8;
  unsigned last = 0, calls = 0;
  job.progress = [&](unsigned done, unsigned spp) {
    EXPECT_GT(done, last);
    EXPECT_EQ(spp, 8u);
    last = done;
    ++calls;
  };
  render(job, test_device(), Tree{}, MeshView{});
  EXPECT_EQ(last, 8u);
  EXPECT_GT(calls, 1u);
}

// A block on a plain, in modes whose rays start on surfaces: the size of the plain, and thus of the
// scene, must not change the picture.
TEST(Renderer, ASmallModelOnALargePlainKeepsItsShadows) {
  const auto block_on_plain = [](float size) {
    Soup soup = closed_surface(2, 0, {0, 1, 0});
    add_quad(soup, {-size, 0, -size}, {-size, 0, size}, {size, 0, size}, {size, 0, -size});
    return soup;
  };
  for (const Mode mode : {Mode::ao, Mode::shaded}) {
    RenderJob job = still_life_job(mode);
    job.camera = {{3, 3, 5}, {0, 0.5f, 0}, 38, 1};
    job.watertight =
        true;  // the fast test enlarges triangles by the rounding error of the plain's coordinates
    const Soup near = block_on_plain(40), far = block_on_plain(3e4f);
    const Image expected =
        render(job, test_device(), MedianBuilder::build(near.view()), near.view());
    const Image image = render(job, test_device(), MedianBuilder::build(far.view()), far.view());
    EXPECT_LE(compare(expected, image, 40).mean, 0.05) << name(mode);
  }
}

}  // namespace
}  // namespace heapwood::render
