// SPDX-License-Identifier: MIT
// Reads the mesh with its materials, and the mesh in the middle of its first animation. Buffers and
// textures are in the file itself: the fuzzer runs in an empty folder.
#include <span>

#include "scenes/gltf.hpp"
#include "tests/fuzz/fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace heapwood;
  using namespace heapwood::scenes;
  return fuzz::run([&] {
    const GltfAnimation animation(std::as_bytes(std::span(data, size)), "file", Content::materials);
    check(
        animation.count() == 0 ? animation.rest() : animation.mesh_at(0, animation.duration(0) / 2),
        "the result");
  });
}
