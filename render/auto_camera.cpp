// SPDX-License-Identifier: MIT
#include "render/auto_camera.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "render/surface.hpp"

namespace heapwood::render {
namespace {

// The sample has at least this many triangles, if the mesh has them, and less than twice as many.
constexpr std::size_t min_sample = 30000;

// The box of the centres of a sample of the triangles, without those that have the outer tenth of
// the sample's area at each end of each axis. Empty if the sample has no area.
Box core_of(const kdtree::MeshView& mesh) {
  const std::size_t step = std::max<std::size_t>(1, mesh.triangles.size() / min_sample);
  Box core;
  for (unsigned axis = 0; axis < 3; ++axis) {
    std::vector<std::pair<float, double>> centres;  // with areas
    double all = 0, below = 0;
    for (std::size_t i = 0; i < mesh.triangles.size(); i += step) {
      const Corners t = kdtree::corners(mesh, static_cast<std::uint32_t>(i));
      centres.emplace_back(bounds(t).centre()[axis], area(t));
      all += centres.back().second;
    }
    std::sort(centres.begin(), centres.end());
    for (const auto& [centre, area] : centres) {
      if (below <= outlier_area * all) core.lo[axis] = centre;
      if (below < (1 - outlier_area) * all) core.hi[axis] = centre;
      below += area;
    }
  }
  return core;
}

}  // namespace

Box main_part(const kdtree::MeshView& mesh, const Box& all) {
  Box part = core_of(mesh);
  if (part.empty()) return all;
  // Replaces the box by that of all triangles near it, until the box stays the same.
  for (Box last; part != last;) {
    last = std::exchange(part, Box{});
    const Vec3d extent = to_double(last.hi) - to_double(last.lo);
    const auto gap = static_cast<float>(outlier_gap * std::hypot(extent.x, extent.y, extent.z));
    const Box limit{last.lo - Vec3{gap, gap, gap}, last.hi + Vec3{gap, gap, gap}};
    for (std::uint32_t i = 0; i < mesh.triangles.size(); ++i) {
      const Box box = bounds(kdtree::corners(mesh, i));
      if (!intersect(box, limit).empty()) part.grow(box);
    }
  }
  return part;
}

namespace {

constexpr unsigned view_columns = 32, view_rows = 18;
constexpr float outside_fov = 38, inside_fov = 62;

// Entropy of a histogram, divided by the largest entropy that `bins` bins can have.
double variety(const std::map<int, unsigned>& histogram, double bins) {
  double total = 0, entropy = 0;
  for (const auto& [bin, count] : histogram) total += count;
  for (const auto& [bin, count] : histogram) entropy -= count / total * std::log(count / total);
  return std::min(1.0, entropy / std::log(bins));
}

float radians(float degrees) { return degrees * std::numbers::pi_v<float> / 180; }

// Axes of a scene: `up` and two horizontal ones. Models with this up axis usually face `front`.
struct Axes {
  Vec3 up, front, side;
  explicit Axes(unsigned axis)
      : up(axis_vector(axis)),
        front(axis == 1   ? Vec3{0, 0, 1}
              : axis == 2 ? Vec3{0, -1, 0}
                          : Vec3{0, 0, 1}) {
    side = cross(up, front);
  }
  Vec3 level(float azimuth) const { return front * std::cos(azimuth) + side * std::sin(azimuth); }
};

// Corners inside the box of fewer than 60,000 triangles spread over the mesh, for framing.
// Triangles are used, not the vertex array, because a mesh may contain unused vertices.
std::vector<Vec3> silhouette(const kdtree::MeshView& mesh, const Box& box) {
  std::vector<Vec3> points;
  const std::size_t step = std::max<std::size_t>(1, mesh.triangles.size() / 30000);
  for (std::size_t i = 0; i < mesh.triangles.size(); i += step) {
    for (const std::uint32_t v : mesh.triangles[i].v) {
      if (box.contains(mesh.vertices[v])) points.push_back(mesh.vertices[v]);
    }
  }
  return points;
}

// The closest view from this direction that shows all points, with the model in the middle.
Camera outside_view(const std::vector<Vec3>& points, unsigned up, float azimuth, float elevation,
                    float aspect) {
  const Axes axes(up);
  const Vec3 away = axes.level(azimuth) * std::cos(elevation) + axes.up * std::sin(elevation);
  const Vec3 right = normalize(cross(-away, axes.up));
  const Vec3 above = cross(right, -away);
  Box box;  // bounds along the view's axes
  for (const Vec3& p : points) box.grow(Vec3{dot(p, right), dot(p, above), dot(p, away)});
  const Vec3 centre = box.centre();
  const float half = std::tan(radians(outside_fov) / 2) * 0.88f;
  float distance = 0;
  for (const Vec3& p : points) {
    const float x = std::fabs(dot(p, right) - centre.x) / aspect,
                y = std::fabs(dot(p, above) - centre.y);
    distance = std::max(distance, std::max(x, y) / half + dot(p, away) - centre.z);
  }
  const Vec3 target = right * centre.x + above * centre.y + away * centre.z;
  return {target + away * distance, target, outside_fov, up};
}

// The axis along which the box is flat, such as that of a board or a plain, if there is one. The
// scene is then shown at 25 to 30 degrees from that axis.
std::optional<unsigned> thin_axis(const Box& box) {
  const Vec3 extent = box.extent();
  for (unsigned axis = 0; axis < 3; ++axis) {
    if (extent[axis] < 0.05f * std::min(extent[(axis + 1) % 3], extent[(axis + 2) % 3]))
      return axis;
  }
  return std::nullopt;
}

std::vector<Camera> inside_views(const Box& box, unsigned up) {
  const Axes axes(up);
  const Vec3 extent = box.extent();
  const unsigned a = (up + 1) % 3, b = (up + 2) % 3;
  const unsigned along = extent[a] >= extent[b] ? a : b;
  const unsigned across = along == a ? b : a;
  std::vector<Camera> views;
  for (const float s : {0.08f, 0.2f, 0.8f, 0.92f}) {
    for (const float w : {0.2f, 0.35f, 0.5f, 0.65f, 0.8f}) {
      for (const float h : {0.15f, 0.3f, 0.45f}) {
        for (const float aim : {0.3f, 0.5f, 0.7f}) {
          const auto point_at = [&](float l, float w_, float h_) {
            const Vec3 point = set(set({}, along, box.lo[along] + l * extent[along]), across,
                                   box.lo[across] + w_ * extent[across]);
            return set(point, up, box.lo[up] + h_ * extent[up]);
          };
          const Camera camera{point_at(s, w, h),
                              point_at(s < 0.5f ? 0.9f : 0.1f, aim, 0.5f * h + 0.12f), inside_fov,
                              up};
          if (camera.eye != camera.target) views.push_back(camera);
        }
      }
    }
  }
  return views;
}

// What is visible from points spread over the lower part of the box.
struct Inside {
  double enclosure = 0;  // share of horizontal rays that hit
  double hidden = 0;     // share of pairs of enclosed points that do not see each other
};

// If `oriented` (faces point outwards), ignores points from which most rays hit backs: inside
// solids.
Inside look_inside(const Scene& scene, const Box& box, unsigned up, bool oriented) {
  constexpr unsigned level = 7, heights = 3, directions = 12;
  const Axes axes(up);
  std::vector<kdtree::Ray> rays;
  for (unsigned i = 0; i < level * level * heights; ++i) {
    const auto share = [](unsigned index, unsigned count) {
      return (static_cast<float>(index) + 0.5f) / static_cast<float>(count);
    };
    const float height = 0.1f + 0.35f * share(i / (level * level), heights);
    const Vec3 share_of_box = set(set(set({}, (up + 1) % 3, share(i % level, level)), (up + 2) % 3,
                                      share(i / level % level, level)),
                                  up, height);
    for (unsigned d = 0; d < directions; ++d) {
      rays.push_back({box.lo + box.extent() * share_of_box, 0,
                      axes.level(radians(360.0f / directions * (static_cast<float>(d) + 0.37f))),
                      far_away});
    }
  }
  const std::vector<kdtree::Hit> hits = scene.closest(rays);
  double open = 0, closed = 0;
  std::vector<Vec3> enclosed;
  for (std::size_t point = 0; point < rays.size(); point += directions) {
    unsigned found = 0, backs = 0;
    for (std::size_t i = point; i < point + directions; ++i) {
      found += hits[i].found();
      backs += hits[i].found() && scene.seen_from_behind(hits[i].triangle, rays[i]);
    }
    if (oriented && backs * 2 > directions) continue;
    closed += found;
    open += directions - found;
    if (found == directions) enclosed.push_back(rays[point].origin);
  }
  if (closed == 0) return {};
  Inside inside{closed / (closed + open), 0};
  rays.clear();
  for (std::size_t apart = 1; apart < enclosed.size(); apart += 2) {
    for (std::size_t i = 0; i + apart < enclosed.size(); ++i) {
      const Vec3 to = enclosed[i + apart] - enclosed[i];
      rays.push_back({enclosed[i], 0, normalize(to), length(to)});
    }
  }
  if (rays.empty()) return inside;
  for (const kdtree::Hit& hit : scene.occluded(rays)) inside.hidden += hit.found();
  inside.hidden /= static_cast<double>(rays.size());
  return inside;
}

// Whether to show the scene from inside. A closed shape that is convex and empty has nothing to
// show inside, so it is not an interior.
bool is_interior(const Inside& inside) { return inside.enclosure >= 0.85 && inside.hidden > 0.005; }

ViewScore score_view(const Scene& scene, const Camera& camera, float aspect, float diagonal) {
  const CameraFrame frame = make_frame(camera, static_cast<unsigned>(1000 * aspect), 1000);
  std::vector<kdtree::Ray> rays;
  for (unsigned y = 0; y < view_rows; ++y) {
    for (unsigned x = 0; x < view_columns; ++x) {
      rays.push_back(frame.ray((static_cast<float>(x) + 0.5f) * 1000 * aspect / view_columns,
                               (static_cast<float>(y) + 0.5f) * 1000 / view_rows, far_away));
    }
  }
  const std::vector<kdtree::Hit> hits = scene.closest(rays);
  std::map<int, unsigned> depths, normals;
  std::set<std::uint32_t> triangles;
  ViewScore view;
  double count = 0, near = 0;  // near: a hit counts 1 up to 2% of the diagonal, 0 from 8%
  for (std::size_t i = 0; i < hits.size(); ++i) {
    if (!hits[i].found()) continue;
    count += 1;
    const float distance = hits[i].t / diagonal;
    near += std::clamp((0.08f - distance) / 0.06f, 0.0f, 1.0f);
    ++depths[static_cast<int>(std::floor(std::log2(std::max(distance, 1e-3f)) * 4))];
    const Vec3 n = scene.normal(hits[i].triangle, rays[i]);
    ++normals[static_cast<int>(std::lround(2 * n.x) * 25 + std::lround(2 * n.y) * 5 +
                               std::lround(2 * n.z))];
    triangles.insert(hits[i].triangle);
    view.backs += scene.seen_from_behind(hits[i].triangle, rays[i]);
  }
  if (count == 0) return view;
  const auto total = static_cast<double>(rays.size());
  view.coverage = count / total;
  view.backs /= count;
  view.score = 0.9 * variety(depths, 20) + variety(normals, 40) +
               (0.8 * static_cast<double>(triangles.size()) - 1.5 * near) / count;
  return view;
}

}  // namespace

ViewScore score_view(const Scene& scene, const Camera& camera, float aspect) {
  return score_view(scene, camera, aspect,
                    length(main_part(scene.mesh(), scene.bounds()).extent()));
}

Camera auto_camera(const Scene& scene, unsigned up, float aspect) {
  Camera best;
  best.up = up;
  const Box box = main_part(scene.mesh(), scene.bounds());
  const float diagonal = box.empty() ? 0 : length(box.extent());
  if (!(diagonal > 0)) return best;
  double best_score = -1e30, best_backs = 0;
  const auto consider = [&](const Camera& camera, const ViewScore& view, double score) {
    if (score > best_score + 1e-9) {
      best = camera;
      best_backs = view.backs;
      best_score = score;
    }
  };
  bool oriented = false;
  const std::vector<Vec3> points = silhouette(scene.mesh(), box);
  const std::optional<unsigned> thin = thin_axis(box);
  std::vector<float> azimuths{28, -28, 152, -152, 75, -75}, elevations{12, 24};
  if (thin == up) {
    elevations = {62};
  } else if (thin) {
    azimuths = Axes(up).front[*thin] != 0 ? std::vector<float>{22, -22, 158, -158}
                                          : std::vector<float>{68, 112, -68, -112};
    elevations = {12, 20};
  }
  for (const float azimuth : azimuths) {
    for (const float elevation : elevations) {
      const Camera camera = outside_view(points, up, radians(azimuth), radians(elevation), aspect);
      const ViewScore view = score_view(scene, camera, aspect, diagonal);
      oriented = oriented || (view.coverage > 0 && view.backs < 0.05);
      // Views from the front get a bonus, because most models face that way.
      consider(camera, view,
               view.score + (std::fabs(azimuth) < 90 ? 0.1 : 0.0) +
                   (std::fabs(azimuth) < 45 ? 0.15 : 0.0) - (thin ? view.backs : 0));
    }
  }
  if (thin) return best;
  // If walls are seen from behind, tries other views: a room without a front wall is shown from
  // its open side.
  if (best_backs > 0.1) {
    for (const float azimuth : {0.0f, 180.0f, 90.0f, -90.0f}) {
      const Camera camera = outside_view(points, up, radians(azimuth), 0, aspect);
      const ViewScore view = score_view(scene, camera, aspect, diagonal);
      if (view.coverage > 0 && view.backs < 0.02) return camera;
    }
  }
  if (!is_interior(look_inside(scene, box, up, oriented))) return best;
  best_score = -1e30;
  for (const Camera& camera : inside_views(box, up)) {
    const ViewScore view = score_view(scene, camera, aspect, diagonal);
    const bool solid = oriented && view.backs > 0.5;
    if (!solid) consider(camera, view, view.score - 2 * std::max(0.0, 0.9 - view.coverage));
  }
  return best;
}

}  // namespace heapwood::render
