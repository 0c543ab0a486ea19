// SPDX-License-Identifier: MIT
#include "viewer/built_scene.hpp"

#include "render/auto_camera.hpp"
#include "render/auto_light.hpp"

namespace heapwood::viewer {

std::shared_ptr<const BuiltScene> make_built_scene(std::string source, std::string name,
                                                   scenes::Mesh mesh, kdtree::Tree tree,
                                                   const simt::DeviceInfo& device,
                                                   const std::string& allocator,
                                                   std::optional<unsigned> up) {
  auto scene = std::make_shared<BuiltScene>();
  scene->source = std::move(source);
  scene->name = std::move(name);
  scene->mesh = std::move(mesh);
  scene->tree = std::move(tree);
  scene->device = device;
  scene->allocator = allocator;
  scene->traced = std::make_unique<render::Scene>(device.id, scene->tree, scene->view());
  const scenes::Mesh& shown = scene->mesh;
  const bool as_made = shown.camera && up.value_or(shown.up) == shown.up;
  scene->home =
      as_made ? render::Camera{shown.camera->eye, shown.camera->target, shown.camera->fov, shown.up}
              : render::auto_camera(*scene->traced, up.value_or(shown.up));
  scene->home = render::representable(scene->home, shown.origin);
  scene->lighting = render::choose_lighting(*scene->traced, scene->home);
  return scene;
}

}  // namespace heapwood::viewer
