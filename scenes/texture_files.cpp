// SPDX-License-Identifier: MIT
#include "scenes/texture_files.hpp"

#include <algorithm>

#include "geometry/picture_file.hpp"
#include "simt/error.hpp"

namespace heapwood::scenes {
namespace {

constexpr std::size_t max_texels = std::size_t{1} << 29;  // of a scene: 2 GiB
constexpr const char* too_large = "all textures together do not fit in 2 GiB";

void set_sampler(Texture& texture, Wrap wrap_u, Wrap wrap_v, bool nearest) {
  texture.wrap_u = wrap_u;
  texture.wrap_v = wrap_v;
  texture.nearest = nearest;
}

}  // namespace

std::uint32_t TextureFiles::miss(const std::string& name, const std::string& reason) {
  if (missing_++ == 0) first_missing_ = printable(name, 100) + ": " + reason;
  return no_texture;
}

std::uint32_t TextureFiles::read(const std::string& name) {
  if (const auto found = known_.find(name); found != known_.end()) return found->second;
  std::uint32_t index = no_texture;
  try {
    const std::string path = files_.find_anywhere(name);
    index = decode(name, read_file(path).bytes());
    read_.push_back(path);
  } catch (const simt::Stopped&) {
    throw;
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
  if (!has_space(texture)) return miss(name, too_large);
  return add(std::move(texture));
}

std::uint32_t TextureFiles::with_alpha(std::uint32_t colour, std::uint32_t mask) {
  if (mask == no_texture) return colour;
  const Texture& alpha = appearance_.textures[mask];
  if (!has_space(colour != no_texture ? appearance_.textures[colour] : alpha))
    return miss("opacity", too_large);
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
  return add(std::move(result));
}

std::uint32_t TextureFiles::with_sampler(std::uint32_t index, Wrap wrap_u, Wrap wrap_v,
                                         bool nearest) {
  if (index == no_texture) return index;
  const auto [place, is_new] = with_sampler_.try_emplace({index, wrap_u, wrap_v, nearest}, index);
  if (!is_new) return place->second;
  // The first sampler is the texture's own.
  if (has_sampler_.insert(index).second) {
    set_sampler(appearance_.textures[index], wrap_u, wrap_v, nearest);
    return index;
  }
  if (!has_space(appearance_.textures[index]))
    return place->second = miss("a texture with two samplers", too_large);
  Texture copy = appearance_.textures[index];
  set_sampler(copy, wrap_u, wrap_v, nearest);
  return place->second = add(std::move(copy));
}

bool TextureFiles::has_space(const Texture& texture) const {
  return texture.texels.size() <= max_texels - texels_;
}

std::uint32_t TextureFiles::add(Texture texture) {
  texels_ += texture.texels.size();
  appearance_.textures.push_back(std::move(texture));
  return static_cast<std::uint32_t>(appearance_.textures.size() - 1);
}

void TextureFiles::report(Mesh& mesh, const std::string& source) const {
  mesh.files.insert(mesh.files.end(), read_.begin(), read_.end());
  if (missing_ == 0) return;
  mesh.notes.push_back(source + ": " + std::to_string(missing_) +
                       (missing_ == 1 ? " texture is missing: " : " textures are missing, first ") +
                       first_missing_);
}

}  // namespace heapwood::scenes
