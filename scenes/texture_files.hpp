// SPDX-License-Identifier: MIT
// The textures of a scene file. Each file is read once; one note tells of all that cannot be read.
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

  // Reads a file next to the scene file. Returns the texture's index, or no_texture.
  std::uint32_t read(const std::string& name);
  // Decodes a file that is in memory. Returns the texture's index, or no_texture.
  std::uint32_t decode(const std::string& name, std::span<const std::byte> file);
  // Combines the colour of one texture with the alpha of another. The alpha of `mask` is its alpha
  // channel if it has one, otherwise its luminance, which is the default channel of scalar MTL
  // textures. In a grey picture other than `colour`, an alpha channel of 255 everywhere does not
  // count. Either index may be no_texture. The result has the larger of the two sizes, per axis.
  std::uint32_t with_alpha(std::uint32_t colour, std::uint32_t mask);
  // The texture with this sampler; a copy if it already has another. `index` may be no_texture.
  std::uint32_t with_sampler(std::uint32_t index, Wrap wrap_u, Wrap wrap_v, bool nearest);
  // Counts a texture that cannot be read for a reason that the caller knows.
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
