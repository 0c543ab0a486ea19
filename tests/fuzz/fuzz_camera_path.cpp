// SPDX-License-Identifier: MIT
// A camera path gives finite cameras at all times, or is rejected with one line.
#include "render/camera_path.hpp"
#include "tests/fuzz/fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace heapwood;
  return fuzz::run([&] {
    const auto path = render::CameraPath::parse(std::string(fuzz::text_of(data, size)), "file");
    for (unsigned i = 0; i <= 16; ++i) {
      const render::Camera camera = path.at(path.duration() * i / 16, 1);
      if (!(camera.fov > 0 && camera.fov < 180)) std::abort();
    }
  });
}
