// SPDX-License-Identifier: MIT
#include "viewer/built_scene.hpp"

#include <algorithm>

#include "render/auto_camera.hpp"
#include "scenes/scene.hpp"
#include "viewer/node_view.hpp"

namespace heapwood::viewer {

namespace {

// Whether more than 70% of the rays to the neighbours in a grid hit the scene.
bool surrounds(const render::Scene& scene, Vec3 eye) {
  std::vector<kdtree::Ray> rays;
  for (int i = 0; i < 27; ++i) {
    const Vec3 to{static_cast<float>(i / 9 - 1), static_cast<float>(i / 3 % 3 - 1),
                  static_cast<float>(i % 3 - 1)};
    if (!(to == Vec3{})) rays.push_back({eye, 0, normalize(to), 1e30f});
  }
  return std::ranges::count_if(scene.occluded(rays), &kdtree::Hit::found) > 18;
}

}  // namespace

void add_appearance(scenes::Mesh& mesh, const std::string& source) {
  scenes::Mesh coloured = scenes::load(source, scenes::Content::materials);
  // The build may have dropped triangles of zero area, so they are dropped here too.
  if (coloured.triangles.size() != mesh.triangles.size()) scenes::drop_degenerate(coloured);
  if (coloured.triangles != mesh.triangles) return;  // the file has changed since the build
  mesh.appearance = std::move(coloured.appearance);
  mesh.notes = std::move(coloured.notes);
}

std::shared_ptr<const BuiltScene> make_built_scene(std::string source, std::string name,
                                                   scenes::Mesh mesh, kdtree::Tree tree,
                                                   const simt::DeviceInfo& device,
                                                   const std::string& allocator,
                                                   std::optional<unsigned> up,
                                                   const BuiltScene* earlier) {
  auto scene = std::make_shared<BuiltScene>();
  scene->source = std::move(source);
  scene->name = std::move(name);
  scene->mesh = std::move(mesh);
  scene->tree = std::move(tree);
  const std::size_t levels = leaf_histograms(scene->tree).by_depth.size();
  scene->depth = levels > 0 ? static_cast<unsigned>(levels - 1) : 0;
  scene->device = device;
  scene->allocator = allocator;
  scene->traced = std::make_unique<render::Scene>(device.id, scene->tree, scene->view(), false,
                                                  &scene->mesh.appearance);
  if (earlier) {
    scene->home = earlier->home;
    scene->interior = earlier->interior;
    scene->lighting = earlier->lighting;
    return scene;
  }
  const scenes::Mesh& shown = scene->mesh;
  const bool as_made = shown.camera && up.value_or(shown.up) == shown.up;
  scene->home =
      as_made ? render::Camera{shown.camera->eye, shown.camera->target, shown.camera->fov, shown.up}
              : render::auto_camera(*scene->traced, up.value_or(shown.up));
  scene->home = render::representable(scene->home, shown.origin);
  scene->interior = surrounds(*scene->traced, scene->home.eye);
  scene->lighting = render::choose_lighting(*scene->traced, scene->home);
  return scene;
}

}  // namespace heapwood::viewer
