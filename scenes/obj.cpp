// SPDX-License-Identifier: MIT
#include "scenes/mesh_files.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "scenes/file.hpp"
#include "scenes/polygon.hpp"
#include "scenes/texture_files.hpp"
#include "simt/error.hpp"

namespace heapwood::scenes {
namespace {

constexpr std::uint32_t no_uv = ~std::uint32_t{0};

// Whether the line has a comment: a `#` at its start or after a blank.
bool has_comment(std::string_view line) {
  for (std::size_t mark = line.find('#'); mark != line.npos; mark = line.find('#', mark + 1)) {
    if (mark == 0 || trimmed(line.substr(mark - 1, 1)).empty()) return true;
  }
  return false;
}

// Splits text into lines, ended by \n, \r\n or \r; a final `\` joins lines, except in a comment.
class LineReader {
 public:
  explicit LineReader(std::string_view text) : text_(text) {}

  std::size_t number() const { return number_; }

  bool next(std::string_view& line) {
    if (at_ == text_.size()) return false;
    number_ += lines_in_last_;
    lines_in_last_ = 1;
    line = physical();
    if (!continues(line)) return true;
    // Reserves the size of the whole file, which one line may have: growing in steps would take up
    // to three times that. Memory that is not written is not used.
    joined_.reserve(text_.size());
    joined_.clear();
    while (continues(line)) {
      joined_.append(line.substr(0, line.size() - 1)).push_back(' ');
      line = {};
      if (at_ == text_.size()) break;
      line = physical();
      ++lines_in_last_;
    }
    joined_.append(line);
    line = joined_;
    return true;
  }

 private:
  static bool continues(std::string_view line) {
    return line.ends_with('\\') && !has_comment(line);
  }

  std::string_view physical() {
    check_interruption();
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != '\n' && text_[at_] != '\r') ++at_;
    const std::string_view line = text_.substr(begin, at_ - begin);
    if (at_ < text_.size() && text_[at_++] == '\r' && at_ < text_.size() && text_[at_] == '\n')
      ++at_;
    return line;
  }

