// SPDX-License-Identifier: MIT
// The scene `atrium`: a nave with aisles, two storeys of arcades along x, a coffered barrel vault
// with a skylight, and an apse at the far end. Walls of two triangles are next to mouldings and
// cloth of thousands.
#include <cmath>

#include "scenes/exact_math.hpp"
#include "scenes/families.hpp"
#include "scenes/ornaments.hpp"
#include "scenes/random.hpp"

namespace heapwood::scenes {
namespace {

// Dimensions in metres.
constexpr float bay = 4, half_nave = 4, aisle = 3.6f, wall = 0.8f;
constexpr float tile = 1, gallery = 7, cornice = 12.8f, slab = 0.5f;
constexpr float outer = half_nave + aisle;  // inner face of the outer walls, in z

constexpr Paint limestone{"limestone", {0.56f, 0.47f, 0.36f}},
    marble{"marble", {0.63f, 0.59f, 0.52f}}, dark_stone{"dark stone", {0.25f, 0.22f, 0.20f}},
    light_tile{"light tile", {0.48f, 0.40f, 0.31f}}, dark_tile{"dark tile", {0.26f, 0.17f, 0.13f}},
    plaster{"plaster", {0.62f, 0.57f, 0.48f}}, coffer{"coffer", {0.12f, 0.20f, 0.34f}},
    brass{"brass", {0.66f, 0.42f, 0.13f}}, iron{"iron", {0.08f, 0.08f, 0.09f}},
    crimson{"crimson cloth", {0.32f, 0.03f, 0.035f}}, indigo{"indigo cloth", {0.04f, 0.07f, 0.22f}},
    olive{"olive cloth", {0.14f, 0.15f, 0.05f}}, terracotta{"terracotta", {0.52f, 0.19f, 0.09f}},
    glaze{"blue glaze", {0.07f, 0.26f, 0.32f}}, green_marble{"green marble", {0.07f, 0.20f, 0.13f}};

struct Atrium {
  Model model;
  Random random;
  unsigned bays;
  bool bare, plain, rich, fluted;  // levels of detail; rich adds tiles, balusters and coffers
  float half;                      // half of the length
  float ground;                    // height at which walls begin, below the tiles

  explicit Atrium(const Request& request) : random(request.seed) {
    const std::uint64_t n = request.triangles;
    bays = n < 3000 ? 2 : n < 12'000 ? 4 : n < 80'000 ? 6 : n < 4'000'000 ? 8 : 12;
    bare = n < 3000;
    plain = n < 36'000;
    rich = n >= 60'000;
    fluted = n >= 2'000'000;
    half = 0.5f * bay * static_cast<float>(bays);
    ground = rich ? -0.02f : 0;
  }

  float column_x(unsigned i) const { return -half + bay * static_cast<float>(i); }
  float middle_x(unsigned i) const { return column_x(i) + 0.5f * bay; }

