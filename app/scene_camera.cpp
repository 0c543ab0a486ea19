// SPDX-License-Identifier: MIT
#include "app/scene_camera.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "app/commands.hpp"
#include "app/options.hpp"
#include "render/auto_camera.hpp"
#include "simt/error.hpp"

namespace heapwood::app {
namespace {

std::optional<render::Camera> camera_beside(const std::string& source) {
  std::error_code unreadable;
  if (!std::filesystem::is_regular_file(source, unreadable)) return {};  // a procedural scene
  const std::filesystem::path path = std::filesystem::path(source).replace_extension(".camera");
  std::ifstream file(path);
  if (!file) return {};
  std::string line, numbers, up = "y", rest;
  while (numbers.empty() && std::getline(file, line)) {
    std::istringstream words(line.substr(0, line.find('#')));
    words >> numbers >> up >> rest;
    if (up.empty()) up = "y";
  }
  try {
    if (!rest.empty()) throw Error(Exit::usage, "'" + rest + "' follows the up axis");
    return render::parse_camera(numbers, parse_axis(up));
  } catch (const Error& error) {
    throw Error(Exit::scene, path.string() + ": " + error.what() + " (ex,ey,ez,tx,ty,tz,fov and an up axis)");
  }
}

// Rays square lengths, and multiply edges: outside of this range floats end first. Trees do not mind.
void check_extent(const std::string& source, const scenes::Mesh& mesh) {
  const double least = 1e-18, most = 1e18;
  const Vec3 extent = scenes::bounds(mesh).extent();
  const double longest = std::max({extent.x, extent.y, extent.z});
  if (mesh.triangles.empty() || longest == 0 || (longest >= least && longest <= most)) return;
  const std::string problem = fmt::format("{}: the scene's extent is {:.3g}; rays are traced between {:g} and {:g}",
                                          source, longest, least, most);
  if (!(longest < 1e37)) throw Error(Exit::scene, problem + ": scale its coordinates");
  warning(problem + ": surfaces may be missing; scale its coordinates");
}

}  // namespace

void add_camera_options(CLI::App& app, CameraOptions& options) {
  app.add_option("--camera", options.camera,
                 "ex,ey,ez,tx,ty,tz,fov: eye, target, vertical\ndegrees; else SCENE.camera beside the scene,\nelse "
                 "found by looking")
      ->type_name("CAMERA");
  app.add_option("--up", options.up, "x, y or z; the scene's own if left out")->type_name("AXIS");
}

void check_camera(const CameraOptions& options) {
  if (!options.camera.empty()) render::make_frame(render::parse_camera(options.camera, 1), 16, 16);
  if (!options.up.empty()) parse_axis(options.up);
}

render::Camera choose_camera(const CameraOptions& options, const std::string& source, const scenes::Mesh& mesh,
                             const render::Scene& scene, double aspect) {
  check_extent(source, mesh);
  const unsigned up = options.up.empty() ? mesh.up : parse_axis(options.up);
  if (!options.camera.empty()) return render::parse_camera(options.camera, up);
  if (std::optional<render::Camera> beside = camera_beside(source)) {
    if (!options.up.empty()) beside->up = up;
    return *beside;
  }
  if (mesh.camera && up == mesh.up) return {mesh.camera->eye, mesh.camera->target, mesh.camera->fov, up};
  return render::auto_camera(scene, up, static_cast<float>(aspect));
}

}  // namespace heapwood::app
