// SPDX-License-Identifier: MIT
// A camera path gives finite cameras at all times or Error{Exit::scene} with a one-line text;
// otherwise the process aborts.
#include <cmath>
#include <cstdlib>
#include <string>
#include <string_view>

#include "render/camera_path.hpp"
#include "simt/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace heapwood;
  try {
    const auto path =
        render::CameraPath::parse({reinterpret_cast<const char*>(data), size}, "file");
    for (unsigned i = 0; i <= 16; ++i) {
      const render::Camera camera = path.at(path.duration() * i / 16, 1);
      if (!(camera.fov > 0 && camera.fov < 180)) std::abort();
    }
  } catch (const Error& error) {
    const std::string_view text = error.what();
    if (error.exit() != Exit::scene || !text.starts_with("file: ") || text.size() > 1000 ||
        text.find_first_of("\r\n\x1b") != std::string_view::npos) {
      std::abort();
    }
  }
  return 0;
}