  // Adds a box between two opposite corners.
  void block(Vec3 a, Vec3 b) { box(model, {}, min(a, b), max(a, b)); }
  void shell();
  void floor();
  void arcades(float side);
  void upper_windows(float side);
  void vault();
  void end_wall();
  void furniture();
};

// Adds the large plain surfaces.
void Atrium::shell() {
  const float length = 2 * half;
  model.paint(limestone);
  for (const float side : {-1.0f, 1.0f}) {
    quad(model, {-half, ground, side * outer}, {length, 0, 0}, {0, gallery + 1.1f - ground, 0});
    // The gallery's floor, and the beams below it.
    block({-half, gallery - slab, side * (half_nave - 0.55f)}, {half, gallery, side * outer});
    quad(model, {-half, cornice, side * half_nave}, {length, 0, 0}, {0, 0, side * aisle});
    for (unsigned i = 0; i <= bays; ++i) {
      const float x = column_x(i), low = side * half_nave, high = side * outer;
      if (bare) break;
      block({x - 0.18f, gallery - slab - 0.45f, low}, {x + 0.18f, gallery - slab, high});
      if (plain) continue;
      block({x - 0.16f, cornice - 0.4f, low}, {x + 0.16f, cornice, high});
      for (const float y : {0.0f, gallery}) {  // pilasters
        const float foot = side * (outer - 0.12f),
                    top = y == 0 ? gallery - slab - 0.45f : cornice - 0.4f;
        block({x - 0.3f, y, foot}, {x + 0.3f, top, side * outer});
        block({x - 0.38f, y, std::fmin(foot, side * outer) - 0.05f},
              {x + 0.38f, y + 0.35f, std::fmax(foot, side * outer) + 0.05f});
      }
    }
  }
  quad(model, {-half, ground, -outer}, {0, 0, 2 * outer},
       {0, cornice - ground, 0});  // the wall behind the default camera
}

void Atrium::floor() {
  // The floor continues under the walls, so that no ray escapes between them.
  const float under = 0.1f;
  model.paint(dark_stone);
  quad(model, {-half - under, ground, -outer - under}, {2 * (half + under), 0, 0},
       {0, 0, 2 * (outer + under)});
  if (!rich) return;
  // Each tile has bevelled edges and is slightly out of level.
  unsigned row = 0;
  for (float x = -half; x < half - 0.5f; x += tile, ++row) {
    unsigned column = 0;
    for (float z = -outer; z < outer - 0.5f; z += tile, ++column) {
      model.paint((row + column) % 2 == 0 ? light_tile : dark_tile);
      const float gap = 0.004f, bevel = 0.02f, low = -0.015f;
      Vec3 base[4], top[4];
      for (unsigned i = 0; i < 4; ++i) {
        const float right = i == 1 || i == 2 ? 1 : 0, back = i >= 2 ? 1 : 0;
        // Directions towards the tile's middle.
        const float edge_x = 1 - 2 * right, edge_z = 1 - 2 * back;
        base[i] = {x + right * tile + edge_x * gap, low, z + back * tile + edge_z * gap};
        top[i] = base[i] +
                 Vec3{edge_x * bevel, -low + random.uniform(-0.0015f, 0.0015f), edge_z * bevel};
      }
      facet(model, top[0], top[1], top[2], top[3]);
      for (unsigned i = 0; i < 4; ++i)
        facet(model, base[i], base[(i + 1) % 4], top[(i + 1) % 4], top[i]);
    }
  }
}

void Atrium::arcades(float side) {
  const float z = side * half_nave;
  for (unsigned i = 0; i <= bays; ++i) {
    const float x = column_x(i);
    model.paint(marble);
    column(model, place({x, 0, z}),
           {.height = 4.5f, .radius = 0.34f, .plain = plain, .bare = bare, .fluted = fluted});
    column(model, place({x, gallery, z}),
           {.height = 3.4f, .radius = 0.24f, .plain = plain, .bare = bare, .fluted = fluted});
    // The piers that carry the arches are as high as the wall.
    model.paint(limestone);
    const float half_pier = 0.5f * wall;
    block({x - 0.5f, 4.5f, z - half_pier}, {x + 0.5f, gallery - slab, z + half_pier});
    block({x - 0.4f, gallery + 3.4f, z - half_pier}, {x + 0.4f, cornice, z + half_pier});
  }
  for (unsigned i = 0; i < bays; ++i) {
    const float x = middle_x(i), relief = plain ? 0 : 0.11f;
    arch(model, place({x, 0, z}),
         {.radius = 1.5f,
          .spring = 4.5f,
          .top = gallery - slab,
          .depth = wall,
          .along = 20,
          .moulding = relief});
    arch(model, place({x, gallery, z}),
         {.radius = 1.6f,
          .spring = 3.4f,
          .top = cornice - gallery,
          .depth = wall,
          .along = 20,
          .moulding = 0.8f * relief});
    model.paint(marble);
    if (rich) {
      for (int k = -4; k <= 4; ++k)
        baluster(model, place({x + 0.36f * static_cast<float>(k), gallery, z}), 0.85f);
      block({x - 1.75f, gallery + 0.85f, z - 0.16f}, {x + 1.75f, gallery + 1, z + 0.16f});
    } else {
      quad(model, {x - 1.7f, gallery, z}, {3.4f, 0, 0}, {0, 1, 0});
    }
    model.paint(limestone);
  }
  model.paint(marble);
  // Mouldings below the gallery and below the vault: three fillets, each projecting further.
  const float inner = z - side * 0.5f * wall;
  for (unsigned k = 0; k < (plain ? 1u : 3u); ++k) {
    const float out = 0.07f * static_cast<float>(k + 1), h = 0.1f * static_cast<float>(k);
    for (const float y : {gallery - 0.3f, cornice - 0.3f}) {
      block({-half, y + h, inner}, {half, y + h + 0.1f, inner - side * out});
    }
  }
  if (plain) return;
  for (float x = -half + 0.2f; x < half; x += 0.4f) {  // dentils
    block({x - 0.08f, cornice - 0.48f, inner - side * 0.08f - 0.08f},
          {x + 0.08f, cornice - 0.3f, inner - side * 0.08f + 0.08f});
  }
}

void Atrium::upper_windows(float side) {
  if (bare) return;
  model.paint(limestone);
  const float sill = gallery + 1.1f, spring = 3.1f, radius = 0.8f, z = side * (outer + 0.3f);
  for (unsigned i = 0; i < bays; ++i) {
    const float x = middle_x(i);
    arch(model, place({x, sill, z}),
         {.radius = radius,
          .spring = spring - 1.1f,
          .top = cornice - sill,
          .depth = 0.6f,
          .along = 16,
          .moulding = plain ? 0 : 0.09f});
    for (const float flank : {-1.0f, 1.0f}) {
      const float from = x + flank * radius, to = x + flank * 0.5f * bay;
      quad(model, {from, sill, side * outer}, {to - from, 0, 0}, {0, cornice - sill, 0});
      quad(model, {from, sill, side * outer}, {0, 0, side * 0.6f}, {0, spring - 1.1f, 0});
    }
    if (plain) continue;
    block({x - 1, sill - 0.12f, side * (outer - 0.12f)}, {x + 1, sill, side * (outer + 0.6f)});
    model.paint(iron);
    for (const float bar : {-0.27f, 0.27f})
      rod(model, {x + bar, sill, z}, {x + bar, sill + 2.7f, z}, 0.025f, 6, 4);
    for (const float y : {0.7f, 1.4f, 2.0f})
      rod(model, {x - radius, sill + y, z}, {x + radius, sill + y, z}, 0.02f, 6, 4);
    model.paint(limestone);
  }
}

void Atrium::vault() {
  // Angles count from the springing of the vault, 0 at z = +half_nave. The middle is open to the
  // sky.
  const float radius = half_nave - 0.35f, open = 0.3f * pi;
  model.paint(plaster);
  const auto on = [=](float x, float angle, float raised) {
    return Vec3{x, cornice + (radius - raised) * exact::sin(angle),
                (radius - raised) * exact::cos(angle)};
  };
  for (const float side : {0.0f, 1.0f}) {
    const auto angle = [=](float t) { return side == 0 ? t * open : pi - t * open; };
    for (unsigned i = 0; i < bays; ++i) {
      const float x0 = column_x(i) + 0.25f, x1 = column_x(i + 1) - 0.25f;
      if (!rich) {
        model.add({.point = [=](float u, float v) { return on(x0 + (x1 - x0) * u, angle(v), 0); },
                   .cells_v = 8,
                   .min_v = 3});
        continue;
      }
      const unsigned across = 3, up = 4;
      for (unsigned k = 0; k < across * up; ++k) {
        const unsigned column = k % across, row = k / across;
        const auto point = [=](float u, float v, float raised) {
          return on(x0 + (x1 - x0) * (static_cast<float>(column) + u) / across,
                    angle((static_cast<float>(row) + v) / up), raised);
        };
        // A coffer: a rim, two steps inwards, the sunk panel.
        constexpr float inset[4] = {0, 0.12f, 0.15f, 0.22f}, sunk[4] = {0, 0, -0.09f, -0.16f};
        const auto ring = [=](unsigned step, unsigned corner) {
          const float a = inset[step], b = 1 - a;
          return point(corner == 1 || corner == 2 ? b : a, corner >= 2 ? b : a, sunk[step]);
        };
        for (unsigned step = 0; step < 3; ++step) {
          for (unsigned c = 0; c < 4; ++c) {
            facet(model, ring(step, c), ring(step, (c + 1) % 4), ring(step + 1, (c + 1) % 4),
                  ring(step + 1, c));
          }
        }
        model.paint(coffer);
        facet(model, ring(3, 0), ring(3, 1), ring(3, 2), ring(3, 3));
        model.paint(plaster);
      }
    }
    for (unsigned i = 0; i <= bays; ++i) {  // the wall between vault and cornice
      const float z = (side == 0 ? 1.0f : -1.0f) * radius;
      if (i < bays)
        quad(model, {column_x(i), cornice, z}, {bay, 0, 0},
             {0, 0, (side == 0 ? 1.0f : -1.0f) * (half_nave - radius)});
    }
  }
  for (unsigned i = 0; i <= bays; ++i) {
    const float x = column_x(i);
    sweep(
        model,
        [=](float t, float a, float b) {
          return on(x - 0.25f + 0.5f * a, pi * t, 0.22f * b - 0.02f);
        },
        28, 6);
    if (!plain)
      sweep(
          model,
          [=](float t, float a, float b) {
            return on(x - 0.12f + 0.24f * a, pi * t, 0.2f + 0.1f * b);
          },
          28, 6);
  }
  if (plain) return;
  model.paint(iron);
  for (unsigned k = 0; k <= 6; ++k) {  // glazing bars of the skylight
    const float a = open + (pi - 2 * open) * static_cast<float>(k) / 6;
    rod(model, on(-half, a, 0), on(half, a, 0), k % 6 == 0 ? 0.09f : 0.03f, 8, 5);
  }
}

void Atrium::end_wall() {
  const float radius = 2.5f, spring = 6, top = cornice - 2.4f;
  model.paint(limestone);
  const Frame face = {{half + 0.5f, 0, 0}, {0, 0, 1}, {0, 1, 0}, {1, 0, 0}};
  arch(model, face,
       {.radius = radius,
        .spring = spring,
        .top = top,
        .depth = 1,
        .along = 32,
        .min_cells = 6,
        .moulding = plain ? 0 : 0.2f});
  for (const float side : {-1.0f, 1.0f}) {
    quad(model, {half, ground, side * radius}, {0, top - ground, 0},
         {0, 0, side * (outer - radius)});
    quad(model, {half, ground, side * radius}, {1, 0, 0}, {0, spring - ground, 0});
    quad(model, {half, top, side * half_nave}, {0, cornice - top, 0}, {0, 0, side * aisle});
    if (!plain)
      column(model, place({half - 0.35f, 0, side * (radius + 0.55f)}),
             {.height = spring, .radius = 0.3f, .fluted = fluted});
  }
  quad(model, {half, top, -half_nave}, {0, cornice - top, 0}, {0, 0, 2 * half_nave});
  // A half disc with a round window closes each end under the vault.
  const float eye = 1.1f, eye_y = cornice + 1.75f;
  const auto lunette = [=, half = half](float u, float v) {
    const float a = 2 * pi * u, dy = exact::sin(a), dz = exact::cos(a);
    const float up = eye_y - cornice, b = up * dy;
    float reach = -b + std::sqrt(b * b + half_nave * half_nave - up * up);
    if (dy < 0) reach = std::fmin(reach, -up / dy);
    const float r = eye * (1 - v) + reach * v;
    return Vec3{half, eye_y + r * dy, r * dz};
  };
  quad(model, {half + 0.02f, cornice, -half_nave}, {0, 0.6f, 0},
       {0, 0, 2 * half_nave});  // behind its corners
  model.add({.point = lunette, .cells_u = 48, .min_u = 16, .closed = true});
  // The apse is half a cylinder and half a dome. These share no vertices with each other or the
  // arch, so each starts behind the surface in front of it.
  const float back = half + 0.9f, wide = radius + 0.06f, wider = wide + 0.06f;
  const auto apse = [=, ground = ground](float u, float v) {
    const float a = pi * (u - 0.5f), y = ground + (spring + 0.15f - ground) * v;
    return Vec3{back + wide * exact::cos(a), y, wide * exact::sin(a)};
  };
  const auto dome = [=](float u, float v) {
    const float a = pi * (u - 0.5f), b = 0.5f * pi * v;
    return Vec3{back + wider * exact::cos(a) * exact::cos(b), spring + wider * exact::sin(b),
                wider * exact::sin(a) * exact::cos(b)};
  };
  model.paint(plaster);
  model.add({.point = apse, .cells_u = 24, .cells_v = 3, .min_u = 6});
  model.add(
      {.point = dome, .cells_u = 24, .cells_v = 16, .min_u = 6, .min_v = 3, .pole_last = true});
  model.paint(marble);
  quad(model, {half, 0.01f, -wide}, {1 + radius, 0, 0}, {0, 0, 2 * wide});
  for (unsigned i = 0; i < (plain ? 0u : 3u); ++i) {
    const float step = static_cast<float>(i);
    lathe(model, place({half + 1, 0.16f * step, 0}),
          {{2.2f - 0.3f * step, 0}, {2.2f - 0.3f * step, 0.16f}, {0, 0.16f}}, 40, 0, 12);
  }
  model.paint(dark_stone);
  pedestal(model, place({half + 1, plain ? 0 : 0.48f, 0}), 1.3f, 1.5f);
  model.paint(brass);
  if (plain) {
    ball(model, place({half + 1, 2.5f, 0}), 0.9f, 32, 6);
  } else {
    knot(model, place({half + 1, 1.9f, 0}, 1, 0.5f * pi), 1.25f);
  }
}

void Atrium::furniture() {
  if (plain) return;
  for (const float side : {-1.0f, 1.0f}) {
    for (unsigned i = 0; i < bays; ++i) {
      const float x = middle_x(i), z = side * half_nave;
      const std::uint64_t seed = random.bits();
      if (random.chance(0.5f)) {  // a pair of curtains, tied back to the columns
        model.paint(crimson);
        for (const float flank : {-1.0f, 1.0f}) {
          cloth(model, place({x + flank * 0.72f, 4.75f, z + side * 0.1f}),
                {.width = 1.45f,
                 .height = 4.4f,
                 .folds = 7,
                 .depth = 0.07f,
                 .gather = 0.72f,
                 .side = flank * 0.6f,
                 .seed = seed + (flank > 0)});
        }
        model.paint(brass);
        rod(model, {x - 1.55f, 4.8f, z + side * 0.1f}, {x + 1.55f, 4.8f, z + side * 0.1f}, 0.035f,
            8);
      }
      if (random.chance(0.4f) && i > 0) {  // a banner from the gallery
        const float hang = side * (half_nave - 0.72f);
        model.paint(i % 2 == 0 ? indigo : olive);
        cloth(model, place({x, gallery + 0.95f, hang}),
              {.width = 1.5f, .height = 3.1f, .folds = 2.2f, .depth = 0.09f, .seed = seed + 2});
        model.paint(brass);
        rod(model, {x - 0.85f, gallery + 0.95f, hang}, {x + 0.85f, gallery + 0.95f, hang}, 0.04f,
            8);
      }
      const Vec3 niche = {x, 0, side * (outer - 0.75f)};
      model.paint(dark_stone);
      pedestal(model, place(niche), 0.7f, 0.9f);
      const unsigned kind = random.below(12);
      model.paint(kind % 3 == 0 ? glaze : terracotta);
      vase(model, place(niche + Vec3{0, 0.9f, 0}), random.uniform(0.8f, 1.2f), kind);
      model.paint(brass);
      if (i % 2 == 1) lantern(model, {x, gallery - slab, side * (half_nave + 0.5f * aisle)}, 1.6f);
    }
  }
  // Objects along the nave, between the columns.
  for (unsigned i = 1; i < bays; i += 2) {
    for (const float side : {-1.0f, 1.0f}) {
      const Vec3 spot = {column_x(i), 0, side * (half_nave - 1.1f)};
      model.paint(dark_stone);
      pedestal(model, place(spot), 0.6f, 0.55f);
      if (random.chance(0.5f)) {
        const unsigned kind = random.below(12);
        model.paint(kind % 3 == 0 ? glaze : terracotta);
        vase(model, place(spot + Vec3{0, 0.55f, 0}), random.uniform(0.9f, 1.1f), kind);
      } else {
        model.paint(green_marble);
        ball(model, place(spot + Vec3{0, 0.87f, 0}), 0.32f, 48, 10);
      }
    }
  }
}

}  // namespace

Mesh make_atrium(const Request& request) {
  Atrium atrium(request);
  atrium.shell();
  atrium.floor();
  for (const float side : {-1.0f, 1.0f}) {
    atrium.arcades(side);
    atrium.upper_windows(side);
  }
  atrium.vault();
  atrium.end_wall();
  atrium.furniture();
  Mesh mesh = atrium.model.tessellate(request.triangles, request.threads, request.content);
  drop_degenerate(mesh);
  mesh.camera = CameraHint{{-atrium.half + 1.5f, 2.6f, -1.3f}, {atrium.half, 5.6f, 0.4f}, 62};
  return mesh;
}

}  // namespace heapwood::scenes
