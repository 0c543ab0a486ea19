// SPDX-License-Identifier: MIT
// The scene `stadium`: a tiny teapot, which has nearly all triangles, in a hall of 180 metres.
#include <cmath>

#include "scenes/exact_math.hpp"
#include "scenes/families.hpp"
#include "scenes/ornaments.hpp"
#include "scenes/random.hpp"

namespace heapwood::scenes {
namespace {

constexpr Paint grass{"grass", {0.07f, 0.17f, 0.035f}}, concrete{"concrete", {0.46f, 0.44f, 0.41f}},
    blue_seats{"blue seats", {0.05f, 0.14f, 0.38f}}, red_seats{"red seats", {0.40f, 0.06f, 0.05f}},
    white_paint{"white paint", {0.78f, 0.78f, 0.76f}}, roofing{"roofing", {0.60f, 0.63f, 0.66f}},
    board{"board", {0.70f, 0.42f, 0.05f}}, plinth{"plinth", {0.30f, 0.28f, 0.27f}},
    copper{"copper", {0.50f, 0.19f, 0.09f}};

// Dimensions in metres: half axes of the innermost row, size of a step.
constexpr float half_x = 58, half_z = 40, step_depth = 0.9f, step_height = 0.45f;

// A point of a rounded rectangle that is `out` outside the innermost row.
Vec3 around(float u, float out, float y) {
  const float a = 2 * pi * u, c = exact::cos(a), s = exact::sin(a);
  const auto flat = [](float x) { return std::copysign(exact::pow(std::fabs(x), 0.7f), x); };
  return {(half_x + out) * flat(c), y, (half_z + out) * flat(s)};
}

// Adds a strip around the hall between two rings.
void strip(Model& model, float out0, float y0, float out1, float y1, float cells) {
  model.add(
      {.point = [=](float u,
                    float v) { return around(u, out0 + (out1 - out0) * v, y0 + (y1 - y0) * v); },
       .cells_u = cells,
       .min_u = 12,
       .closed = true,
       .twins_u = 2'000'000});  // makes strips meet vertex to vertex
}

float stand(Model& model, const Paint& seats, unsigned rows, float out, float y, float scale,
            float cells) {
  for (unsigned i = 0; i < rows; ++i) {
    model.paint(seats);
    strip(model, out, y, out, y + step_height * scale, cells);
    y += step_height * scale;
    model.paint(concrete);
    strip(model, out, y, out + step_depth * scale, y, cells);
    out += step_depth * scale;
  }
  return y;
}

void roof(Model& model, unsigned trusses, float out, float y) {
  const auto on = [=](float u, float t, float drop) {
    return around(u, out - 26 * t, y + 5 * exact::sin(1.2f * t) - drop);
  };
  for (unsigned i = 0; i < trusses; ++i) {
    model.paint(white_paint);
    const float u = static_cast<float>(i) / static_cast<float>(trusses),
                next = u + 1 / static_cast<float>(trusses);
    rod(model, around(u, out + 1, 0), on(u, 0, 0), 0.35f, 10, 5);
    rod(model, on(u, 0, 2.6f), on(u, 0.9f, 1), 0.12f, 6, 4);
    rod(model, on(u, 0, 0.2f), on(u, 1, 0.2f), 0.12f, 6, 4);
    for (unsigned k = 0; k < 6; ++k) {
      const float t = static_cast<float>(k) / 6;
      rod(model, on(u, t, 2.6f - 1.6f * t), on(u, t + 1.0f / 6, 0.2f), 0.06f, 5, 3);
      rod(model, on(u, t, 0.2f), on(u, t, 2.6f - 1.6f * t), 0.06f, 5, 3);
    }
    model.paint(roofing);
    for (unsigned k = 0; k < 4; ++k) {
      const float t = static_cast<float>(k) / 4, gap = 0.015f;
      facet(model, on(u, t, 0), on(next, t, 0), on(next, t + 0.25f - gap, 0),
            on(u, t + 0.25f - gap, 0));
    }
    model.paint(white_paint);
    rod(model, on(u, 1, 0.2f), on(next, 1, 0.2f), 0.12f, 6, 4);
  }
}

void pitch(Model& model, bool plain) {
  model.paint(grass);
  quad(model, {-70, -0.02f, -52}, {140, 0, 0}, {0, 0, 104});
  model.paint(white_paint);
  for (const float side : {-1.0f, 1.0f}) {  // goals
    const float x = side * 50;
    rod(model, {x, 0, -3.66f}, {x, 2.44f, -3.66f}, 0.06f, 8, 4);
    rod(model, {x, 0, 3.66f}, {x, 2.44f, 3.66f}, 0.06f, 8, 4);
    rod(model, {x, 2.44f, -3.66f}, {x, 2.44f, 3.66f}, 0.06f, 8, 4);
    for (unsigned i = 0; i <= (plain ? 0u : 20u); ++i) {
      const float z = -3.66f + 0.366f * static_cast<float>(i);
      rod(model, {x, 2.44f, z}, {x + side * 2, 0, z}, 0.008f, 3, 3);
    }
  }
  // Advertising boards along the touch lines.
  model.paint(board);
  for (const float side : {-1.0f, 1.0f}) {
    for (int i = -8; i < 8 && !plain; ++i) {
      const float x = 6 * static_cast<float>(i);
      facet(model, {x, 0, side * 36}, {x + 5.9f, 0, side * 36}, {x + 5.9f, 0.9f, side * 36.3f},
            {x, 0.9f, side * 36.3f});
    }
  }
}

}  // namespace

Mesh make_stadium(const Request& request) {
  const std::uint64_t n = request.triangles;
  const bool plain = n < 40'000;
  const unsigned rows = n < 4000 ? 3 : n < 40'000 ? 8 : 18;
  const float cells = plain ? 24 : 48, scale = 18.0f / static_cast<float>(rows);
  Model model;
  pitch(model, plain);
  float out = 0;
  float y = stand(model, blue_seats, rows, out, 1.2f, scale, cells);
  model.paint(concrete);
  strip(model, 0, 0, 0, 1.2f, cells);
  out += static_cast<float>(rows) * step_depth * scale;
  strip(model, out, y, out, y + 3, cells);
  strip(model, out, y + 3, out - 2, y + 3, cells);  // the upper stand overhangs
  y = stand(model, red_seats, rows, out - 2, y + 3, scale * 1.05f, cells);
  out += static_cast<float>(rows) * step_depth * scale * 1.05f - 2;
  strip(model, out, y, out, y + 2.5f, cells);
  if (!plain) roof(model, 40, out + 1, y + 9);

  // The teapot on a plinth at the centre spot.
  Random random(request.seed);
  const float turn = random.uniform(-0.25f, 0.25f);
  model.paint(plinth);
  if (plain) {
    box(model, {}, {-0.3f, 0, -0.3f}, {0.3f, 1, 0.3f});
  } else {
    pedestal(model, place({0, 0, 0}, 1, turn), 0.7f, 1);
  }
  model.paint(copper);
  teapot(model, place({0, 1, 0}, 1, turn), 0.36f, n < 4000 ? 60 : 150);
  Mesh mesh = model.tessellate(n, request.threads, request.content);
  drop_degenerate(mesh);
  mesh.camera = CameraHint{{0.42f, 1.3f, 1.1f}, {0.03f, 1.4f, 0}, 58};
  return mesh;
}

}  // namespace heapwood::scenes
