// SPDX-License-Identifier: MIT
#include "scenes/texture_files.hpp"

#include <algorithm>

#include "geometry/picture_file.hpp"
#include "simt/error.hpp"

namespace heapwood::scenes {
namespace {

constexpr std::size_t max_texels = std::size_t{1} << 29;  // of a scene's textures: 2 GiB
constexpr const char* too_large = "all textures together do not fit in 2 GiB";

void set_sampler(Texture& texture, Wrap wrap_u, Wrap wrap_v, bool nearest) {
  texture.wrap_u = wrap_u;
  texture.wrap_v = wrap_v;
  texture.nearest = nearest;
}

bool is_opaque(std::uint32_t texel) { return texel >> 24 == 255; }
bool is_grey(std::uint32_t texel) { return ((texel ^ texel >> 8) & 0xffff) == 0; }
bool all(const Texture& texture, bool (*is)(std::uint32_t)) {
  return std::ranges::all_of(texture.texels, is);
}

// The luminance of a texel; for a grey texel its value.
std::uint32_t luminance_of(std::uint32_t texel) {
  return (54 * (texel & 255) + 183 * (texel >> 8 & 255) + 19 * (texel >> 16 & 255)) >> 8;
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
    index = decode(name, read_file(files_.find_anywhere(name)).bytes());
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
  bool has_alpha = false;
  if (!decode_picture(file, texture, reason, &has_alpha)) return miss(name, reason);
  if (!has_space(texture.texels.size())) return miss(name, too_large);
  const std::uint32_t index = add(std::move(texture));
  if (has_alpha) has_alpha_.insert(index);
  return index;
}

std::uint32_t TextureFiles::with_alpha(std::uint32_t colour, std::uint32_t mask) {
  if (mask == no_texture) return colour;
  const auto [place, is_new] = with_alpha_.try_emplace({colour, mask}, no_texture);
  return is_new ? place->second = combine(colour, mask) : place->second;
}

std::uint32_t TextureFiles::combine(std::uint32_t colour, std::uint32_t mask) {
  const Texture& alpha = appearance_.textures[mask];
  const Texture& base = appearance_.textures[colour != no_texture ? colour : mask];
  Texture result;
  result.width = std::max(base.width, alpha.width);
  result.height = std::max(base.height, alpha.height);
  set_sampler(result, base.wrap_u, base.wrap_v, base.nearest);
  const std::size_t texels = std::size_t{result.width} * result.height;
  if (!has_space(texels)) return miss("opacity", too_large);
  result.texels.resize(texels);
  const bool is_mask =
      !has_alpha_.contains(mask) ||
      (all(alpha, is_grey) && (colour == no_texture || base.texels != alpha.texels));
  const bool uses_alpha = !is_mask || !all(alpha, is_opaque);
  for (std::size_t y = 0; y < result.height; ++y) {
    check_interruption();
    for (std::size_t x = 0; x < result.width; ++x) {
      const auto nearest = [&](const Texture& texture) {
        return texture.texels[y * texture.height / result.height * texture.width +
                              x * texture.width / result.width];
      };
      const std::uint32_t from = nearest(alpha);
      const std::uint32_t to = colour != no_texture ? nearest(base) : 0xffffff;
      result.texels[y * result.width + x] =
          (to & 0xffffff) | (uses_alpha ? from >> 24 : luminance_of(from)) << 24;
    }
  }
  return add(std::move(result));
}

std::uint32_t TextureFiles::with_sampler(std::uint32_t index, Wrap wrap_u, Wrap wrap_v,
                                         bool nearest) {
  if (index == no_texture) return index;
  const auto [place, is_new] = with_sampler_.try_emplace({index, wrap_u, wrap_v, nearest}, index);
  if (!is_new) return place->second;
  // The first sampler used becomes the texture's own.
  if (has_sampler_.insert(index).second) {
    set_sampler(appearance_.textures[index], wrap_u, wrap_v, nearest);
    return index;
  }
  if (!has_space(appearance_.textures[index].texels.size()))
    return place->second = miss("a texture with two samplers", too_large);
  Texture copy = appearance_.textures[index];
  set_sampler(copy, wrap_u, wrap_v, nearest);
  place->second = add(std::move(copy));
  if (has_alpha_.contains(index)) has_alpha_.insert(place->second);
  return place->second;
}

bool TextureFiles::has_space(std::size_t texels) const { return texels <= max_texels - texels_; }

std::uint32_t TextureFiles::add(Texture texture) {
  texels_ += texture.texels.size();
  appearance_.textures.push_back(std::move(texture));
  return static_cast<std::uint32_t>(appearance_.textures.size() - 1);
}

void TextureFiles::report(Mesh& mesh, const std::string& source) const {
  if (missing_ == 0) return;
  mesh.notes.push_back(source + ": " + std::to_string(missing_) +
                       (missing_ == 1 ? " texture is missing: " : " textures are missing, first ") +
                       first_missing_);
}

}  // namespace heapwood::scenes
