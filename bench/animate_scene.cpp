// SPDX-License-Identifier: MIT
#include "bench/animate_bench.hpp"

#include <algorithm>
#include <cstring>

#include "render/auto_camera.hpp"
#include "render/kernel.hpp"
#include "render/ray_sets.hpp"
#include "simt/clock.hpp"

namespace heapwood::bench {

AnimateScene::AnimateScene(const std::string& source, const simt::DeviceInfo& device,
                           const BuildSettings& settings, const PoolNeeds& needs)
    : device_(device),
      settings_(settings),
      needs_(needs),
      scene_(scenes::open_moving(source)),
      vertices_(device.id),
      triangles_(device.id) {}

void AnimateScene::find_changes(const scenes::Mesh& next) {
  const std::vector<Vec3>&a = mesh_.vertices, &b = next.vertices;
  other_triangles_ = mesh_.triangles != next.triangles;
  first_moved_ = 0;
  end_moved_ = b.size();
  // The device has the frame that was uploaded last, which may not be the previous one.
  other_triangles_ |= !is_uploaded_;
  if (!is_uploaded_ || a.size() != b.size()) return;
  const auto is_still = [&](std::size_t i) { return std::memcmp(&a[i], &b[i], sizeof a[i]) == 0; };
  while (first_moved_ < end_moved_ && is_still(first_moved_)) ++first_moved_;
  while (first_moved_ < end_moved_ && is_still(end_moved_ - 1)) --end_moved_;
}

void AnimateScene::prepare(unsigned frame) {
  scenes::Mesh next = scene_.mesh(frame);
  find_changes(next);
  is_uploaded_ = false;
  mesh_ = std::move(next);
  vertices_.assign(mesh_.vertices);
  triangles_.assign(mesh_.triangles);
  provide_memory();
  device_mesh_->vertices.set_size(mesh_.vertices.size());
  device_mesh_->triangles.set_size(mesh_.triangles.size());
}

// Grows the arrays if the mesh is larger than all earlier ones.
void AnimateScene::provide_memory() {
  const std::size_t vertices = mesh_.vertices.size(), triangles = mesh_.triangles.size();
  if (device_mesh_ && vertices <= device_mesh_->vertices.capacity() &&
      triangles <= device_mesh_->triangles.capacity())
    return;
  simt::Memory pool;
  if (workspace_) {
    workspace_->swap_pool(pool);
  } else {
    pool = simt::Memory(device_.id, suggested_pool());
  }
  workspace_.reset();
  const auto with_spare = [](std::size_t count, std::size_t before) {
    return before == 0 || count <= before ? std::max(count, before) : count + count / 4;
  };
  const std::size_t had_vertices = device_mesh_ ? device_mesh_->vertices.capacity() : 0,
                    had_triangles = device_mesh_ ? device_mesh_->triangles.capacity() : 0;
  device_mesh_.reset();
  device_mesh_ = std::make_unique<kdtree::DeviceMesh>(device_.id, kdtree::MeshView{});
  device_mesh_->vertices = simt::Buffer<Vec3>(device_.id, with_spare(vertices, had_vertices));
  device_mesh_->triangles =
      simt::Buffer<Triangle>(device_.id, with_spare(triangles, had_triangles));
  workspace_ = std::make_unique<kdtree::Workspace>(*device_mesh_, settings_.refs, 0);
  workspace_->swap_pool(pool);
  first_moved_ = 0;
  end_moved_ = vertices;
  other_triangles_ = true;
}

void AnimateScene::upload() {
  device_mesh_->vertices.upload(vertices_.values().subspan(first_moved_, end_moved_ - first_moved_),
                                first_moved_);
  if (other_triangles_) device_mesh_->triangles.upload(triangles_.values());
  is_uploaded_ = true;
}

kdtree::BuildRun AnimateScene::build(const Allocator& entry, kdtree::KeptAllocator* kept) {
  workspace_->set_allocator_options(entry.options_over(settings_.allocator));
  return compiled_for(entry, device_)
      .build(*workspace_, {.costs = settings_.costs, .seconds = settings_.timeout, .kept = kept});
}

std::size_t AnimateScene::suggested_pool() const {
  return initial_pool(settings_, mesh_.triangles.size(), device_, needs_);
}

bool AnimateScene::enlarge_pool() {
  if (settings_.pool.kind != PoolSize::Kind::automatic) return false;
  const std::size_t now = workspace_->pool().bytes, more = alloc::round_up(now / 2 * 3, 1 << 16);
  std::size_t available = simt::device_available(device_.id);
  if (device_.id.kind == simt::DeviceKind::cuda) available += now;
  // Limited, because an allocator that refuses requests for another reason could fill the device.
  if (more > std::min(available / 10 * 9, 8 * suggested_pool())) return false;
  workspace_->resize_pool(more);
  return true;
}

AnimateView::AnimateView(AnimateScene& scene, const AnimateJob& job)
    : scene_(scene),
      traced_(scene.device().id, job.settings.watertight),
      seconds_(job.settings.build.timeout),
      width_(job.settings.size.width),
      height_(job.settings.size.height) {
  const simt::DeviceId& device = scene.device().id;
  const render::Scene first(device, scene.workspace().download(), scene.view(),
                            job.settings.watertight);
  const std::vector<std::string> files = scenes::moving_files(job.scene);
  camera_ = choose_camera(job.settings.camera, files.empty() ? job.scene : files.front(),
                          scene.mesh(), first, static_cast<double>(width_) / height_);
  // choose_camera() checks the extent of the first frame, this the last frame's. Frames of
  // procedural scenes have similar extents.
  const unsigned frames = job.settings.frames,
                 last = scene_frame(frames - 1, frames, scene.frames());
  if (!files.empty() && last != 0) check_extent(files.back(), scene.mesh_of(last));
  lighting_ = render::choose_lighting(first, camera_);
  ticket_ = simt::Buffer<std::uint32_t>(device, 1);
  if (job.settings.shaded)
    film_ = simt::Buffer<render::Pixel>(device, std::size_t{width_} * height_);
  if (job.settings.primary) {
    rays_ = {device, render::primary_rays(camera_, width_, height_)};
    hits_ = simt::Buffer<kdtree::Hit>(device, rays_.size());
  }
}

bool AnimateView::fill_records(double& ms) {
  const auto start = simt::HostClock::now();
  const bool has_memory = traced_.show(scene_.workspace().device_tree(), scene_.device_mesh());
  ms = 1e3 * simt::seconds_since(start);
  return has_memory;
}

double AnimateView::trace_primary() {
  const auto start = simt::HostClock::now();
  render::backend(scene_.device().id)
      .trace(scene_.device().id, traced_.data(), false, rays_.data(), hits_.data(), rays_.size(),
             {.seconds = seconds_, .what = "tracing rays"});
  return 1e3 * simt::seconds_since(start);
}

double AnimateView::shade() {
  const auto start = simt::HostClock::now();
  const auto tiles = [](unsigned side, unsigned of_tile) { return (side + of_tile - 1) / of_tile; };
  render::Frame frame{};
  frame.camera = render::make_frame(camera_, width_, height_);
  frame.lighting = lighting_;
  frame.lighting.key_radius = 0;  // one shadow ray per pixel, so no soft shadows and no noise
  frame.width = width_;
  frame.height = height_;
  frame.total_samples = frame.samples = 1;
  frame.occlusion_rays = 0;
  frame.seed = 1;
  frame.mode = render::Mode::shaded;
  frame.end_tile = tiles(width_, render::tile_width) * tiles(height_, render::tile_height);
  const std::uint32_t first_tile = 0;
  ticket_.upload({&first_tile, 1});
  film_.fill(0);
  render::backend(scene_.device().id)
      .render(scene_.device().id, traced_.data(), frame, film_.data(), ticket_.data(),
              {.seconds = seconds_, .what = "rendering"});
  return 1e3 * simt::seconds_since(start);
}

render::Image AnimateView::picture(unsigned spp) {
  const render::Scene scene(scene_.device().id, scene_.workspace().download(), scene_.view(),
                            traced_.watertight());
  render::RenderJob job;
  job.width = width_;
  job.height = height_;
  job.spp = spp;
  job.camera = camera_;
  job.lighting = lighting_;
  const render::Film film = render::render_film(job, scene);
  if (!exposure_) exposure_ = render::exposure_for(film, job.mode);
  job.exposure = *exposure_;
  return render::develop(job, film);
}

}  // namespace heapwood::bench
