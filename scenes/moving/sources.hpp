// SPDX-License-Identifier: MIT
// The moving scenes that open_moving() chooses from.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scenes/families.hpp"
#include "scenes/moving/moving_scene.hpp"

namespace heapwood::scenes {

// Procedural scenes of about request.triangles triangles (families.hpp).
FrameMaker make_deformed_statue(const Request& request);
FrameMaker make_cloth(const Request& request);

// Whether the text is the path of a mesh file whose name contains one run of #.
bool is_sequence(const std::string& text);
// The files of a sequence in order. Throws Error{Exit::scene} if there is none or one is missing.
std::vector<std::string> sequence_files(const std::string& pattern);
MovingScene open_sequence(const std::string& pattern);

// The parts of `FILE.gltf[:ANIMATION]` (or .glb): `animation` is a name, or a number from 0.
struct GltfClip {
  std::string path, animation;
};
// Returns nullopt if the text does not have that form.
std::optional<GltfClip> parse_gltf_clip(const std::string& text);
MovingScene open_gltf_clip(const GltfClip& clip);

}  // namespace heapwood::scenes
