// SPDX-License-Identifier: MIT
// The lights of a scene: a key light (distant, or a small lamp in an interior), ambient light of
// sky and ground, a weak light at the camera, and a background. Colours are linear; a distant key
// light of colour 1 gives a white surface that faces it brightness 1.
#pragma once

#include "geometry/vec.hpp"
#include "render/random.hpp"

namespace heapwood::render {

struct Lighting {
  Vec3 albedo{0.82f, 0.77f, 0.71f};  // of clay
  float emission = 1;                // factor of the light of emitting triangles
  bool lamp = false;                 // whether the key light is a lamp, which has a position
  Vec3 key{0.4f, 0.8f, 0.45f};       // unit vector to the light, or the lamp's position
  float key_radius = 0.04f;  // radius of the light's disc at distance 1; of a lamp in scene units
  float lamp_reach = 1;      // distance at which a lamp's light has fallen to half
  Vec3 key_colour{0.80f, 0.71f, 0.58f};
  Vec3 sky{0.25f, 0.31f, 0.40f};
  Vec3 ground{0.15f, 0.13f, 0.11f};
  float ambient_reach = 1;  // occluders beyond this distance are ignored
  float occluded = 0.08f;   // share of the ambient light that an occluder reflects
  float headlight = 0.04f;
  Vec3 background_top{0.30f, 0.41f, 0.56f};
  Vec3 background_bottom{0.74f, 0.77f, 0.80f};
  bool floor = false;  // an invisible floor that receives the model's shadow
  float floor_height = 0;
  unsigned up = 1;
  bool operator==(const Lighting&) const = default;
};

struct LightSample {
  Vec3 direction;  // unit vector
  float distance;
  Vec3 colour;
};

// Samples the key light's disc as seen from `position`.
HEAPWOOD_INLINE LightSample sample_key(const Lighting& lighting, Vec3 position, Point2 on_disc) {
  const Vec3 to = lighting.lamp ? lighting.key - position : lighting.key;
  Vec3 s, t;
  basis(lighting.lamp ? normalize(to) : to, s, t);
  const Vec3 target = to + (s * on_disc.x + t * on_disc.y) * lighting.key_radius;
  const float distance = length(target);
  if (!lighting.lamp) return {target * (1 / distance), 1e30f, lighting.key_colour};
  const float r = distance / lighting.lamp_reach;
  return {target * (1 / distance), distance, lighting.key_colour * (1 / (1 + r * r))};
}

// Unoccluded ambient light from a direction: interpolates between ground (below) and sky (above).
HEAPWOOD_INLINE Vec3 surroundings(const Lighting& lighting, Vec3 direction) {
  const float height = lighting.up == 0   ? direction.x
                       : lighting.up == 1 ? direction.y
                                          : direction.z;
  const float share = 0.5f + 0.5f * height;
  return lighting.ground * (1 - share) + lighting.sky * share;
}

// Background colour; `row` is 0 at the top of the picture, 1 at the bottom.
HEAPWOOD_INLINE Vec3 background(const Lighting& lighting, float row) {
  const float s = row * row * (3 - 2 * row);
  return lighting.background_top * (1 - s) + lighting.background_bottom * s;
}

}  // namespace heapwood::render
