// SPDX-License-Identifier: MIT
// The scene `pipes`, a plant: storeys of beams with slanted braces, bundles of pipes between them,
// and tanks. It has long and thin triangles at every angle. With more triangles the framework
// grows, so that pipes stay thin.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

#include "scenes/exact_math.hpp"
#include "scenes/families.hpp"
#include "scenes/ornaments.hpp"
#include "scenes/random.hpp"

namespace heapwood::scenes {
namespace {

constexpr Paint frame_paint{"blue-grey paint", {0.13f, 0.20f, 0.26f}},
    safety_yellow{"yellow paint", {0.78f, 0.46f, 0.03f}},
    galvanized{"galvanized steel", {0.42f, 0.44f, 0.45f}}, brick{"brick", {0.38f, 0.15f, 0.09f}},
    tank_paint{"cream paint", {0.74f, 0.70f, 0.60f}};
// Colours of bundles of pipes, used in turn.
constexpr Paint pipe_paints[] = {
    {"silver paint", {0.56f, 0.57f, 0.58f}}, {"green paint", {0.07f, 0.28f, 0.14f}},
    {"red paint", {0.50f, 0.06f, 0.04f}},    {"white paint", {0.76f, 0.75f, 0.72f}},
    {"blue paint", {0.05f, 0.17f, 0.42f}},   {"orange paint", {0.70f, 0.22f, 0.03f}},
    {"brown paint", {0.24f, 0.12f, 0.06f}}};

struct Plant {
  static constexpr float bay = 6, storey = 5;  // dimensions in metres
  Model model;
  Random random;
  unsigned nx, ny, nz;  // numbers of bays and storeys
  bool plain;
  float width, height, depth;
  unsigned bundles = 0;

