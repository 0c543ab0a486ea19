// SPDX-License-Identifier: MIT
// A moving scene between two meshes: each vertex moves along a straight line at constant speed.
#include "scenes/file.hpp"
#include "scenes/moving/sources.hpp"
#include "scenes/shapes.hpp"
#include "simt/cpu.hpp"
#include "simt/error.hpp"

namespace heapwood::scenes {
namespace {

std::string counts(const Mesh& mesh) {
  return concat(mesh.triangles.size(), " triangles with ", mesh.vertices.size(), " vertices");
}

class Interpolation : public MovingScene {
 public:
  explicit Interpolation(const Between& between) : frames_(between.frames) {
    first_ = load(between.from);
    Mesh last = load(between.to);
    const std::string from = printable(between.from, between.from.size()),
                      to = printable(between.to, between.to.size());
    require_triangles(first_, from);
    if (first_.vertices.size() != last.vertices.size() || first_.triangles != last.triangles) {
      const std::string a = counts(first_), b = counts(last);
      throw Error(Exit::scene,
                  from + ".." + to + ": interpolation needs the same triangles in both meshes: " +
                      (a == b ? "both have " + a + ", but the triangles differ in their indices"
                              : a + " and " + b));
    }
    move_origin(last, first_.origin);
    last_ = std::move(last.vertices);
  }
  unsigned frames() const override { return frames_; }
  Mesh mesh(unsigned frame) const override {
    Mesh mesh = first_;
    const float t = static_cast<float>(frame) / static_cast<float>(frames_ - 1);
    simt::Cpu().for_each(last_.size(), [&](std::size_t i) {
      mesh.vertices[i] = lerp(first_.vertices[i], last_[i], t);
    });
    check(mesh, mesh.name);
    return mesh;
  }

 private:
  unsigned frames_;
  Mesh first_;
  std::vector<Vec3> last_;
};

}  // namespace

std::optional<Between> parse_between(const std::string& text) {
  // Paths may contain `..`, too: the one meant follows the name of a mesh file.
  for (std::size_t at = text.find(".."); at != std::string::npos; at = text.find("..", at + 1)) {
    Between between{text.substr(0, at), text.substr(at + 2)};
    if (!is_mesh_file(between.from)) continue;
    const std::size_t colon = between.to.rfind(':');
    if (colon != std::string::npos && is_mesh_file(between.to.substr(0, colon))) {
      const std::string count = between.to.substr(colon + 1);
      between.to.resize(colon);
      if (!parse_number(count, between.frames) || between.frames < 2 ||
          between.frames > max_frames) {
        throw Error(Exit::usage,
                    concat("scene `", printable(text, text.size()), "`: `", printable(count),
                           "` is not a number of frames from 2 to ", max_frames));
      }
    }
    if (is_mesh_file(between.to)) return between;
  }
  return std::nullopt;
}

std::unique_ptr<MovingScene> open_between(const Between& between) {
  return std::make_unique<Interpolation>(between);
}

}  // namespace heapwood::scenes
