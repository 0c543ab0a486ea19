// SPDX-License-Identifier: MIT
// A moving scene: one animation of a glTF file, with node transforms, skins and morph targets.
#include <algorithm>
#include <cmath>

#include "scenes/file.hpp"
#include "scenes/gltf.hpp"
#include "scenes/moving/sources.hpp"
#include "simt/error.hpp"

namespace heapwood::scenes {
namespace {

constexpr unsigned max_frames = 100'000;

std::string title(const GltfAnimation& file, std::size_t i) {
  const std::string& name = file.name(i);
  return std::to_string(i) + (name.empty() ? "" : " " + printable(name));
}

std::string all_titles(const GltfAnimation& file) {
  constexpr std::size_t max_listed = 8;
  std::string list;
  for (std::size_t i = 0; i < std::min(file.count(), max_listed); ++i)
    list += (i == 0 ? "" : ", ") + title(file, i);
  return list + (file.count() > max_listed ? ", ..." : "");
}

// The animation of this name or number; without a text the first one that has a duration.
std::size_t choose(const GltfAnimation& file, const GltfClip& clip) {
  const std::string shown = printable(clip.path, clip.path.size());
  if (file.count() == 0)
    throw Error(Exit::scene, shown + ": nothing moves: the file has no animation");
  if (clip.animation.empty()) {
    for (std::size_t i = 0; i < file.count(); ++i) {
      if (file.duration(i) > 0) return i;
    }
    return 0;
  }
  for (std::size_t i = 0; i < file.count(); ++i) {
    if (file.name(i) == clip.animation) return i;
  }
  std::size_t number = 0;
  if (parse_number(clip.animation, number) && number < file.count()) return number;
  throw Error(Exit::scene, shown + ": no animation `" + printable(clip.animation) +
                               "`; it has: " + all_titles(file));
}

}  // namespace

std::optional<GltfClip> parse_gltf_clip(const std::string& text) {
  if (is_gltf(extension_of(text))) return GltfClip{text, ""};
  for (std::size_t colon = text.find(':'); colon != std::string::npos;
       colon = text.find(':', colon + 1)) {
    if (is_gltf(extension_of(text.substr(0, colon))))
      return GltfClip{text.substr(0, colon), text.substr(colon + 1)};
  }
  return std::nullopt;
}

MovingScene open_gltf_clip(const GltfClip& clip) {
  const GltfAnimation file(read_file(clip.path).bytes(), clip.path);
  const std::size_t index = choose(file, clip);
  const double duration = file.duration(index);
  if (!(duration > 0)) {
    throw Error(Exit::scene, printable(clip.path, clip.path.size()) +
                                 ": nothing moves: animation " + title(file, index) +
                                 " takes no time");
  }
  const auto frames = static_cast<unsigned>(
      std::clamp(std::round(duration * frames_per_second), 1.0, double{max_frames}));
  // The last moment is not shown: in an animation made for repetition it equals the first frame.
  return {frames, [=](unsigned frame) {
            Mesh mesh = file.mesh_at(index, duration * frame / frames);
            check(mesh, mesh.name);
            return mesh;
          }};
}

}  // namespace heapwood::scenes
