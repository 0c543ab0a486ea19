// SPDX-License-Identifier: MIT
#include "bench/animate_scene.hpp"

#include <algorithm>
#include <cstring>

namespace heapwood::bench {

namespace {

bool same_bits(const Vec3& a, const Vec3& b) { return std::memcmp(&a, &b, sizeof a) == 0; }

}  // namespace

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
  // On the device is the frame that was uploaded last.
  other_triangles_ |= !is_uploaded_;
  if (!is_uploaded_ || a.size() != b.size()) return;
  while (first_moved_ < end_moved_ && same_bits(a[first_moved_], b[first_moved_])) ++first_moved_;
  while (first_moved_ < end_moved_ && same_bits(a[end_moved_ - 1], b[end_moved_ - 1])) --end_moved_;
}

void AnimateScene::prepare(unsigned frame) {
  scenes::Mesh next = scene_->mesh(frame);
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

kdtree::BuildRun AnimateScene::build(const registry::RegisteredAllocator& entry,
                                     kdtree::KeptAllocator* kept) {
  kdtree::BuildOptions options;
  options.costs = settings_.costs;
  options.seconds = settings_.timeout;
  options.kept = kept;
  workspace_->set_allocator_options(entry.options_over(settings_.allocator));
  return compiled_for(entry, device_).build(*workspace_, options);
}

std::size_t AnimateScene::suggested_pool() const {
  return initial_pool(settings_, mesh_.triangles.size(), device_, needs_);
}

bool AnimateScene::enlarge_pool() {
  if (settings_.pool.kind != PoolSize::Kind::automatic) return false;
  const std::size_t now = workspace_->pool().bytes, more = alloc::round_up(now / 2 * 3, 1 << 16);
  std::size_t available = simt::device_available(device_.id);
  if (device_.id.kind == simt::DeviceKind::cuda) available += now;
  // An allocator that refuses requests for another reason must not fill the device's memory.
  if (more > std::min(available / 10 * 9, 8 * suggested_pool())) return false;
  workspace_->resize_pool(more);
  return true;
}

}  // namespace heapwood::bench
