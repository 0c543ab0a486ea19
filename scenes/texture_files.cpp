// SPDX-License-Identifier: MIT
#include "scenes/texture_files.hpp"

#include <algorithm>

#include "geometry/picture_file.hpp"
#include "simt/error.hpp"

namespace heapwood::scenes {
namespace {

constexpr std::size_t max_texels = std::size_t{1} << 29;  // of a scene: 2 GiB

}  // namespace

std::uint32_t TextureFiles::miss(const std::string& name, const std::string& reason) {
  if (missing_++ == 0) first_missing_ = printable(name, 100) + ": " + reason;
  return no_texture;
}

std::uint32_t TextureFiles::read(const std::string& name) {
  if (const auto found = known_.find(name); found != known_.end()) return found->second;
  std::uint32_t index = no_texture;
  try {
    index = decode(name, read_file(files_.find_anywhere(name)).bytes());
  } catch (const Error& error) {
    const std::string text = error.what();  // "NAME: reason" or "PATH: cannot be read: reason"
    const std::size_t colon = text.rfind(": ");
    index = miss(name, colon == text.npos ? text : text.substr(colon + 2));
  }
  return known_[name] = index;
}

std::uint32_t TextureFiles::decode(const std::string& name, std::span<const std::byte> file) {
  check_interruption();
  Texture texture;
  std::string reason;
  if (!decode_picture(file, texture, reason)) return miss(name, reason);
  texels_ += texture.texels.size();
  if (texels_ > max_texels) return miss(name, "all textures together do not fit in 2 GiB");
  appearance_.textures.push_back(std::move(texture));
  return static_cast<std::uint32_t>(appearance_.textures.size() - 1);
}

std::uint32_t TextureFiles::with_alpha(std::uint32_t colour, std::uint32_t mask) {
  if (mask == no_texture) return colour;
  const Texture& alpha = appearance_.textures[mask];
  Texture result;
  if (colour != no_texture) {
    result = appearance_.textures[colour];
  } else {
    result.width = alpha.width;
    result.height = alpha.height;
    result.texels.assign(alpha.texels.size(), 0xffffffffu);
  }
  const bool has_alpha = std::any_of(alpha.texels.begin(), alpha.texels.end(),
                                     [](std::uint32_t texel) { return texel >> 24 != 255; });
  for (std::size_t y = 0; y < result.height; ++y) {
    for (std::size_t x = 0; x < result.width; ++x) {
      const std::uint32_t from = alpha.texels[y * alpha.height / result.height * alpha.width +
                                              x * alpha.width / result.width];
      std::uint32_t& to = result.texels[y * result.width + x];
      to = (to & 0xffffffu) | (has_alpha ? from >> 24 : from & 255) << 24;
    }
  }
  texels_ += result.texels.size();
  if (texels_ > max_texels) return miss("opacity", "all textures together do not fit in 2 GiB");
  appearance_.textures.push_back(std::move(result));
  return static_cast<std::uint32_t>(appearance_.textures.size() - 1);
}

void TextureFiles::report(Mesh& mesh, const std::string& source) const {
  if (missing_ == 0) return;
  mesh.notes.push_back(source + ": " + std::to_string(missing_) +
                       (missing_ == 1 ? " texture is missing: " : " textures are missing, first ") +
                       first_missing_);
}

}  // namespace heapwood::scenes
