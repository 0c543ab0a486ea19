// SPDX-License-Identifier: MIT
#include "render/renderer.hpp"

#include <algorithm>

#include "render/auto_camera.hpp"
#include "render/kernel.hpp"
#include "simt/clock.hpp"
#include "simt/error.hpp"

namespace heapwood::render {
namespace {

constexpr struct {
  Mode mode;
  const char* name;
} modes[] = {{Mode::shaded, "shaded"},   {Mode::path, "path"},    {Mode::ao, "ao"},
             {Mode::normals, "normals"}, {Mode::depth, "depth"},  {Mode::heatmap, "heatmap"},
             {Mode::leaves, "leaves"},   {Mode::albedo, "albedo"}};

void check(const RenderJob& job) {
  if (job.width < 1 || job.height < 1 || job.width > max_side || job.height > max_side) {
    throw Error(Exit::usage, "picture size " + std::to_string(job.width) + "x" +
                                 std::to_string(job.height) + ": each side must be 1 to " +
                                 std::to_string(max_side) + " pixels");
  }
  if (job.spp < 1 || job.spp > max_spp) {
    throw Error(Exit::usage, "samples per pixel: " + std::to_string(job.spp) + ": expected 1 to " +
                                 std::to_string(max_spp));
  }
}

}  // namespace

double exposure_for(const Film& film, Mode mode) {
  return exposure_for(FilmCounts(film, mode), mode, film.has_unlit);
}

Progressive::Progressive(const Scene& scene, const RenderJob& job) : scene_(&scene) {
  restart(job);
}

void Progressive::restart(const RenderJob& job) {
  check(job);
  job_ = job;
  frame_ = {};
  const Scene& scene = *scene_;
  frame_.camera = make_frame(job.camera, job.width, job.height);
  const bool lit = job.mode == Mode::shaded || job.mode == Mode::path || job.mode == Mode::ao;
  data_ = scene.data();
  if (job.environment != nullptr && job.mode == Mode::path) {
    frame_.lighting = lit_by_environment(job.lighting.value_or(Lighting{}));
  } else if (job.lighting) {
    frame_.lighting = *job.lighting;
  } else if (lit) {
    const bool emitters = job.mode == Mode::path && !job.clay;
    frame_.lighting = choose_lighting(scene, job.camera, emitters);
  }
  frame_.width = job.width;
  frame_.height = job.height;
  frame_.total_samples = job.spp;
  // About 32 occlusion rays per pixel look smooth. They are divided among the samples.
  frame_.occlusion_rays = std::clamp(32u / job.spp, job.mode == Mode::ao ? 2u : 1u, 16u);
  frame_.bounces = job.bounces;
  frame_.seed = job.seed;
  frame_.mode = job.mode;
  frame_.clay = job.clay;
  if (job.environment != nullptr && job.mode == Mode::path) surround(job);
  const std::size_t pixels = std::size_t{job.width} * job.height;
  if (pixels > film_.capacity()) film_ = simt::Buffer<Pixel>(scene.device(), pixels);
  film_.set_size(pixels);
  film_.fill(0);
  if (ticket_.size() == 0) ticket_ = simt::Buffer<std::uint32_t>(scene.device(), 1);
}

// In mode path with an environment only scenes with materials are compiled, so a scene without
// colours gets clay as its only material.
void Progressive::surround(const RenderJob& job) {
  data_.environment = job.environment->view();
  if (data_.materials.materials != nullptr && !job.clay) return;
  frame_.clay = false;
  const DeviceMaterial clay{frame_.lighting.albedo, 1,    {}, 0, no_texture, no_texture,
                            Coverage::opaque,       false};
  clay_ = {scene_->device(), {&clay, 1}};
  data_.materials = {};
  data_.materials.materials = clay_.data();
}

double Progressive::add(unsigned samples, double seconds) {
  const double ms = launch(samples, 0, tile_rows(), {seconds, "rendering", job_.seconds});
  frame_.first_sample += samples;
  return ms;
}

double Progressive::add_rows(unsigned first, unsigned count, double seconds) {
  return launch(1, first, count, {seconds, "rendering"});
}

unsigned Progressive::tile_rows() const { return (job_.height + tile_height - 1) / tile_height; }

double Progressive::launch(unsigned samples, unsigned first_row, unsigned rows,
                           const simt::LaunchLimits& limits) {
  const std::uint32_t columns = (job_.width + tile_width - 1) / tile_width;
  const std::uint32_t first_tile = first_row * columns;
  ticket_.upload({&first_tile, 1});
  // The scene may show another tree by now.
  if (job_.environment == nullptr) data_ = scene_->data();
  frame_.samples = samples;
  frame_.end_tile = std::min(first_row + rows, tile_rows()) * columns;
  return backend(scene_->device())
      .render(scene_->device(), data_, frame_, film_.data(), ticket_.data(), limits);
}

Film Progressive::film() const {
  return {job_.width, job_.height, samples(), film_.download(),
          data_.materials.has_unlit && !job_.clay};
}

Progressive::Developed Progressive::develop(std::span<Rgba8> to) {
  const simt::DeviceId& device = scene_->device();
  const bool numbers = shows_numbers(job_.mode);
  Developed result{{}, 0, job_.exposure};
  Development how{job_.mode, job_.exposure, job_.largest, false, job_.tone};
  if (numbers || job_.exposure == 0) {
    if (bins_.size() == 0) bins_ = {device, CountPixels::bin_count};
    bins_.fill(0);
    backend(device).count(
        device, {film_.data(), bins_.data(), 1.0 / std::max(1u, samples()), numbers}, film_.size());
    const FilmCounts counts(bins_.download());
    if (numbers) {
      result.range = range_of(counts, how);
      result.largest = counts.largest;
    }
    if (how.exposure == 0)
      how.exposure = result.exposure =
          exposure_for(counts, job_.mode, data_.materials.has_unlit && !job_.clay);
  }
  if (film_.size() > colours_.capacity()) colours_ = simt::Buffer<Rgba8>(device, film_.size());
  if (table_.size() == 0) table_ = {device, {&srgb_table(), 1}};
  backend(device).develop(
      device, {film_.data(), table_.data(), colours_.data(), samples(), how, result.range},
      film_.size());
  simt::device_download(device, to.data(), colours_.data(), film_.size() * sizeof(Rgba8));
  return result;
}

Image develop(const RenderJob& job, const Film& film) {
  const double exposure = job.exposure > 0 ? job.exposure : exposure_for(film, job.mode);
  return develop(film, {job.mode, exposure, job.largest, job.legend, job.tone});
}

Film render_film(const RenderJob& job, const Scene& scene) {
  const auto start = simt::HostClock::now();
  Progressive picture(scene, job);
  // Launches are short, so that time limit, Ctrl-C and progress can be handled between them.
  const std::size_t pixels = std::size_t{job.width} * job.height;
  const auto samples_per_launch =
      static_cast<unsigned>(std::clamp<std::size_t>((std::size_t{4} << 20) / pixels, 1, max_spp));
  while (picture.samples() < job.spp) {
    const double left = job.seconds - simt::seconds_since(start);
    picture.add(std::min(samples_per_launch, job.spp - picture.samples()), std::max(left, 0.0));
    if (job.progress) job.progress(picture.samples(), job.spp);
  }
  return picture.film();
}

Image render(const RenderJob& job, const Scene& scene) {
  return develop(job, render_film(job, scene));
}

const char* name(Mode mode) {
  for (const auto& entry : modes) {
    if (entry.mode == mode) return entry.name;
  }
  return "?";
}

Mode parse_mode(const std::string& text) {
  std::string all;
  for (const auto& entry : modes) {
    if (text == entry.name) return entry.mode;
    all += (all.empty() ? "" : ", ") + std::string(entry.name);
  }
  throw Error(Exit::usage, "mode '" + text + "': expected one of " + all);
}

}  // namespace heapwood::render
