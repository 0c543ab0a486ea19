// SPDX-License-Identifier: MIT
#include "scenes/moving/moving_scene.hpp"

#include <iterator>

#include "scenes/file.hpp"
#include "scenes/moving/sources.hpp"
#include "simt/error.hpp"

namespace heapwood::scenes {
namespace {

constexpr Procedural moving_families[] = {
    {"statue~", "a statue that bends, twists and swells", 69'000, 1000, 20'000'000},
    {"cloth", "a cloth that falls onto a ball", 100'000, 1000, 20'000'000},
};
// The functions for the names of the table, in its order.
constexpr FrameMaker (*moving_makers[])(const Request&) = {make_deformed_statue, make_cloth};
static_assert(std::size(moving_families) == std::size(moving_makers));

MovingScene make_moving(const SceneName& name, unsigned threads) {
  const FrameMaker frame_of =
      moving_makers[name.scene - moving_families]({name.triangles, name.seed, threads});
  return {procedural_frames, [frame_of, name = name.scene->name](unsigned frame) {
            Mesh mesh = frame_of(frame);
            mesh.name = name;
            check(mesh, name);
            return mesh;
          }};
}

}  // namespace

std::span<const Procedural> moving_scenes() { return moving_families; }

MovingScene open_moving(const std::string& text, unsigned threads) {
  const std::string shown = printable(text, text.size());
  try {
    if (const auto name = parse_name(text, moving_families)) return make_moving(*name, threads);
    if (is_sequence(text)) return open_sequence(text);
    if (const auto clip = parse_gltf_clip(text)) return open_gltf_clip(*clip);
  } catch (const std::bad_alloc&) {
    throw Error(Exit::scene, shown + ": the frames do not fit in memory");
  }
  throw Error(Exit::usage,
              "`" + shown + "` is not a moving scene: use NAME[:COUNT][:SEED] with a name of " +
                  names_of(moving_families) +
                  ", numbered files as in frame_###.obj, or an animated glTF file as in "
                  "fox.glb:Run");
}

std::vector<std::string> moving_files(const std::string& text) {
  try {
    if (parse_name(text, moving_families)) return {};
    if (is_sequence(text)) return sequence_files(text);
    if (const auto clip = parse_gltf_clip(text)) return {clip->path};
  } catch (const Error&) {
    // The error is ignored here: open_moving() reports it.
  }
  return {};
}

unsigned moving_frames(const std::string& text) {
  try {
    if (parse_name(text, moving_families)) return procedural_frames;
    if (is_sequence(text)) return static_cast<unsigned>(sequence_files(text).size());
    if (const auto clip = parse_gltf_clip(text)) return open_gltf_clip(*clip).frames;
  } catch (const Error&) {
    // The error is ignored here: open_moving() reports it.
  }
  return 1;
}

std::string moving_digest(const std::string& text) {
  std::string all;
  for (const std::string& file : moving_files(text)) all += digest(file);
  // Hashes the digests, so that the result has 16 digits for any number of files.
  return all.empty() ? "" : hex_digits(fnv1a(all));
}

std::string moving_label(const std::string& text) {
  if (parse_name(text, moving_families)) return text;
  std::string label = stem_of(text);
  if (const auto clip = parse_gltf_clip(text))
    label = stem_of(clip->path) + (clip->animation.empty() ? "" : ":" + clip->animation);
  return printable(label, label.size());
}

}  // namespace heapwood::scenes
