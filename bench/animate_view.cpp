// SPDX-License-Identifier: MIT
#include "bench/animate_view.hpp"

#include <algorithm>

#include "bench/scene_camera.hpp"
#include "bench/stopwatch.hpp"
#include "render/auto_light.hpp"
#include "render/kernel.hpp"
#include "render/ray_sets.hpp"

namespace heapwood::bench {

namespace {

// The file beside which a camera may lie.
std::string camera_source(const std::string& scene) {
  const std::vector<std::string> files = scenes::moving_files(scene);
  return files.empty() ? scene : files.front();
}

// choose_camera() checks the first frame. Frames of procedural scenes have similar extents.
void check_last_extent(const AnimateScene& scene, const AnimateJob& job) {
  const std::vector<std::string> files = scenes::moving_files(job.scene);
  const unsigned frames = job.settings.frames,
                 last = scene_frame(frames - 1, frames, scene.frames());
  if (!files.empty() && last != 0) check_extent(files.back(), scene.mesh_of(last));
}

}  // namespace

AnimateView::AnimateView(AnimateScene& scene, const AnimateJob& job)
    : scene_(scene),
      seconds_(job.settings.build.timeout),
      width_(job.settings.size.width),
      height_(job.settings.size.height) {
  const simt::DeviceId& device = scene.device().id;
  const render::Scene first(device, scene.workspace().download(), scene.view(),
                            job.settings.watertight);
  // All frames are traced with the test of the first one.
  data_.watertight = first.watertight();
  camera_ = choose_camera(job.settings.camera, camera_source(job.scene), scene.mesh(), first,
                          static_cast<double>(width_) / height_);
  check_last_extent(scene, job);
  lighting_ = render::choose_lighting(first, camera_);
  ticket_ = simt::Buffer<std::uint32_t>(device, 1);
  if (job.settings.shaded || job.picture_spp > 0)
    film_ = simt::Buffer<render::Pixel>(device, std::size_t{width_} * height_);
  if (job.settings.primary) {
    rays_ = {device, render::primary_rays(camera_, width_, height_)};
    hits_ = simt::Buffer<kdtree::Hit>(device, rays_.size());
  }
}

bool AnimateView::fill_records(double& ms) {
  const Stopwatch start;
  const kdtree::DeviceTree tree = scene_.workspace().device_tree();
  const std::size_t bytes = tree.ref_count * sizeof(kdtree::PlaneRecord);
  const bool has_memory = bytes <= records_.bytes();
  if (!has_memory) {
    records_ = {};
    records_ = simt::Memory(scene_.device().id, bytes + bytes / 4);
  }
  const kdtree::DeviceMesh& mesh = scene_.device_mesh();
  data_ = {data_.watertight,      tree.nodes,
           records_.data(),       tree.refs,
           tree.ref_count,        mesh.vertices.data(),
           mesh.triangles.data(), static_cast<std::uint32_t>(mesh.triangles.size()),
           tree.bounds,           {}};
  render::backend(scene_.device().id).fill_records(scene_.device().id, data_, records_.data());
  ms = start.ms();
  return has_memory;
}

double AnimateView::trace_primary() {
  const Stopwatch start;
  render::backend(scene_.device().id)
      .trace(scene_.device().id, data_, false, rays_.data(), hits_.data(), rays_.size(),
             {.seconds = seconds_, .what = "tracing rays"});
  return start.ms();
}

render::Frame AnimateView::make_frame(unsigned spp) const {
  render::Frame frame{};
  frame.camera = render::make_frame(camera_, width_, height_);
  frame.lighting = lighting_;
  frame.width = width_;
  frame.height = height_;
  frame.total_samples = spp;
  frame.seed = 1;
  frame.mode = render::Mode::shaded;
  return frame;
}

double AnimateView::launch(render::Frame& frame, unsigned samples) {
  const Stopwatch start;
  const std::uint32_t first_tile = 0;
  ticket_.upload({&first_tile, 1});
  frame.samples = samples;
  const auto tiles = [](unsigned side, unsigned of_tile) { return (side + of_tile - 1) / of_tile; };
  frame.end_tile = tiles(width_, render::tile_width) * tiles(height_, render::tile_height);
  render::backend(scene_.device().id)
      .render(scene_.device().id, data_, frame, film_.data(), ticket_.data(),
              {.seconds = seconds_, .what = "rendering"});
  frame.first_sample += samples;
  return start.ms();
}

double AnimateView::shade() {
  const Stopwatch start;
  render::Frame frame = make_frame(1);
  frame.occlusion_rays = 0;
  frame.lighting.key_radius = 0;  // one shadow ray per pixel: no soft shadows, no noise
  film_.fill(0);
  launch(frame, 1);
  return start.ms();
}

render::Image AnimateView::picture(unsigned spp) {
  render::Frame frame = make_frame(spp);
  frame.occlusion_rays = std::clamp(32u / spp, 1u, 16u);
  film_.fill(0);
  // Short launches, between which Ctrl-C is handled.
  const auto samples_per_launch =
      static_cast<unsigned>(std::clamp<std::size_t>((std::size_t{4} << 20) / film_.size(), 1, spp));
  while (frame.first_sample < spp)
    launch(frame, std::min(samples_per_launch, spp - frame.first_sample));
  const render::Film film{width_, height_, spp, film_.download()};
  if (!exposure_) exposure_ = render::exposure_for(film, render::Mode::shaded);
  return render::develop(film, {render::Mode::shaded, *exposure_});
}

}  // namespace heapwood::bench
