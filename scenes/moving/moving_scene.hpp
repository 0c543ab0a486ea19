// SPDX-License-Identifier: MIT
// Scenes that move: a mesh per frame. Each is one of
//
//   statue~:69k                     a procedural one, NAME[:COUNT][:SEED] as for static scenes
//   horse_###.obj                   numbered files; the # stand for at least as many digits. The
//                                   triangles of one frame may differ from those of the next
//   fox.glb, fox.glb:Run            one animation of a glTF file, by name or by number from 0; by
//                                   default the first that has a duration. Frames are spread over
//                                   the duration
//
// A new kind of source needs a function (sources.hpp) and a line each in open_moving(),
// moving_files(), moving_frames() and moving_label().
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "scenes/scene.hpp"

namespace heapwood::scenes {

using FrameMaker = std::function<Mesh(unsigned frame)>;

struct MovingScene {
  unsigned frames = 1;
  // Returns the mesh of a frame below `frames`, always the same; may be called from several
  // threads. All frames have the origin of the first one; the scene's camera, if any, is that of
  // the first frame. Throws Error{Exit::scene} if a file cannot be read. The result has passed
  // check() and has a triangle, perhaps of zero area.
  FrameMaker mesh;
};

// The frame rate at which the motion of procedural scenes has its real speed.
inline constexpr unsigned frames_per_second = 30;
inline constexpr unsigned procedural_frames = 4 * frames_per_second;

std::span<const Procedural> moving_scenes();

// Opens a moving scene and reads its first frame. threads = 0: one per hardware thread; the meshes
// do not depend on it. Throws Error{Exit::usage} if the text does not name a moving scene, and
// Error{Exit::scene} if a file cannot be read or a numbered one is missing.
MovingScene open_moving(const std::string& text, unsigned threads = 0);

// The files of the scene in the order of frames; none for a procedural scene or invalid text.
std::vector<std::string> moving_files(const std::string& text);

// The number of frames; 1 for an invalid text. Reads a file only if it is glTF.
unsigned moving_frames(const std::string& text);

// A digest of all files (digest() in scene.hpp); "" for a procedural scene.
std::string moving_digest(const std::string& text);

// The name in tables: `statue~:69k` if procedural, else `horse_###`, `a..b` or `fox:Run`.
std::string moving_label(const std::string& text);

}  // namespace heapwood::scenes
