// SPDX-License-Identifier: MIT
#include "scenes/mtl.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "scenes/file.hpp"

namespace heapwood::scenes {
namespace {

std::optional<float> number(std::string_view word) {
  float value = 0;
  if (!parse_number(without_plus(word), value) || !std::isfinite(value)) return std::nullopt;
  return value;
}

// Colours may have one number or three; `spectral` and `xyz` are ignored.
std::optional<Vec3> colour(std::string_view line, float largest) {
  const auto x = number(next_word(line));
  if (!x) return std::nullopt;
  const auto y = number(next_word(line)), z = number(next_word(line));
  const auto limited = [&](float c) { return std::clamp(c, 0.0f, largest); };
  return Vec3{limited(*x), limited(y.value_or(*x)), limited(z.value_or(*x))};
}

// The file name of a map: the rest of the line behind options such as `-s 1 1 1` and `-clamp on`.
struct MapName {
  std::string name;
  bool clamp = false;
  bool has_transform = false;  // -s or -o, not the identity
};
MapName map_name(std::string_view line) {
  MapName result;
  for (std::string_view rest = trimmed(line); rest.starts_with('-'); rest = trimmed(rest)) {
    const std::string_view option = next_word(rest);
    // One word or up to three numbers.
    const bool vector = option == "-s" || option == "-o" || option == "-t" || option == "-mm";
    std::string_view after = rest;
    const std::string_view first = next_word(after);
    if (option == "-clamp") result.clamp = first == "on";
    const auto changes = [&](std::string_view word) {
      return (option == "-s" && number(word) != 1.0f) || (option == "-o" && number(word) != 0.0f);
    };
    result.has_transform = result.has_transform || changes(first);
    rest = after;
    for (unsigned i = 1; vector && i < 3; ++i) {
      const std::string_view word = next_word(after);
      if (!number(word)) break;
      // The third number is for solid textures.
      result.has_transform = result.has_transform || (i == 1 && changes(word));
      rest = after;
    }
    line = rest;
  }
  result.name = trimmed(line);
  return result;
}

template <class F>
void each_line(std::string_view text, F f) {
  text = without_byte_order_mark(text);
  while (!text.empty()) {
    check_interruption();
    const std::size_t end = std::min(text.find_first_of("\r\n"), text.size());
    f(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

class MtlParser {
 public:
  MtlParser(TextureFiles& textures, Appearance& appearance,
            std::map<std::string, std::uint32_t, std::less<>>& names)
      : textures_(textures), appearance_(appearance), names_(names) {}

  bool run(std::string_view text) {
    each_line(text, [this](std::string_view line) { statement(line); });
    finish();
    return has_transform_;
  }

 private:
  void statement(std::string_view line) {
    const std::string_view keyword = next_word(line);
    const std::string key = lower(keyword);
    if (key == "newmtl") {
      finish();
      current_.emplace();
      current_->name = trimmed(line);
      diffuse_map_ = opacity_map_ = emission_map_ = {};
      has_colour_ = has_opacity_ = false;
    } else if (!current_) {
      return;
    } else if (key == "kd") {
      if (const auto c = colour(line, 1)) current_->colour = *c;
      has_colour_ = true;
    } else if (key == "ke") {
      if (const auto c = colour(line, 1e6f)) current_->emission = *c;
    } else if (key == "d" || key == "tr") {
      std::string_view word = next_word(line);
      if (word == "-halo") word = next_word(line);
      const auto x = number(word);
      if (!x || (key == "tr" && has_opacity_)) return;
      // Programs disagree on Tr: 1 may mean opaque. So Tr alone makes no material invisible.
      current_->alpha = key == "d" ? std::clamp(*x, 0.0f, 1.0f) : *x > 0 && *x < 1 ? 1 - *x : 1;
      has_opacity_ = has_opacity_ || key == "d";
    } else if (key == "map_kd") {
      diffuse_map_ = map_name(line);
    } else if (key == "map_d" || key == "map_opacity") {
      opacity_map_ = map_name(line);
    } else if (key == "map_ke") {
      emission_map_ = map_name(line);
    }
  }

  std::uint32_t texture(const MapName& map) {
    if (map.name.empty()) return no_texture;
    has_transform_ = has_transform_ || map.has_transform;
    const Wrap wrap = map.clamp ? Wrap::clamp : Wrap::repeat;
    return textures_.with_sampler(textures_.read(map.name), wrap, wrap, false);
  }

  void finish() {
    if (!current_) return;
    Material& m = *current_;
    // Some programs write a black Kd with a map_Kd and mean the colour of the map alone.
    if (!diffuse_map_.name.empty() && (!has_colour_ || m.colour == Vec3{})) m.colour = {1, 1, 1};
    if (diffuse_map_.name.empty() && !has_colour_) m.colour = {0.8f, 0.8f, 0.8f};
    m.texture = texture(diffuse_map_);
    const std::uint32_t mask = texture(opacity_map_);
    // Some programs write `d 0` with a map_d and mean the alpha of the map alone. If the map cannot
    // be read, an opaque surface is better than none.
    if (!opacity_map_.name.empty()) m.alpha = 1;
    if (mask != no_texture) {
      m.texture = textures_.with_alpha(m.texture, mask);
      m.coverage = Coverage::cutout;
    } else if (m.alpha < 1) {
      m.coverage = Coverage::blended;
    }
    m.emission_texture = texture(emission_map_);
    if (m.emission_texture != no_texture && m.emission == Vec3{}) m.emission = {1, 1, 1};
    names_.insert_or_assign(m.name, static_cast<std::uint32_t>(appearance_.materials.size()));
    appearance_.materials.push_back(std::move(m));
    current_.reset();
  }

  TextureFiles& textures_;
  Appearance& appearance_;
  std::map<std::string, std::uint32_t, std::less<>>& names_;
  std::optional<Material> current_;
  MapName diffuse_map_, opacity_map_, emission_map_;
  bool has_colour_ = false, has_opacity_ = false;  // by Kd, by d
  bool has_transform_ = false;
};

}  // namespace

bool parse_mtl(std::string_view text, TextureFiles& textures, Appearance& appearance,
               std::map<std::string, std::uint32_t, std::less<>>& names) {
  return MtlParser(textures, appearance, names).run(text);
}

std::vector<std::string> find_maps(std::string_view text) {
  std::vector<std::string> maps;
  each_line(text, [&](std::string_view line) {
    const std::string key = lower(next_word(line));
    if (key.starts_with("map_") || key == "bump" || key == "disp" || key == "decal" ||
        key == "refl" || key == "norm")
      maps.push_back(map_name(line).name);
  });
  return maps;
}

}  // namespace heapwood::scenes
