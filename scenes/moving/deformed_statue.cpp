// SPDX-License-Identifier: MIT
// The moving scene `statue~`: the head of `statue` bends, twists and swells, and ends as it began.
#include <algorithm>

#include "scenes/exact_math.hpp"
#include "scenes/moving/sources.hpp"
#include "scenes/shapes.hpp"
#include "simt/cpu.hpp"

namespace heapwood::scenes {
namespace {

constexpr float top = 3.8f;  // height of the statue

}  // namespace

FrameMaker make_deformed_statue(const Request& request) {
  Mesh still = make_statue(request);
  still.camera = CameraHint{{-3.1f, 2.4f, 7.4f}, {0, 1.6f, 0}, 40};
  return [still, threads = static_cast<int>(request.threads)](unsigned frame) {
    Mesh mesh = still;
    // The time within the loop, as an angle.
    const float phase = 2 * pi * static_cast<float>(frame) / static_cast<float>(procedural_frames);
    const float twist = 0.75f * exact::sin(phase), bend = 0.55f * exact::sin(2 * phase),
                lean = 0.3f * (1 - exact::cos(phase)),
                stretch = 1 + 0.09f * exact::sin(phase + 0.5f * pi) - 0.09f;
    simt::Cpu({.threads = threads}).for_each(mesh.vertices.size(), [&](std::size_t i) {
      Vec3& p = mesh.vertices[i];
      if (p.y <= 0) return;  // the plinth and the floor do not move
      const float height = std::min(p.y / top, 1.0f);
      const float share = height * height * (3 - 2 * height);
      const float angle = twist * share;
      // A wave that moves upwards, with amplitude 0 at the plinth.
      const float swell =
          1 + 0.1f * std::min(2 * height, 1.0f) * exact::sin(2.2f * p.y - 2 * phase);
      const float c = swell * exact::cos(angle), s = swell * exact::sin(angle);
      p = {c * p.x + s * p.z + bend * height * height, p.y * stretch,
           c * p.z - s * p.x + lean * height * height};
    });
    return mesh;
  };
}

}  // namespace heapwood::scenes
