// SPDX-License-Identifier: MIT
#include "scenes/shapes.hpp"

#include <cmath>
#include <utility>

#include "scenes/exact_math.hpp"

namespace heapwood::scenes {
namespace {

float per(float length, float cell) { return cell > 0 ? length / cell : 0; }

Vec3 about_y(float radius, float y, float u) {
  return {radius * exact::cos(2 * pi * u), y, -radius * exact::sin(2 * pi * u)};
}

}  // namespace

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
  const std::size_t twins = model.patches() + 1;  // pieces meet vertex to vertex
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
  // Two steps and a round bead, which is wider than deep.
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