  explicit Plant(const Request& request) : random(request.seed) {
    const float size = exact::cbrt(static_cast<float>(request.triangles) / 150'000);
    plain = request.triangles < 30'000;
    const auto bays = [&](float at_default) {
      return std::max(1u, static_cast<unsigned>(std::lround(at_default * size)));
    };
    nx = bays(5);
    ny = std::min(std::max(bays(3), plain ? 1u : 2u), 12u);
    nz = bays(3);
    width = bay * static_cast<float>(nx);
    height = storey * static_cast<float>(ny);
    depth = bay * static_cast<float>(nz);
  }

  // Adds a beam of two flanges and a web.
  void beam(Vec3 from, Vec3 to, float size) {
    const Vec3 along = to - from, d = normalize(along);
    const Vec3 a =
        normalize(cross(d, std::fabs(d.y) > 0.9f ? Vec3{0, 0, 1} : Vec3{0, 1, 0})) * size;
    const Vec3 b = normalize(cross(a, d)) * size;
    for (const float side : {-1.0f, 1.0f}) quad(model, from - a + b * side, along, a * 2);
    quad(model, from - b, along, b * 2);
  }
  Vec3 node(unsigned i, unsigned j, unsigned k) const {
    return {bay * static_cast<float>(i), storey * static_cast<float>(j),
            bay * static_cast<float>(k)};
  }

  void framework();
  void grating(Vec3 corner);
  void tank(Vec3 foot, float radius, float tall);
  void tanks();
  void pipe(const std::vector<Vec3>& corners, Vec3 offset, float radius, bool flanges);
  void bundle(unsigned bends);
};

void Plant::framework() {
  model.paint(frame_paint);
  for (unsigned i = 0; i <= nx; ++i) {
    for (unsigned k = 0; k <= nz; ++k) {
      beam(node(i, 0, k), node(i, ny, k), 0.16f);
      for (unsigned j = 1; j <= ny; ++j) {
        if (i < nx) beam(node(i, j, k), node(i + 1, j, k), 0.13f);
        if (k < nz) beam(node(i, j, k), node(i, j, k + 1), 0.13f);
        const bool face = k == 0 || k == nz;
        if (i < nx && face && random.chance(0.45f)) {
          rod(model, node(i, j - 1, k), node(i + 1, j, k), 0.06f, 6, 4);
          if (random.chance(0.5f)) rod(model, node(i + 1, j - 1, k), node(i, j, k), 0.06f, 6, 4);
        }
        if (k < nz && (i == 0 || i == nx) && random.chance(0.45f))
          rod(model, node(i, j - 1, k), node(i, j, k + 1), 0.06f, 6, 4);
      }
    }
  }
  model.paint({"concrete", {0.42f, 0.40f, 0.37f}});
  quad(model, {-0.4f * width, 0, -0.6f * depth}, {1.8f * width, 0, 0}, {0, 0, 2.2f * depth});
  if (plain) return;
  for (unsigned i = 0; i < nx; ++i) {
    for (unsigned j = 1; j <= ny; ++j) {
      for (unsigned k = 0; k < nz; ++k) {
        if (random.chance(0.3f)) grating(node(i, j, k) + Vec3{0, 0.14f, 0});
      }
    }
  }
}

// Adds a floor of bars with a railing for one bay.
void Plant::grating(Vec3 corner) {
  model.paint(galvanized);
  for (unsigned i = 0; i < 24; ++i) {
    const float z = bay * (static_cast<float>(i) + 0.5f) / 24;
    quad(model, corner + Vec3{0, 0, z - 0.05f}, {bay, 0, 0}, {0, 0, 0.1f});
  }
  model.paint(safety_yellow);
  for (const float y : {0.5f, 1.0f})
    rod(model, corner + Vec3{0, y, 0}, corner + Vec3{bay, y, 0}, 0.025f, 6, 4);
  for (unsigned i = 0; i <= 4; ++i) {
    const float x = bay * static_cast<float>(i) / 4;
    rod(model, corner + Vec3{x, 0, 0}, corner + Vec3{x, 1, 0}, 0.025f, 6, 4);
  }
}

void Plant::tank(Vec3 foot, float radius, float tall) {
  const float r = radius, cap = 0.45f * r;
  model.paint(tank_paint);
  lathe(model, place(foot), {{r, 0.6f}, {r, tall - cap}, {0, tall, 0.2f}}, 40, 0.6f, 8);
  lathe(model, place(foot), {{r, 0.6f}, {0, 0.6f}}, 40, 0, 8);
  if (plain) return;
  for (unsigned i = 0; i < 6; ++i) {
    const float a = pi / 3 * static_cast<float>(i);
    const Vec3 out = {0.85f * r * exact::cos(a), 0, 0.85f * r * exact::sin(a)};
    rod(model, foot + out, foot + out + Vec3{0, 0.7f, 0}, 0.12f, 8, 5);
  }
  for (float y = 1; y < tall - cap; y += 1.6f) {  // hoops
    lathe(model, place(foot + Vec3{0, y, 0}),
          {{r, 0}, {r + 0.05f, 0}, {r + 0.05f, 0.1f}, {r, 0.1f}}, 40, 0, 8);
  }
  model.paint(safety_yellow);
  for (const float z : {-0.22f, 0.22f}) {  // ladder
    rod(model, foot + Vec3{r + 0.15f, 0, z}, foot + Vec3{r + 0.15f, tall - cap + 0.6f, z}, 0.025f,
        6, 4);
  }
  for (float y = 0.3f; y < tall - cap; y += 0.35f) {
    rod(model, foot + Vec3{r + 0.15f, y, -0.22f}, foot + Vec3{r + 0.15f, y, 0.22f}, 0.015f, 5, 3);
  }
}

// Adds a pipe through the corners. Only bends are divided; flanges cover the joints.
void Plant::pipe(const std::vector<Vec3>& corners, Vec3 offset, float radius, bool flanges) {
  const float bend = 2.4f * radius, around = 13 + 14 * radius;
  const auto straight = [&](Vec3 from, Vec3 to) { rod(model, from, to, radius, around, 5); };
  const auto flange = [&](Vec3 from, Vec3 direction) {
    const Vec3 side = std::fabs(direction.y) < 0.9f ? Vec3{0, 1, 0} : Vec3{1, 0, 0};
    tube(model, {.path = [=](float t) { return from + direction * (t * 0.5f * radius); },
                 .radius = [=](float t) { return t > 0.1f && t < 0.9f ? 1.4f * radius : radius; },
                 .side = side,
                 .around = around,
                 .min_around = 5,
                 .min_along = 3});
  };
  Vec3 from = corners[0] + offset;
  for (std::size_t i = 1; i < corners.size(); ++i) {
    const Vec3 corner = corners[i] + offset, in = normalize(corners[i] - corners[i - 1]);
    if (i + 1 == corners.size()) {
      straight(from, corner);
      break;
    }
    const Vec3 out = normalize(corners[i + 1] - corners[i]);
    const Vec3 begin = corner - in * bend, end = corner + out * bend;
    straight(from, begin);
    tube(model,
         {.path = [=](float t) { return lerp(lerp(begin, corner, t), lerp(corner, end, t), t); },
          .radius = [=](float) { return radius; },
          .side = cross(in, out),
          .around = around,
          .along = 4,
          .min_around = 5,
          .min_along = 2});
    if (flanges) {
      flange(begin - in * (0.5f * radius), in);
      flange(end, out);
    }
    from = end;
  }
}

// Adds a few parallel pipes along the axes from bend to bend, some of them slanted.
void Plant::bundle(unsigned bends) {
  const bool thick = random.chance(0.25f);
  model.paint(pipe_paints[bundles++ % std::size(pipe_paints)]);
  const float radius = thick ? random.uniform(0.2f, 0.4f) : random.uniform(0.05f, 0.14f);
  const float extent[3] = {width, height, depth};
  const float shortest = 8 * radius + 0.6f;
  Vec3 position = {random.uniform(-0.05f, 1.05f) * width, random.uniform(0.08f, 1) * height,
                   random.uniform(0, 1) * depth};
  std::vector<Vec3> corners = {position};
  unsigned axis = random.below(3);
  for (unsigned i = 0; i <= bends; ++i, axis = (axis + 1 + random.below(2)) % 3) {
    const float here = position[axis], size = extent[axis];
    float there = random.uniform(axis == 1 ? 0.06f : -0.06f, 1.06f) * size;
    if (std::fabs(there - here) < shortest)
      there = here + (here > 0.5f * size ? -shortest : shortest);
    position = set(position, axis, there);
    if (axis != 1 && random.chance(0.25f)) {
      position.y =
          std::max(position.y + random.uniform(-0.3f, 0.3f) * std::fabs(there - here), 0.3f);
    }
    corners.push_back(position);
  }
  const unsigned pipes = plain || thick ? 1 : 1 + random.below(4);
  const float gap = 2.6f * radius;
  const bool flanges = random.chance(thick ? 0.7f : 0.15f);
  for (unsigned i = 0; i < pipes; ++i) {
    const float shift = gap * static_cast<float>(i);
    pipe(corners, {shift, shift, shift}, radius, flanges);
  }
}

void Plant::tanks() {
  const unsigned count = std::max(1u, nx * nz / 4);
  for (unsigned i = 0; i < count; ++i) {
    const unsigned z = random.below(nz), x = random.below(nx);
    const float tall = random.uniform(0.5f, 0.9f) * height, radius = random.uniform(1.4f, 2.2f);
    tank(node(x, 0, z) + Vec3{0.5f * bay, 0, 0.5f * bay}, radius, tall);
  }
  if (plain) return;
  model.paint(brick);
  for (unsigned i = 0; i < std::max(1u, nx / 4); ++i) {  // chimneys and their guys
    const Vec3 foot = {(0.3f + 0.6f * static_cast<float>(i)) * bay * 4, 0, -0.9f * bay};
    const float tall = 1.7f * height, r = 0.9f;
    lathe(model, place(foot),
          {{1.3f * r, 0},
           {r, tall},
           {1.15f * r, tall},
           {1.15f * r, tall + 0.6f},
           {0.9f * r, tall + 0.6f}},
          32, 0, 8);
    for (unsigned k = 0; k < 3; ++k) {
      const float a = 2 * pi / 3 * static_cast<float>(k) + 0.4f;
      rod(model, foot + Vec3{0.4f * tall * exact::cos(a), 0, 0.4f * tall * exact::sin(a)},
          foot + Vec3{0, 0.9f * tall, 0}, 0.02f, 6, 3);
    }
  }
}

}  // namespace

Mesh make_pipes(const Request& request) {
  Plant plant(request);
  plant.framework();
  plant.tanks();
  std::uint64_t count = plant.model.count(1);
  while (count < request.triangles) {
    const std::size_t first = plant.model.patches();
    plant.bundle(plant.plain ? 3 : 7);
    count += plant.model.count(1, first);
  }
  Mesh mesh = plant.model.tessellate(request.triangles, request.threads, request.content);
  drop_degenerate(mesh);
  const float w = plant.width, h = plant.height, d = plant.depth;
  mesh.camera =
      CameraHint{{-0.42f * w, 0.85f * h, 1.75f * d}, {0.5f * w, 0.46f * h, 0.45f * d}, 45};
  return mesh;
}

}  // namespace heapwood::scenes