  std::string_view text_;
  std::string joined_;
  std::size_t at_ = 0, number_ = 1, lines_in_last_ = 0;
};

// ---- materials

std::optional<float> number(std::string_view word) {
  float value = 0;
  if (!parse_number(without_plus(word), value) || !std::isfinite(value)) return std::nullopt;
  return value;
}

// Parses a colour, which may have one number or three; `spectral` and `xyz` are ignored.
std::optional<Vec3> colour(std::string_view line, float largest) {
  const auto x = number(next_word(line));
  if (!x) return std::nullopt;
  const auto y = number(next_word(line)), z = number(next_word(line));
  const auto limited = [&](float c) { return std::clamp(c, 0.0f, largest); };
  return Vec3{limited(*x), limited(y.value_or(*x)), limited(z.value_or(*x))};
}

// The file name of a map: the rest of the line after options such as `-s 1 1 1` and `-clamp on`.
struct MapName {
  std::string name;
  bool clamp = false;
  bool has_transform = false;  // -s or -o, not the identity
};
MapName map_name(std::string_view line) {
  MapName result;
  for (std::string_view rest = trimmed(line); rest.starts_with('-'); rest = trimmed(rest)) {
    const std::string_view option = next_word(rest);
    // An option has one word as its value, or up to three numbers.
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
      // The third number is only for solid textures.
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

// Appends the materials of a file to `appearance`, and their indices to `names`. Ignores malformed
// lines: a picture without a colour is better than no picture.
class MtlParser {
 public:
  MtlParser(TextureFiles& textures, Appearance& appearance,
            std::map<std::string, std::uint32_t, std::less<>>& names)
      : textures_(textures), appearance_(appearance), names_(names) {}

  // Returns whether a texture has a scale or an offset (-s, -o), which are ignored.
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
      // Programs disagree on the meaning of Tr: 1 may mean opaque. So Tr = 1 without d does not
      // make a material invisible.
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
    // Some programs write a black Kd with a map_Kd, and mean the colour of the map only.
    if (!diffuse_map_.name.empty() && (!has_colour_ || m.colour == Vec3{})) m.colour = {1, 1, 1};
    if (diffuse_map_.name.empty() && !has_colour_) m.colour = {0.8f, 0.8f, 0.8f};
    m.texture = texture(diffuse_map_);
    const std::uint32_t mask = texture(opacity_map_);
    // Some programs write `d 0` with a map_d, and mean the alpha of the map only. If the map cannot
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
  bool has_colour_ = false, has_opacity_ = false;  // a Kd, a d has been read
  bool has_transform_ = false;
};

// ---- the mesh

class ObjParser {
 public:
  ObjParser(std::string_view text, const std::string& source, Content content)
      : source_(printable(source, source.size())),
        reader_(text),
        reads_colours_(content == Content::materials) {
    mesh_.name = printable(stem_of(source), source.size());
    LineReader reader(text);
    for (std::string_view line; reader.next(line);)
      // Counted first, because a face may refer to later vertices.
      vertex_count_ += next_word(line) == "v";
    if (vertex_count_ >= std::numeric_limits<std::uint32_t>::max())
      fail("the file has more vertices than 32-bit indices can name; split it");
    if (reads_colours_) read_materials(find_libraries(text), source);
  }

  Mesh run() {
    coordinates_.reserve(3 * vertex_count_);
    Faces faces(mesh_.triangles, is_textured_ ? &mesh_.appearance.uv_triangles : nullptr);
    for (std::string_view line; reader_.next(line);) {
      const std::string_view keyword = next_word(line);
      // A `#` may be part of a material's name.
      if (keyword != "usemtl") line = line.substr(0, line.find('#'));
      if (keyword == "v") {
        vertex(line);
      } else if (keyword == "f" || keyword == "fo") {  // `fo` (face outline): an old form of `f`
        face(line, faces);
      } else if (keyword == "vt" && is_textured_) {
        texture_coordinates(line);
      } else if (keyword == "usemtl") {
        const auto found = materials_.find(trimmed(line));
        material_ = found == materials_.end() ? 0 : found->second;
        if (material_ == 0 && reads_colours_) unknown_.emplace(trimmed(line));
      }
    }
    require_triangles(mesh_, source_);
    place_vertices(mesh_, std::exchange(coordinates_, {}));
    faces.triangulate(mesh_, source_);
    if (is_textured_) add_default_uv();
    finish_colours();
    check(mesh_, source_);
    return std::move(mesh_);
  }

 private:
  [[noreturn]] void fail(const std::string& reason) const {
    throw Error(Exit::scene, concat(source_, ": line ", reader_.number(), ": ", reason));
  }

  void read_materials(const std::vector<std::string>& libraries, const std::string& path) {
    if (libraries.empty()) return;
    Appearance& look = mesh_.appearance;
    look.materials.push_back({.name = "default", .colour = {0.82f, 0.77f, 0.71f}});
    const CompanionFiles files(path);
    TextureFiles textures(path, look);
    std::set<std::string> known;
    bool has_transform = false;
    for (const std::string& library : libraries) {
      for (const std::string& name : library_names(library, files)) {
        if (!known.insert(name).second) continue;
        try {
          const FileBytes file = read_file(files.find_anywhere(name));
          has_transform |= MtlParser(textures, look, materials_).run(file.text());
        } catch (const simt::Stopped&) {
          throw;
        } catch (const Error& error) {
          mesh_.notes.push_back(source_ + ": material library " + error.what());
        }
      }
    }
    textures.report(mesh_, source_);
    if (has_transform)
      mesh_.notes.push_back(source_ + ": scales and offsets of textures (-s, -o) are ignored");
    if (look.materials.size() == 1) look = {};
    is_textured_ = !look.textures.empty();
  }

  // The names of libraries on a line: several, or one that contains blanks.
  static std::vector<std::string> library_names(const std::string& line,
                                                const CompanionFiles& files) {
    try {
      files.find(line);
      return {line};
    } catch (const Error&) {
      const std::vector<std::string_view> words = words_of(line);
      return {words.begin(), words.end()};
    }
  }

  void vertex(std::string_view line) {
    for (unsigned axis = 0; axis < 3; ++axis) {
      const std::string_view word = next_word(line);
      if (word.empty()) fail("a vertex needs three numbers");
      double value = 0;
      if (!parse_double(word, value)) fail("`" + printable(word) + "` is not a number");
      if (!std::isfinite(static_cast<float>(value)))
        fail("the vertex is not finite (`" + printable(word) + "`)");
      coordinates_.push_back(value);
    }
    if (reads_colours_) vertex_colour(line);
  }

  // The colour in `v x y z r g b`, from 0 to 1, as scanners and MeshLab write it.
  void vertex_colour(std::string_view line) {
    std::uint32_t colour = 0xff000000u;
    for (unsigned i = 0; i < 3; ++i) {
      double share = 0;
      if (!parse_double(next_word(line), share)) return;
      colour |= byte_of(share) << 8 * i;
    }
    std::vector<std::uint32_t>& colours = mesh_.appearance.vertex_colours;
    colours.resize(coordinates_.size() / 3 - 1, 0xffffffffu);
    colours.push_back(colour);
  }

  void finish_colours() {
    Appearance& look = mesh_.appearance;
    if (!look.empty() && !unknown_.empty()) {
      mesh_.notes.push_back(concat(source_, ": ", unknown_.size(),
                                   unknown_.size() == 1 ? " material" : " materials",
                                   " of `usemtl` not found: ", printable(*unknown_.begin())));
    }
    if (look.vertex_colours.empty()) return;
    if (look.empty()) {
      look.vertex_colours.resize(mesh_.vertices.size(), 0xffffffffu);
      look.materials.push_back({.name = "vertex colours"});
    } else {
      look.vertex_colours.clear();
      mesh_.notes.push_back(source_ + ": colours of vertices are ignored: it has materials");
    }
  }

  void texture_coordinates(std::string_view line) {
    float uv[2] = {};
    for (float& x : uv) {
      if (!parse_number(without_plus(next_word(line)), x) || !std::isfinite(x)) x = 0;
    }
    mesh_.appearance.uvs.push_back({uv[0], 1 - uv[1]});
  }

  void face(std::string_view line, Faces& faces) {
    corners_.clear();
    for (std::string_view word = next_word(line); !word.empty(); word = next_word(line)) {
      check_interruption();
      corners_.push_back({corner(word), is_textured_ ? uv_of(word) : 0});
    }
    if (corners_.size() < 3) return;
    for (const auto& [vertex, uv] : corners_) faces.add_corner(vertex, uv);
    faces.end_face();
    if (!mesh_.appearance.empty())
      mesh_.appearance.triangle_materials.resize(mesh_.triangles.size(), material_);
  }

  // The vertex, counted from 0, of a corner `7`, `-1`, `7/2`, `7//3` or `7/2/3`.
  std::uint32_t corner(std::string_view word) const {
    const std::string_view digits = word.substr(0, word.find('/')), number = without_plus(digits);
    std::int64_t index = 0;
    const char* const end = number.data() + number.size();
    const auto [stop, error] = std::from_chars(number.data(), end, index);
    if (stop != end || error == std::errc::invalid_argument)
      fail("`" + printable(word) + "` is not a corner of a face");
    const auto total = static_cast<std::int64_t>(vertex_count_),
               preceding = static_cast<std::int64_t>(coordinates_.size() / 3);
    if (error == std::errc::result_out_of_range || index == 0 || index > total) {
      fail(concat("the face refers to vertex ", printable(digits), ", but there are ", total,
                  ", counted from 1"));
    }
    if (index < -preceding) {
      fail(concat("the face refers to vertex ", printable(digits), ", but only ", preceding,
                  " precede it"));
    }
    return static_cast<std::uint32_t>(index > 0 ? index - 1 : preceding + index);
  }

  // The index of a corner's texture coordinates, after its first slash; no_uv if absent or
  // malformed.
  std::uint32_t uv_of(std::string_view word) const {
    const std::size_t slash = word.find('/');
    if (slash == word.npos) return no_uv;
    word = word.substr(slash + 1, word.find('/', slash + 1) - slash - 1);
    std::int64_t index = 0;
    if (!parse_number(word, index)) return no_uv;
    index += index < 0 ? static_cast<std::int64_t>(mesh_.appearance.uvs.size()) : -1;
    return index < 0 || index >= std::int64_t{no_uv} ? no_uv : static_cast<std::uint32_t>(index);
  }

  // Gives corners whose texture coordinates are missing or out of range a new pair at the end.
  void add_default_uv() {
    const auto default_uv = static_cast<std::uint32_t>(mesh_.appearance.uvs.size());
    mesh_.appearance.uvs.push_back({});
    for (Triangle& t : mesh_.appearance.uv_triangles) {
      for (std::uint32_t& uv : t.v) uv = std::min(uv, default_uv);
    }
  }

  struct Corner {
    std::uint32_t vertex, uv;
  };

  std::string source_;
  LineReader reader_;
  std::size_t vertex_count_ = 0;
  Mesh mesh_;
  std::vector<double> coordinates_;
  std::vector<Corner> corners_;  // corners of the current face
  std::map<std::string, std::uint32_t, std::less<>> materials_;
  std::set<std::string> unknown_;  // names of materials that are not defined
  std::uint32_t material_ = 0;
  bool is_textured_ = false, reads_colours_;
};

}  // namespace

Mesh parse_obj(std::string_view text, const std::string& source, Content content) {
  return ObjParser(without_byte_order_mark(text), source, content).run();
}

std::vector<std::string> find_libraries(std::string_view text) {
  std::vector<std::string> libraries;
  LineReader reader(without_byte_order_mark(text));
  for (std::string_view line; reader.next(line);) {
    if (next_word(line) == "mtllib") libraries.emplace_back(trimmed(line));
  }
  return libraries;
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
