// SPDX-License-Identifier: MIT
#include "bench/scene_camera.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <sstream>
#include <vector>

#include "bench/program/command_files.hpp"
#include "bench/program/messages.hpp"
#include "bench/program/options.hpp"
#include "render/auto_camera.hpp"
#include "render/surface.hpp"
#include "scenes/file.hpp"
#include "scenes/scene.hpp"
#include "simt/error.hpp"

namespace heapwood::bench {
namespace {

// The words of the only nonblank line; '#' starts a comment. Throws Error{Exit::usage} for more.
std::vector<std::string> words_of_line(const std::string& text) {
  std::istringstream lines(std::string(scenes::without_byte_order_mark(text)));
  std::vector<std::string> words;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream in_line(line.substr(0, line.find('#')));
    const bool is_first = words.empty();
    for (std::string word; in_line >> word; words.push_back(word))
      if (!is_first) throw Error(Exit::usage, "it has more than one line");
  }
  return words;
}

std::optional<render::Camera> camera_beside(const std::string& source, const Vec3d& origin) {
  std::error_code unreadable;
  if (!std::filesystem::is_regular_file(source, unreadable)) return {};  // a procedural scene
  const std::string path = scenes::camera_path(source);
  const std::optional<std::string> text = read_text(path, Exit::scene);
  if (!text) return {};
  try {
    return parse_camera_line(*text, origin);
  } catch (const Error& error) {
    throw_error(Exit::scene, "{}: {}; the file holds one line: ex,ey,ez,tx,ty,tz,fov [--up x|y|z]",
                path, error.what());
  }
}

// Whether any ray of the picture hits the scene. Tries a few rays first.
bool sees_scene(const render::Scene& scene, const render::Camera& camera, double aspect) {
  for (const double count : {600.0, 230400.0}) {
    const auto height = static_cast<unsigned>(std::max(1.0, std::sqrt(count / aspect)));
    const auto width = static_cast<unsigned>(std::max(1.0, height * aspect));
    const render::CameraFrame frame = render::make_frame(camera, width, height);
    std::vector<kdtree::Ray> rays;
    for (unsigned y = 0; y < height; ++y) {
      for (unsigned x = 0; x < width; ++x) {
        rays.push_back(frame.ray(static_cast<float>(x) + 0.5f, static_cast<float>(y) + 0.5f,
                                 render::far_away));
      }
    }
    for (const kdtree::Hit& hit : scene.occluded(rays)) {
      if (hit.found()) return true;
    }
  }
  return false;
}

}  // namespace

// Refuses extents for which tracing would overflow: it squares lengths and multiplies edges.
void check_extent(const std::string& source, const scenes::Mesh& mesh) {
  const double min = 1e-18, max = 1e18;
  const Vec3 extent = scenes::bounds(mesh).extent();
  const double longest = std::max({extent.x, extent.y, extent.z});
  if (mesh.triangles.empty() || longest == 0 || (longest >= min && longest <= max)) return;
  const std::string problem =
      fmt::format("{}: the scene's extent is {:.3g}; rays are traced between {:g} and {:g}", source,
                  longest, min, max);
  if (!(longest < 1e37)) throw Error(Exit::scene, problem + ": scale its coordinates");
  warning(problem + ": surfaces may be missing; scale its coordinates");
}

render::Camera parse_camera_line(const std::string& text, const Vec3d& origin) {
  std::vector<std::string> words = words_of_line(text);
  if (!words.empty() && (words[0] == "--camera" || words[0] == "camera" || words[0] == "camera:")) {
    words.erase(words.begin());
  }
  if (words.empty()) throw Error(Exit::usage, "it contains no camera");
  if (words.size() > 1 && words[1] == "--up") {
    words.erase(words.begin() + 1);
    if (words.size() == 1) throw Error(Exit::usage, "--up without an axis");
  }
  if (words.size() > 2) throw_error(Exit::usage, "'{}' follows the up axis", words[2]);
  return render::parse_camera(words[0], words.size() > 1 ? parse_axis(words[1]) : 1, origin);
}

void add_camera_options(CommandOptions& command, CameraOptions& options) {
  command.text("--camera", options.camera,
               "ex,ey,ez,tx,ty,tz,fov: eye, target, vertical angle,\nin the scene's coordinates; "
               "default: the line in\nSCENE.camera beside the scene file (these numbers\n[--up "
               "AXIS]), else chosen automatically",
               "CAMERA");
  command.text("--up", options.up, "x, y or z; default: the scene's", "AXIS");
}

void check_camera(const CameraOptions& options) {
  if (!options.camera.empty()) render::check_camera_text(options.camera);
  if (!options.up.empty()) parse_axis(options.up);
}

render::Camera choose_camera(const CameraOptions& options, const std::string& source,
                             const scenes::Mesh& mesh, const render::Scene& scene, double aspect) {
  check_extent(source, mesh);
  const unsigned up = options.up.empty() ? mesh.up : parse_axis(options.up);
  const auto choose = [&]() -> render::Camera {
    if (!options.camera.empty()) return render::parse_camera(options.camera, up, mesh.origin);
    if (std::optional<render::Camera> beside = camera_beside(source, mesh.origin)) {
      if (!options.up.empty()) beside->up = up;
      return *beside;
    }
    if (mesh.camera && up == mesh.up)
      return {mesh.camera->eye, mesh.camera->target, mesh.camera->fov, up};
    return render::auto_camera(scene, up, static_cast<float>(aspect));
  };
  const render::Camera camera = render::representable(choose(), mesh.origin);
  if (!sees_scene(scene, camera, aspect)) {
    warning("{}: the camera sees nothing of the scene: --camera {}; choose another one", source,
            render::to_arguments(camera, mesh.origin));
  }
  return camera;
}

}  // namespace heapwood::bench
