// SPDX-License-Identifier: MIT
// The textures of a scene file: each is read once, and all that cannot be read are one note.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include "scenes/file.hpp"
#include "scenes/mesh.hpp"

namespace heapwood::scenes {

class TextureFiles {
 public:
  TextureFiles(const std::string& scene_path, Appearance& appearance)
      : files_(scene_path), appearance_(appearance) {}

  // The index of the texture in a file beside the scene file, or no_texture.
  std::uint32_t read(const std::string& name);
  // The index of the texture in a file that is in memory, or no_texture.
  std::uint32_t decode(const std::string& name, std::span<const std::byte> file);
  // A texture of `colour` with the alpha of `mask`: its alpha channel if it has one, else its
  // luminance, which is the default channel of scalar MTL textures. A grey picture other than the
  // colour's counts as one without alpha channel if that is 255 everywhere. Either may be
  // no_texture. The result has the larger of the two sizes, per axis.
  std::uint32_t with_alpha(std::uint32_t colour, std::uint32_t mask);
  // The texture with this sampler: a copy if it has another one. `index` may be no_texture.
  std::uint32_t with_sampler(std::uint32_t index, Wrap wrap_u, Wrap wrap_v, bool nearest);
  // Counts a texture that cannot be read for another reason.
  std::uint32_t miss(const std::string& name, const std::string& reason);

  // Adds a note to the mesh if textures are missing.
  void report(Mesh& mesh, const std::string& source) const;

 private:
  bool has_space(std::size_t texels) const;
  std::uint32_t combine(std::uint32_t colour, std::uint32_t mask);
  std::uint32_t add(Texture texture);

  CompanionFiles files_;
  Appearance& appearance_;
  std::map<std::string, std::uint32_t> known_;
  std::map<std::tuple<std::uint32_t, Wrap, Wrap, bool>, std::uint32_t> with_sampler_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> with_alpha_;
  std::set<std::uint32_t> has_sampler_, has_alpha_;
  std::size_t texels_ = 0, missing_ = 0;
  std::string first_missing_;  // "name: reason"
};

}  // namespace heapwood::scenes
