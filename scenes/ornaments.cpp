// SPDX-License-Identifier: MIT
#include "scenes/ornaments.hpp"

#include <algorithm>
#include <cmath>

#include "scenes/exact_math.hpp"
#include "scenes/random.hpp"

namespace heapwood::scenes {

void column(Model& model, const Frame& frame, const Column& c) {
  const float r = c.radius, h = c.height;
  if (c.bare) {
    lathe(model, frame, {{r, 0}, {r, h}}, 12, 0, 5);
    return;
  }
  if (c.plain) {
    lathe(model, frame,
          {{1.2f * r, 0}, {r, 0.3f * h}, {0.85f * r, h - 0.6f * r}, {1.5f * r, h - 0.25f * r}}, 12,
          0, 5);
    box(model, frame, {-1.5f * r, h - 0.25f * r, -1.5f * r}, {1.5f * r, h, 1.5f * r});
    return;
  }
  // A plinth, then two tori with a hollow between them.
  box(model, frame, {-1.55f * r, 0, -1.55f * r}, {1.55f * r, 0.35f * r, 1.55f * r});
  lathe(model, frame,
        {{1.45f * r, 0.35f * r},
         {1.45f * r, 0.65f * r, 0.45f},
         {1.28f * r, 0.68f * r},
         {1.18f * r, 0.92f * r, -0.25f},
         {1.22f * r, 0.95f * r},
         {1.22f * r, 1.12f * r, 0.45f},
         {1.05f * r, 1.16f * r},
         {r, 1.35f * r, -0.1f}},
        28, 0.08f, 10);
  // The shaft swells a little and narrows upwards.
  const float neck = h - 2.3f * r, bottom = 1.35f * r;
  std::function<float(float, float)> flutes;
  if (c.fluted) {
    flutes = [=](float angle, float y) {
      const float ends = std::min({1.0f, (y - bottom) / (0.5f * r), (neck - y) / (0.5f * r)});
      return 1 - 0.045f * std::max(ends, 0.0f) * (1 - std::fabs(exact::sin(10 * angle)));
    };
  }
  lathe(model, frame,
        {{r, bottom}, {r * 0.98f, bottom + 0.4f * (neck - bottom), 0.004f}, {0.86f * r, neck}}, 28,
        0.35f, 8, flutes);
  // An astragal, then a bell of leaves that curl outwards in two rows.
  lathe(model, frame, {{0.86f * r, neck}, {0.86f * r, neck + 0.14f * r, 0.5f}}, 28, 0.05f, 10);
  const float bell = neck + 0.14f * r, rise = h - 0.35f * r - bell;
  const auto leaves = [=](float angle, float y) {
    const float t = (y - bell) / rise;
    const float row = t * 2 - std::floor(t * 2);
    const float petal = std::fabs(exact::cos(4 * angle + (t < 0.5f ? 0 : pi / 2)));
    return 1 + 0.16f * petal * row * row;
  };
  lathe(model, frame, {{0.86f * r, bell}, {1.32f * r, bell + rise, -0.12f}}, 44, 0.035f, 10,
        leaves);
  box(model, frame, {-1.5f * r, h - 0.35f * r, -1.5f * r}, {1.5f * r, h - 0.15f * r, 1.5f * r});
  box(model, frame, {-1.62f * r, h - 0.15f * r, -1.62f * r}, {1.62f * r, h, 1.62f * r});
}

void baluster(Model& model, const Frame& frame, float height) {
  const float h = height;
  box(model, frame, {-0.09f * h, 0, -0.09f * h}, {0.09f * h, 0.08f * h, 0.09f * h});
  lathe(model, frame,
        {{0.07f * h, 0.08f * h},
         {0.05f * h, 0.16f * h, -0.15f},
         {0.11f * h, 0.34f * h, 0.15f},
         {0.045f * h, 0.66f * h, -0.08f},
         {0.08f * h, 0.92f * h, -0.15f}},
        12, 0.06f, 5);
  box(model, frame, {-0.09f * h, 0.92f * h, -0.09f * h}, {0.09f * h, h, 0.09f * h});
}

void pedestal(Model& model, const Frame& frame, float width, float height) {
  const float w = 0.5f * width, h = height;
  const auto layer = [&](float grow, float low, float high) {
    box(model, frame, {-w * grow, low * h, -w * grow}, {w * grow, high * h, w * grow});
  };
  layer(1.15f, 0, 0.12f);
  layer(1.06f, 0.12f, 0.18f);
  layer(0.92f, 0.18f, 0.86f);
  layer(1.04f, 0.86f, 0.92f);
  layer(1.15f, 0.92f, 1);
}

void vase(Model& model, const Frame& frame, float height, unsigned kind) {
  const float h = height;
  const float belly = kind % 2 ? 0.36f : 0.28f, shoulder = kind % 3 ? 0.62f : 0.5f;
  std::function<float(float, float)> ribs;
  if (kind % 4 >= 2) {
    ribs = [=](float angle, float y) {
      const float t = y / h;
      return 1 + 0.05f * exact::cos(14 * angle) * std::max(0.0f, 1 - std::fabs(t - 0.45f) * 3);
    };
  }
  lathe(model, frame,
        {{0, 0},
         {0.2f * h, 0},
         {0.18f * h, 0.04f * h, 0.3f},
         {0.09f * h, 0.1f * h, -0.25f},
         {belly * h, 0.42f * h, 0.12f},
         {0.5f * belly * h + 0.05f * h, shoulder * h + 0.14f * h, 0.18f},
         {0.11f * h, 0.86f * h, -0.12f},
         {0.19f * h, h, -0.1f},
         {0.16f * h, h},
         {0.08f * h, 0.84f * h, 0.1f},
         {0, 0.8f * h}},
        36, 0.025f, 8, ribs);
}

void knot(Model& model, const Frame& frame, float radius) {
  // An upright trefoil, whose tube becomes thicker and thinner three times around.
  const float s = radius / 3;
  tube(model,
       {.path =
            [=](float t) {
              const float a = 2 * pi * t;
              return frame({s * (exact::sin(a) + 2 * exact::sin(2 * a)),
                            1.12f * radius + s * (exact::cos(a) - 2 * exact::cos(2 * a)),
                            s * exact::sin(3 * a)});
            },
        .radius =
            [=](float t) { return s * (0.62f + 0.12f * exact::cos(6 * pi * t)) * length(frame.y); },
        .side = frame.z * 1.0f,
        .around = 48,
        .along = 260,
        .min_around = 8,
        .min_along = 32});
}

void lantern(Model& model, Vec3 top, float drop) {
  rod(model, top, top - Vec3{0, drop, 0}, 0.012f, 6, 4);
  const Frame frame = place(top - Vec3{0, drop + 0.55f, 0});
  lathe(model, frame,
        {{0, 0},
         {0.05f, 0.03f, 0.3f},
         {0.03f, 0.07f},
         {0.2f, 0.2f, 0.15f},
         {0.22f, 0.42f, 0.12f},
         {0.1f, 0.5f, 0.1f},
         {0.02f, 0.55f},
         {0, 0.56f}},
        24, 0.03f, 6);
  for (unsigned i = 0; i < 6; ++i) {
    const float a = pi / 3 * static_cast<float>(i);
    const Vec3 out = {exact::cos(a), 0, exact::sin(a)};
    rod(model, frame.origin + out * 0.25f + Vec3{0, 0.18f, 0},
        frame.origin + out * 0.25f + Vec3{0, 0.44f, 0}, 0.01f, 6, 4);
  }
}

void teapot(Model& model, const Frame& frame, float height, float around) {
  const Frame f = within(frame, place({0, 0, 0}, height));
  const float cell = 2.2f / around;
  lathe(model, f,
        {{0, 0.02f},
         {0.44f, 0},
         {0.46f, 0.03f, 0.3f},
         {0.66f, 0.36f, 0.1515f},  // these two segments meet upright
         {0.46f, 0.76f, 0.125f},
         {0.44f, 0.79f, 0.4f},
         {0.41f, 0.785f}},
        around, cell, 10);
  lathe(model, f,
        {{0.43f, 0.78f},
         {0.4f, 0.81f, 0.3f},
         {0.08f, 0.885f, 0.1f},
         {0.06f, 0.91f, -0.3f},
         {0.1f, 0.95f, 0.35f},
         {0, 1, 0.3f}},
        around, cell, 10);
  const auto bezier = [](Vec3 a, Vec3 b, Vec3 c, Vec3 d, float t) {
    return lerp(lerp(lerp(a, b, t), lerp(b, c, t), t), lerp(lerp(b, c, t), lerp(c, d, t), t), t);
  };
  const float scale = length(f.y);
  tube(model, {.path =
                   [=](float t) {
                     return f(bezier({0.52f, 0.3f, 0}, {1.0f, 0.26f, 0}, {0.72f, 0.72f, 0},
                                     {1.12f, 0.82f, 0}, t));
                   },
               .radius = [=](float t) { return scale * (0.15f - 0.16f * t + 0.085f * t * t); },
               .side = f.z * 1.0f,
               .around = 0.5f * around,
               .along = 0.5f * around,
               .min_around = 6,
               .min_along = 6});
  tube(model,
       {.path =
            [=](float t) {
              return f(bezier({-0.5f, 0.7f, 0}, {-1.25f, 0.86f, 0}, {-1.05f, 0.2f, 0},
                              {-0.58f, 0.22f, 0}, t));
            },
        .radius = [=](float t) { return scale * (0.045f + 0.012f * exact::cos(2 * pi * t)); },
        .side = f.z * 1.0f,
        .around = 0.3f * around,
        .along = 0.7f * around,
        .min_around = 5,
        .min_along = 8});
}

void cloth(Model& model, const Frame& frame, const Cloth& c) {
  const auto point = [=](float u, float v) {
    // The cloth is gathered towards the tie and loose below it.
    const float tie = 0.62f;
    const float pull = c.gather * exact::exp(-((v - tie) * 3.2f) * ((v - tie) * 3.2f)) +
                       0.35f * c.gather * std::max(0.0f, v - tie);
    const float x = (u - 0.5f) * c.width;
    const float sway = noise({3 * u, 2 * v, 0.5f}, c.seed) * 0.35f +
                       noise({9 * u, 1.5f * v, 7.5f}, c.seed) * 0.15f;
    const float phase = 2 * pi * c.folds * u + 1.6f * noise({1.5f * u, 1.2f * v, 3.5f}, c.seed);
    const float z =
        c.depth * ((0.35f + 0.65f * v) * exact::sin(phase) * (1 + 0.5f * pull) + sway * v);
    return frame(
        {x * (1 - pull) + c.side * pull, -c.height * (v + 0.012f * exact::sin(phase) * v), z});
  };
  model.add({.point = point,
             .cells_u = 2.5f * c.width / c.cell,
             .cells_v = 0.6f * c.height / c.cell,
             .min_u = 4,
             .min_v = 2});
}

}  // namespace heapwood::scenes
