// SPDX-License-Identifier: MIT
// A .camera file: rejected with a one-line error, or a camera whose text reads back to the same
// bits.
#include <cstring>

#include "bench/prepared_scene.hpp"
#include "tests/fuzz/fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace heapwood;
  const std::string text(fuzz::text_of(data, size));
  for (const Vec3d& origin : {Vec3d{}, Vec3d{1e6, -3, 0.1}}) {
    try {
      const render::Camera camera =
          render::representable(bench::parse_camera_line(text, origin), origin);
      const render::Camera again =
          bench::parse_camera_line(render::to_arguments(camera, origin), origin);
      if (std::memcmp(&camera, &again, sizeof camera) != 0) std::abort();
      render::make_frame(camera, 64, 48);
    } catch (const Error& error) {
      if (error.exit() != Exit::usage || error.what()[0] == '\0') std::abort();
    }
  }
  return 0;
}
