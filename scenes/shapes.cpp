// SPDX-License-Identifier: MIT
#include "scenes/shapes.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "scenes/exact_math.hpp"
#include "scenes/random.hpp"
#include "simt/cpu.hpp"

namespace heapwood::scenes {

namespace {

struct Grid {
  std::uint32_t u, v;  // numbers of cells
};

// The number of cells for a wanted length. Each patch rounds at a different density: if equal
// patches all gained a cell at the same density, the total would jump.
std::uint32_t cells(float wanted, unsigned min_cells, std::uint64_t id) {
  const float rounded = std::min(wanted, 1e6f) + unit_float(mix(id));
  return std::max(min_cells, static_cast<std::uint32_t>(rounded));
}

Grid grid(const Patch& patch, std::size_t index, float density) {
  return {cells(density * patch.cells_u, std::max(patch.min_u, patch.closed ? 3u : 1u),
                patch.twins_u != 0 ? ~patch.twins_u : 2 * index),
          cells(density * patch.cells_v,
                std::max(patch.min_v, patch.pole_first && patch.pole_last ? 2u : 1u),
                patch.twins_v != 0 ? ~patch.twins_v : 2 * index + 1)};
}

std::uint64_t row_vertices(const Patch& patch, Grid grid, std::uint32_t row) {
  if ((row == 0 && patch.pole_first) || (row == grid.v && patch.pole_last)) return 1;
  return patch.closed ? grid.u : grid.u + 1;
}

std::uint64_t vertices_before(const Patch& patch, Grid grid, std::uint32_t row) {
  if (row == 0) return 0;
  const std::uint64_t width = patch.closed ? grid.u : grid.u + 1;
  return row * width - (patch.pole_first ? width - 1 : 0);
}

std::uint64_t triangles_before(const Patch& patch, Grid grid, std::uint32_t row) {
  std::uint64_t count = std::uint64_t{2} * row * grid.u;
  if (row > 0 && patch.pole_first) count -= grid.u;
  if (row == grid.v && patch.pole_last) count -= grid.u;
  return count;
}

// The first row, vertex and triangle of a patch.
struct Begin {
  std::uint64_t row = 0, vertex = 0, triangle = 0;
  Grid grid{};
};

void fill_row(Mesh& mesh, const Patch& patch, const Begin& begin, std::uint32_t row) {
  const Grid n = begin.grid;
  const auto first = static_cast<std::uint32_t>(begin.vertex + vertices_before(patch, n, row));
  const std::uint64_t width = row_vertices(patch, n, row);
  const float v = static_cast<float>(row) / static_cast<float>(n.v);
  for (std::uint64_t i = 0; i < width; ++i) {
    mesh.vertices[first + i] = patch.point(static_cast<float>(i) / static_cast<float>(n.u), v);
  }
  if (row == n.v) return;

  const auto above = static_cast<std::uint32_t>(first + width);
  const std::uint64_t above_width = row_vertices(patch, n, row + 1);
  Triangle* out = mesh.triangles.data() + begin.triangle + triangles_before(patch, n, row);
  for (std::uint32_t i = 0; i < n.u; ++i) {
    const std::uint32_t next = patch.closed && i + 1 == n.u ? 0 : i + 1;
    const bool point = width == 1, point_above = above_width == 1;
    if (point) {
      *out++ = {{first, above + next, above + i}};
    } else if (point_above) {
      *out++ = {{first + i, first + next, above}};
    } else {
      *out++ = {{first + i, first + next, above + next}};
      *out++ = {{first + i, above + next, above + i}};
    }
  }
}

float per(float length, float cell) { return cell > 0 ? length / cell : 0; }

Vec3 about_y(float radius, float y, float u) {
  return {radius * exact::cos(2 * pi * u), y, -radius * exact::sin(2 * pi * u)};
}

}  // namespace

std::uint64_t Model::count(float density, std::size_t first) const {
  std::uint64_t sum = 0;
  for (std::size_t i = first; i < patches_.size(); ++i) {
    const Grid n = grid(patches_[i], i, density);
    sum += triangles_before(patches_[i], n, n.v);
  }
  return sum;
}

void Model::paint(const Paint& paint) {
  const auto found = std::ranges::find_if(paints_, [&](const Paint& known) {
    return known.colour == paint.colour && std::string_view(known.name) == paint.name;
  });
  paint_ = static_cast<std::uint32_t>(found - paints_.begin());
  if (found == paints_.end()) paints_.push_back(paint);
}

Mesh Model::tessellate(std::uint64_t target, unsigned threads, Content content) const {
  float low = 0, high = 1;
  while (count(high) < target && high < 1e6f) high *= 2;
  for (unsigned i = 0; i < 40; ++i) {
    const float middle = low + (high - low) / 2;
    (count(middle) <= target ? low : high) = middle;
  }
  const float density =
      count(low) <= target && target - count(low) <= count(high) - target ? low : high;

  std::vector<Begin> begins(patches_.size() + 1);
  for (std::size_t i = 0; i < patches_.size(); ++i) {
    Begin& begin = begins[i];
    begin.grid = grid(patches_[i], i, density);
    const std::uint32_t rows = begin.grid.v;
    begins[i + 1].row = begin.row + rows + 1;
    begins[i + 1].vertex = begin.vertex + vertices_before(patches_[i], begin.grid, rows) +
                           row_vertices(patches_[i], begin.grid, rows);
    begins[i + 1].triangle = begin.triangle + triangles_before(patches_[i], begin.grid, rows);
  }

  Mesh mesh;
  mesh.vertices.resize(begins.back().vertex);
  mesh.triangles.resize(begins.back().triangle);
  const simt::Cpu cpu({.threads = static_cast<int>(threads)});
  cpu.for_each(begins.back().row, [&](std::size_t row) {
    const auto next = std::ranges::upper_bound(begins, row, {}, &Begin::row);
    const auto index = static_cast<std::size_t>(next - begins.begin() - 1);
    fill_row(mesh, patches_[index], begins[index],
             static_cast<std::uint32_t>(row - begins[index].row));
  });
  if (content == Content::materials && !paints_.empty()) {
    for (const Paint& paint : paints_)
      mesh.appearance.materials.push_back({.name = paint.name, .colour = paint.colour});
    std::vector<std::uint32_t>& materials = mesh.appearance.triangle_materials;
    materials.reserve(mesh.triangles.size());
    for (std::size_t i = 0; i < patches_.size(); ++i)
      materials.resize(begins[i + 1].triangle, patches_[i].paint);
  }
  return mesh;
}

Frame place(Vec3 origin, float scale, float turn) {
  const float c = scale * exact::cos(turn), s = scale * exact::sin(turn);
  return {origin, {c, 0, -s}, {0, scale, 0}, {s, 0, c}};
}

Frame within(const Frame& outer, const Frame& inner) {
  const auto turned = [&](Vec3 p) { return outer(p) - outer.origin; };
  return {outer(inner.origin), turned(inner.x), turned(inner.y), turned(inner.z)};
}

void quad(Model& model, Vec3 origin, Vec3 edge_u, Vec3 edge_v, float cell) {
  model.add({.point = [=](float u, float v) { return origin + edge_u * u + edge_v * v; },
             .cells_u = per(length(edge_u), cell),
             .cells_v = per(length(edge_v), cell)});
}

void facet(Model& model, Vec3 a, Vec3 b, Vec3 c, Vec3 d, float cell) {
  model.add({.point = [=](float u, float v) { return lerp(lerp(a, b, u), lerp(d, c, u), v); },
             .cells_u = per(length(b - a), cell),
             .cells_v = per(length(d - a), cell)});
}

void box(Model& model, const Frame& frame, Vec3 low, Vec3 high, float cell) {
  const Vec3 x = frame.x * (high.x - low.x), y = frame.y * (high.y - low.y),
             z = frame.z * (high.z - low.z);
  const Vec3 a = frame(low), b = frame(high);
  quad(model, a, y, x, cell);
  quad(model, a, x, z, cell);
  quad(model, a, z, y, cell);
  quad(model, b, -x, -y, cell);
  quad(model, b, -z, -x, cell);
  quad(model, b, -y, -z, cell);
}

void lathe(Model& model, const Frame& frame, Profile profile, float around, float cell,
           unsigned min_cells, const std::function<float(float, float)>& ripple) {
  const Turn* const points = profile.begin();
  const std::size_t twins = model.patches() + 1;  // makes pieces meet vertex to vertex
  for (std::size_t i = 1; i < profile.size(); ++i) {
    const Turn from = points[i - 1], to = points[i];
    const float dr = to.radius - from.radius, dy = to.y - from.y;
    const auto point = [=](float u, float v) {
      const float lift = to.bulge * 4 * v * (1 - v);
      const float radius = from.radius + dr * v + dy * lift, y = from.y + dy * v - dr * lift;
      return frame(about_y(ripple ? radius * ripple(2 * pi * u, y) : radius, y, u));
    };
    model.add({.point = point,
               .cells_u = around,
               .cells_v = per(exact::hypot(dr, dy) * (1 + 2 * std::fabs(to.bulge)), cell),
               .min_u = min_cells,
               .min_v = to.bulge != 0 && min_cells > 8 ? 2u : 1u,
               .closed = true,
               .twins_u = twins,
               .pole_first = from.radius == 0,
               .pole_last = to.radius == 0});
  }
}

void ball(Model& model, const Frame& frame, float radius, float around, unsigned min_cells) {
  const auto point = [=](float u, float v) {
    return frame(about_y(radius * exact::sin(pi * v), -radius * exact::cos(pi * v), u));
  };
  model.add({.point = point,
             .cells_u = around,
             .cells_v = around / 2,
             .min_u = min_cells,
             .min_v = (min_cells + 1) / 2,
             .closed = true,
             .pole_first = true,
             .pole_last = true});
}

void disc(Model& model, const Frame& frame, float radius, float around, unsigned min_cells) {
  model.add({.point = [=](float u, float v) { return frame(about_y(radius * (1 - v), 0, u)); },
             .cells_u = around,
             .min_u = min_cells,
             .closed = true,
             .pole_last = true});
}

void tube(Model& model, Tube tube) {
  const float along = tube.along, around = tube.around;
  const unsigned min_along = tube.min_along, min_around = tube.min_around;
  const auto point = [tube = std::move(tube)](float u, float v) {
    const float step = 1e-3f;
    const Vec3 tangent =
        normalize(tube.path(std::fmin(v + step, 1.0f)) - tube.path(std::fmax(v - step, 0.0f)));
    const Vec3 a = normalize(cross(tangent, tube.side));
    const Vec3 b = cross(a, tangent);
    return tube.path(v) +
           (a * exact::cos(2 * pi * u) + b * exact::sin(2 * pi * u)) * tube.radius(v);
  };
  model.add({.point = point,
             .cells_u = around,
             .cells_v = along,
             .min_u = min_around,
             .min_v = min_along,
             .closed = true});
}

void rod(Model& model, Vec3 from, Vec3 to, float radius, float around, unsigned min_cells,
         float along) {
  const Vec3 d = normalize(to - from);
  const Vec3 side = std::fabs(d.y) < 0.9f ? Vec3{0, 1, 0} : Vec3{1, 0, 0};
  tube(model, {.path = [=](float t) { return lerp(from, to, t); },
               .radius = [=](float) { return radius; },
               .side = side,
               .around = around,
               .along = along,
               .min_around = min_cells});
}

void arch(Model& model, const Frame& frame, const Arch& a) {
  const auto edge = [=](float u, float radius) {
    return Vec3{-radius * exact::cos(pi * u), a.spring + radius * exact::sin(pi * u), 0};
  };
  for (const float side : {-0.5f, 0.5f}) {
    model.add({.point =
                   [=](float u, float v) {
                     const Vec3 low = edge(u, a.radius);
                     return frame(Vec3{low.x, low.y * (1 - v) + a.top * v, side * a.depth});
                   },
               .cells_u = a.along,
               .min_u = a.min_cells});
  }
  model.add({.point =
                 [=](float u, float v) {
                   const Vec3 p = edge(u, a.radius);
                   return frame({p.x, p.y, (v - 0.5f) * a.depth});
                 },
             .cells_u = a.along,
             .min_u = a.min_cells});
  if (a.moulding <= 0) return;
  // The moulding: two steps, and a round bead that is wider than deep.
  for (const float side : {-1.0f, 1.0f}) {
    const auto band = [&, side](float inner, float outer, float raised) {
      sweep(
          model,
          [=](float t, float x, float y) {
            const Vec3 p = edge(t, a.radius + inner + (outer - inner) * x);
            return frame({p.x, p.y, side * (0.5f * a.depth + raised * y)});
          },
          a.along, a.min_cells);
    };
    band(0, a.moulding, 0.35f * a.moulding);
    band(1.3f * a.moulding, 1.6f * a.moulding, 0.6f * a.moulding);
  }
}

void sweep(Model& model, const std::function<Vec3(float t, float a, float b)>& point, float along,
           unsigned min_cells) {
  const float corners[4][4] = {{0, 0, 1, 0}, {1, 0, 1, 1}, {1, 1, 0, 1}, {0, 1, 0, 0}};
  for (const auto& c : corners) {
    const float a0 = c[0], b0 = c[1], a1 = c[2], b1 = c[3];
    model.add({.point = [=](float u,
                            float v) { return point(u, a0 + (a1 - a0) * v, b0 + (b1 - b0) * v); },
               .cells_u = along,
               .min_u = min_cells});
  }
  for (const float end : {0.0f, 1.0f})
    model.add({.point = [=](float u, float v) { return point(end, u, v); }});
}

}  // namespace heapwood::scenes
