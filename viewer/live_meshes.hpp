// SPDX-License-Identifier: MIT
// The meshes of which the Live tab builds trees: one per frame of a moving scene.
#pragma once

#include <future>

#include "bench/prepared_scene.hpp"
#include "scenes/moving/moving_scene.hpp"
#include "viewer/jobs.hpp"

namespace heapwood::viewer {

struct LiveMesh {
  explicit LiveMesh(const simt::DeviceId& device) : vertices(device) {}
  simt::PinnedArray<Vec3> vertices;
  std::shared_ptr<const std::vector<Triangle>> triangles;  // shared by frames that have the same
  kdtree::MeshView view() const { return {vertices.values(), *triangles}; }
};
using LiveMeshPointer = std::shared_ptr<const LiveMesh>;

// The frames of a scene for both sides; a still scene has one. On a GPU, threads make the next
// frames while one is built; on CPU threads they would disturb the builds.
class LiveMeshes {
 public:
  explicit LiveMeshes(const JobSpec& spec)
      : device_(spec.device.id), ahead_(device_.kind == simt::DeviceKind::cuda ? 4 : 0) {
    if (is_moving(spec.source)) {
      scene_ = scenes::open_moving(spec.source, ahead_);
      first = scene_->mesh(0);
      name = scenes::moving_label(spec.source);
    } else {
      first = scenes::load(spec.source, scenes::Content::materials);
      if (!spec.settings.keep_degenerate) scenes::drop_degenerate(first);
      name = bench::scene_label(spec.source, first);
    }
    triangles_ = std::make_shared<const std::vector<Triangle>>(first.triangles);
    frames_.resize(scene_ ? scene_->frames : 1);
  }

  scenes::Mesh first;
  std::string name;
  std::uint64_t count() const { return frames_.size(); }
  LiveMeshPointer frame(std::uint64_t number) {
    for (std::uint64_t i = 0; i <= ahead_; ++i) {
      const std::uint64_t n = (number + i) % count();
      if (!frames_[n].valid())
        frames_[n] = std::async(ahead_ ? std::launch::async : std::launch::deferred,
                                [this, n] { return make(n); });
    }
    std::shared_future<LiveMeshPointer>& made = frames_[number % count()];
    LiveMeshPointer mesh = made.get();
    // Frames are kept for the next time, if there is memory for all.
    if (scene_ && mesh->vertices.values().size_bytes() * count() > max_bytes) made = {};
    return mesh;
  }

 private:
  static constexpr std::size_t max_bytes = std::size_t{1} << 30;

  LiveMeshPointer make(std::uint64_t number) const {
    scenes::Mesh mesh = scene_ ? scene_->mesh(static_cast<unsigned>(number)) : first;
    auto made = std::make_shared<LiveMesh>(device_);
    made->vertices.assign(mesh.vertices);
    made->triangles = triangles_;
    if (mesh.triangles != *triangles_)
      made->triangles = std::make_shared<const std::vector<Triangle>>(std::move(mesh.triangles));
    return made;
  }

  simt::DeviceId device_;
  unsigned ahead_;
  std::optional<scenes::MovingScene> scene_;
  std::shared_ptr<const std::vector<Triangle>> triangles_;
  std::vector<std::shared_future<LiveMeshPointer>> frames_;  // declared last: ends first
};

}  // namespace heapwood::viewer
