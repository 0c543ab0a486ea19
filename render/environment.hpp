// SPDX-License-Identifier: MIT
// An environment that lights pictures of mode path: a picture of radiance, or a clear sky.
#pragma once

#include <string>

#include "geometry/picture_file.hpp"
#include "render/environment_view.hpp"
#include "render/lighting.hpp"
#include "simt/memory.hpp"

namespace heapwood::render {

class Environment {
 public:
  // Uploads a picture, with its brightness scaled to a normal exposure. `up` is the scene's axis to
  // the zenith. Negative values and NaN become black; others are limited to 10^6.
  Environment(const simt::DeviceId& device, const RadianceMap& map, unsigned up);

  const EnvironmentView& view() const { return view_; }

 private:
  simt::Buffer<Vec3> texels_;
  simt::Buffer<float> rows_, cells_;
  EnvironmentView view_{};
};

// Decodes the bytes of a Radiance file (.hdr), a picture of longitude by latitude. Throws
// Error{Exit::scene}, whose message begins with `source`.
RadianceMap parse_environment(const std::string& file, const std::string& source);

// The CIE standard clear sky (CIE 110-1994) with a sun and grey ground. `sun` is a unit vector in
// the scene; a sun near or below the horizon is raised to 12 degrees. The sun is five times as wide
// as the real one, for soft shadows.
RadianceMap make_sky(Vec3 sun, unsigned up);

// Removes from a lighting what an environment, or emitters, replace: key, sky, ground and floor.
Lighting lit_by_environment(Lighting lighting);

}  // namespace heapwood::render
