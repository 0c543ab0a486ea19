// SPDX-License-Identifier: MIT
#include "scenes/mesh_files.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "scenes/file.hpp"
#include "scenes/polygon.hpp"
#include "simt/error.hpp"

namespace heapwood::scenes {
namespace {

static_assert(std::endian::native == std::endian::little);

enum class Format { ascii, little, big };
enum class Type : std::uint8_t { i8, u8, i16, u16, i32, u32, f32, f64 };

std::size_t size_of(Type type) {
  constexpr std::size_t sizes[] = {1, 1, 2, 2, 4, 4, 4, 8};
  return sizes[static_cast<std::size_t>(type)];
}

struct Property {
  std::string name;
  Type type = Type::f32;           // type of the value, or of a list's items
  std::optional<Type> list_count;  // of a list: the type of its length
};

struct Element {
  std::string name;
  std::uint64_t count = 0;  // claimed, not trusted
  std::vector<Property> properties;
};

struct Header {
  Format format = Format::ascii;
  std::vector<Element> elements;
  std::size_t body = 0;  // offset of the data
  std::string texture;   // NAME in `comment TextureFile NAME`
};

// The location of an error: a line in the header and in ASCII data, a byte in binary data.
struct Place {
  std::span<const std::byte> file;
  const std::string& source;
  bool lines = true;

  [[noreturn]] void fail(std::size_t offset, const std::string& reason) const {
    std::size_t number = offset;
    if (lines) {
      const auto head = file.first(std::min(offset, file.size()));
      // Counts the ends of lines: \n, \r\n and \r.
      number = 1;
      for (std::size_t i = 0; i < head.size(); ++i) {
        number += head[i] == std::byte('\n') ? i == 0 || head[i - 1] != std::byte('\r')
                                             : head[i] == std::byte('\r');
      }
    }
    throw Error(Exit::scene, concat(source, lines ? ": line " : ": byte ", number, ": ", reason));
  }
};

struct TypeName {
  std::string_view name;
  Type type;
};
constexpr TypeName type_names[] = {
    {"char", Type::i8},   {"int8", Type::i8},     {"uchar", Type::u8},   {"uint8", Type::u8},
    {"short", Type::i16}, {"int16", Type::i16},   {"ushort", Type::u16}, {"uint16", Type::u16},
    {"int", Type::i32},   {"int32", Type::i32},   {"uint", Type::u32},   {"uint32", Type::u32},
    {"float", Type::f32}, {"float32", Type::f32}, {"double", Type::f64}, {"float64", Type::f64},
};

// Parses the header: elements, their properties, and the encoding.
class HeaderParser {
 public:
  HeaderParser(std::span<const std::byte> file, const std::string& source)
      : place_{file, source}, text_(reinterpret_cast<const char*>(file.data()), file.size()) {
    next_ = text_.size() - without_byte_order_mark(text_).size();
    const std::size_t end = text_.find_first_of("\r\n", next_);
    ends_in_cr_ = end != text_.npos && text_[end] == '\r' && !text_.substr(end).starts_with("\r\n");
  }

  Header run() {
    const std::vector<std::string_view> first = words_of(next_line());
    if (first.size() != 1 || first[0] != "ply") fail("the first line must be `ply`");
    bool has_format = false;
    while (true) {
      const std::string_view line = next_line();
      const std::vector<std::string_view> words = words_of(line);
      if (words.size() > 2 && words[0] == "comment" && words[1] == "TextureFile")
        header_.texture = words[2];
      if (words.empty() || words[0] == "comment" || words[0] == "obj_info") continue;
      if (words[0] == "end_header") break;
      if (words[0] == "format") {
        parse_format(words);
        has_format = true;
      } else if (words[0] == "element") {
        parse_element(words);
      } else if (words[0] == "property") {
        parse_property(words);
      } else {
        fail("`" + printable(words[0]) + "` is not a keyword of a PLY header");
      }
    }
    if (!has_format) fail("the header has no `format` line");
    header_.body = next_;
    return std::move(header_);
  }

 private:
  [[noreturn]] void fail(const std::string& reason) const { place_.fail(begin_, reason); }

  // The next line without its end, which is \n or \r\n, or \r if the first line ends in it. A \n
  // after the last \r is then data.
  std::string_view next_line() {
    begin_ = next_;
    const std::size_t end = text_.find(ends_in_cr_ ? '\r' : '\n', begin_);
    if (end == std::string_view::npos) fail("the file ends before `end_header`");
    next_ = end + 1;
    std::string_view line = text_.substr(begin_, end - begin_);
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
  }

  void parse_format(const std::vector<std::string_view>& words) {
    const std::string_view name = words.size() == 3 ? words[1] : "";
    if (name == "ascii") {
      header_.format = Format::ascii;
    } else if (name == "binary_little_endian") {
      header_.format = Format::little;
    } else if (name == "binary_big_endian") {
      header_.format = Format::big;
    } else {
      fail(
          "expected `format ascii 1.0`, `format binary_little_endian 1.0` or `format "
          "binary_big_endian 1.0`");
    }
    if (words[2] != "1.0")
      fail("version " + printable(words[2]) + " is not supported; expected 1.0");
  }

  void parse_element(const std::vector<std::string_view>& words) {
    Element element;
    if (words.size() != 3) fail("expected `element NAME COUNT`");
    element.name = words[1];
    if (!parse_number(words[2], element.count))
      fail("`" + printable(words[2]) + "` is not a count");
    header_.elements.push_back(std::move(element));
  }

  Type type(std::string_view name) const {
    for (const TypeName& t : type_names) {
      if (t.name == name) return t.type;
    }
    fail("`" + printable(name) + "` is not a property type");
  }

  void parse_property(const std::vector<std::string_view>& words) {
    if (header_.elements.empty()) fail("a property precedes the first element");
    const bool list = words.size() > 1 && words[1] == "list";
    if (words.size() != (list ? 5 : 3))
      fail("expected `property TYPE NAME` or `property list TYPE TYPE NAME`");
    Property property{std::string(words.back()), type(words[words.size() - 2]), std::nullopt};
    if (list) {
      property.list_count = type(words[2]);
      if (*property.list_count >= Type::f32) fail("the length of a list must have an integer type");
    }
    header_.elements.back().properties.push_back(std::move(property));
  }

  Place place_;
  std::string_view text_;
  std::size_t begin_ = 0, next_ = 0;  // offsets of the current line and of the next one
  bool ends_in_cr_ = false;
  Header header_;
};

// The item that is being read, for messages.
struct Current {
  const Element* element = nullptr;
  std::uint64_t index = 0;
  std::string text() const { return concat(printable(element->name), " ", index); }
};

template <class T>
double value_at(const std::byte* bytes, bool big_endian) {
  std::array<std::byte, sizeof(T)> raw;
  std::memcpy(raw.data(), bytes, sizeof(T));
  if (big_endian) std::ranges::reverse(raw);
  return std::bit_cast<T>(raw);
}
// Functions that read a value, in the order of Type.
constexpr double (*value_of_type[])(const std::byte*, bool) = {
    value_at<std::int8_t>,   value_at<std::uint8_t>, value_at<std::int16_t>,
    value_at<std::uint16_t>, value_at<std::int32_t>, value_at<std::uint32_t>,
    value_at<float>,         value_at<double>};

// Reads the values of a file in sequence, from text or from binary data of either byte order, and
// never beyond the end of the file. Values are doubles, which represent all integer types exactly.
class Reader {
 public:
  Reader(const Place& place, const Header& header)
      : place_(place), format_(header.format), at_(header.body) {}

  std::size_t offset() const { return at_; }
  std::size_t left() const { return place_.file.size() - at_; }
  // The min number of bytes per value; in text it is a digit and a separator.
  std::size_t smallest(Type type) const { return is_text() ? 2 : size_of(type); }

  double read(Type type, const Current& current) {
    if (is_text()) return number(current);
    if (left() < size_of(type)) end_of_file(current);
    at_ += size_of(type);
    return value_of_type[static_cast<std::size_t>(type)](&place_.file[at_ - size_of(type)],
                                                         format_ == Format::big);
  }
  void skip(Type type, std::uint64_t count, const Current& current) {
    if (is_text()) {
      for (std::uint64_t i = 0; i < count; ++i) next(current);
      return;
    }
    if (count > left() / size_of(type)) end_of_file(current);
    at_ += static_cast<std::size_t>(count) * size_of(type);
  }
  // In a text file either each row is a line, or values are not bound to lines. Notes the first row
  // that does not end its line.
  void end_row(const Current& current) {
    if (!is_text() || !surplus_.empty()) return;
    const std::string_view rest = text_from(at_);
    const std::string_view line = rest.substr(0, rest.find_first_of("\r\n"));
    if (trimmed(line).empty()) return;
    surplus_at_ = at_;
    const std::size_t count = words_of(line).size();
    surplus_ = concat(current.text(), " has ", count, count == 1 ? " value" : " values",
                      " more than the header says");
  }
  // If the values do not fit the header, reports the row that end_row() has noted.
  void check_rows(bool has_failed) const {
    const bool has_left = text_from(at_).find_first_not_of(" \t\n\v\f\r") != std::string_view::npos;
    if (!surplus_.empty() && (has_failed || has_left)) place_.fail(surplus_at_, surplus_);
  }

 private:
  bool is_text() const { return format_ == Format::ascii; }
  std::string_view text_from(std::size_t offset) const {
    return {reinterpret_cast<const char*>(place_.file.data()) + offset,
            place_.file.size() - offset};
  }
  [[noreturn]] void end_of_file(const Current& current) const {
    place_.fail(at_, "the file ends within " + current.text());
  }

  double number(const Current& current) {
    const std::string_view word = next(current);
    double result = 0;
    if (!parse_double(word, result)) {
      place_.fail(at_ - word.size(),
                  "`" + printable(word) + "` in " + current.text() + " is not a number");
    }
    return result;
  }
  // The next word. Words are separated by white space, including line ends.
  std::string_view next(const Current& current) {
    const auto is_space = [&](std::byte c) {
      return c == std::byte(' ') || (c >= std::byte('\t') && c <= std::byte('\r'));
    };
    while (left() > 0 && is_space(place_.file[at_])) ++at_;
    if (left() == 0) end_of_file(current);
    const std::size_t begin = at_;
    while (left() > 0 && !is_space(place_.file[at_])) ++at_;
    return {reinterpret_cast<const char*>(place_.file.data()) + begin, at_ - begin};
  }

  const Place& place_;
  Format format_;
  std::size_t at_, surplus_at_ = 0;
  std::string surplus_;
};

// The colour channels of vertices: 8 or 16 bits, or floating point from 0 to 1.
class Colours {
 public:
  Colours(const Element& element, Content content) {
    if (content != Content::materials) return;
    constexpr std::string_view names[] = {"red", "green", "blue", "alpha"};
    for (const Property& property : element.properties) {
      std::string_view name = property.name;
      if (name.starts_with("diffuse_")) name.remove_prefix(8);
      for (unsigned i = 0; i < 4; ++i) {
        if (name == names[i] && !property.list_count && channels_[i] == nullptr)
          channels_[i] = &property;
      }
    }
    found_ = channels_[0] && channels_[1] && channels_[2];
  }

  bool found() const { return found_; }
  // The index of a colour channel; 4 for any other property.
  unsigned channel(const Property& property) const {
    unsigned i = 0;
    while (i < 4 && channels_[i] != &property) ++i;
    return found_ ? i : 4;
  }
  void set(std::uint32_t& colour, unsigned i, double value) const {
    const Type type = channels_[i]->type;
    const double largest = type == Type::f32 || type == Type::f64 ? 1
                           : size_of(type) == 2                   ? 65535
                                                                  : 255;
    colour = (colour & ~(255u << 8 * i)) | byte_of(value / largest) << 8 * i;
  }

 private:
  const Property* channels_[4] = {};
  bool found_ = false;
};

class Body {
 public:
  Body(const Header& header, const Place& place, Content content)
      : header_(header), place_(place), content_(content), reader_(place, header) {}

  Mesh run() {
    try {
      read_elements();
      reader_.check_rows(false);
    } catch (const simt::Stopped&) {
      throw;
    } catch (const Error&) {
      reader_.check_rows(true);
      throw;
    }
    place_vertices(mesh_, std::exchange(coordinates_, {}));
    faces_.triangulate(mesh_, place_.source);
    return std::move(mesh_);
  }

 private:
  void read_elements() {
    const Element* vertices = only("vertex");
    const Element* faces = only("face");
    const Element* strips = only("tristrips");
    if (claims_none(faces) && claims_none(strips)) return;
    if (vertices == nullptr) place_.fail(header_.body, "there is no element `vertex`");
    if (vertices->count >= std::numeric_limits<std::uint32_t>::max()) {
      place_.fail(header_.body,
                  concat(vertices->count, " vertices are more than 32-bit indices can name"));
    }
    vertex_count_ = vertices->count;
    if (faces != nullptr && Colours(*faces, content_).found())
      mesh_.notes.push_back(place_.source + ": colours of faces are ignored");
    if (!header_.texture.empty() && content_ == Content::materials)
      mesh_.notes.push_back(place_.source + ": its texture " + printable(header_.texture) +
                            " is ignored");
    for (const Element& element : header_.elements) {
      current_.element = &element;
      const bool is_face = &element == faces || &element == strips;
      if (element.properties.empty()) {
        if (element.count != 0 && (&element == vertices || is_face)) {
          place_.fail(header_.body, "element `" + printable(element.name) + "` has no properties");
        }
        continue;  // its values take no bytes
      }
      check_count(element);
      if (&element == vertices) {
        read_vertices(element);
      } else if (is_face) {
        read_faces(element, &element == strips);
      } else {
        skip(element);
      }
    }
  }

  static bool claims_none(const Element* element) {
    return element == nullptr || element->count == 0;
  }

  const Element* only(std::string_view name) const {
    const Element* found = nullptr;
    for (const Element& element : header_.elements) {
      if (element.name != name) continue;
      if (found != nullptr)
        place_.fail(header_.body, "element `" + std::string(name) + "` appears twice");
      found = &element;
    }
    return found;
  }

  const Property& only(const Element& element, std::string_view name, std::string_view other,
                       bool list) const {
    const Property* found = nullptr;
    for (const Property& property : element.properties) {
      if (property.name != name && property.name != other) continue;
      if (found != nullptr)
        place_.fail(header_.body, "property `" + printable(property.name) + "` appears twice");
      if (property.list_count.has_value() != list) {
        place_.fail(header_.body, "property `" + printable(property.name) +
                                      (list ? "` must be a list" : "` must not be a list"));
      }
      found = &property;
    }
    if (found == nullptr) {
      place_.fail(header_.body,
                  "element `" + element.name + "` has no property `" + std::string(name) + "`");
    }
    return *found;
  }

  // Rejects, before memory is allocated, a count of more items than the rest of the file can hold.
  void check_count(const Element& element) const {
    std::size_t smallest = 0;
    for (const Property& p : element.properties)
      smallest += reader_.smallest(p.list_count.value_or(p.type));
    if (element.count <= (reader_.left() + 1) / smallest) return;
    place_.fail(reader_.offset(), concat("the header claims ", element.count, " of `",
                                         printable(element.name), "`, each of at least ", smallest,
                                         " bytes, but only ", reader_.left(), " bytes follow"));
  }

  std::uint64_t length(const Property& property) {
    const std::size_t begin = reader_.offset();
    const double n = reader_.read(*property.list_count, current_);
    if (!(n >= 0 && n < 4294967296.0 && n == std::floor(n))) {
      place_.fail(begin, "a list in " + current_.text() + " has a length of " + number(n));
    }
    return static_cast<std::uint64_t>(n);
  }

  void skip(const Property& property) {
    reader_.skip(property.type, property.list_count ? length(property) : 1, current_);
  }

  void skip(const Element& element) {
    for (current_.index = 0; current_.index < element.count; ++current_.index) {
      check_interruption();
      for (const Property& property : element.properties) skip(property);
      reader_.end_row(current_);
    }
  }

  void read_vertices(const Element& element) {
    const Property* axes[] = {&only(element, "x", "x", false), &only(element, "y", "y", false),
                              &only(element, "z", "z", false)};
    const Colours colours(element, content_);
    std::vector<std::uint32_t>& packed = mesh_.appearance.vertex_colours;
    if (colours.found()) packed.reserve(element.count);
    coordinates_.reserve(3 * element.count);
    for (current_.index = 0; current_.index < element.count; ++current_.index) {
      check_interruption();
      const std::size_t begin = reader_.offset();
      double p[3] = {};
      std::uint32_t colour = 0xff000000u;
      for (const Property& property : element.properties) {
        unsigned axis = 0;
        while (axis < 3 && axes[axis] != &property) ++axis;
        if (axis < 3) {
          p[axis] = reader_.read(property.type, current_);
        } else if (const unsigned channel = colours.channel(property); channel < 4) {
          colours.set(colour, channel, reader_.read(property.type, current_));
        } else {
          skip(property);
        }
      }
      reader_.end_row(current_);
      if (colours.found()) packed.push_back(colour);
      if (!is_finite(to_float(Vec3d{p[0], p[1], p[2]})))
        place_.fail(after_space(begin), current_.text() + " is not finite");
      coordinates_.insert(coordinates_.end(), p, p + 3);
    }
  }

  void read_faces(const Element& element, bool strips) {
    const Property& corners = only(element, "vertex_indices", "vertex_index", true);
    // Reserves for triangles as far as the rest of the file can hold them: the count cannot be
    // trusted, because a face may take one byte.
    const std::size_t triangle =
        reader_.smallest(*corners.list_count) + 3 * reader_.smallest(corners.type);
    if (!strips)
      mesh_.triangles.reserve(
          std::min<std::uint64_t>(element.count, reader_.left() / triangle + 1));
    for (current_.index = 0; current_.index < element.count; ++current_.index) {
      for (const Property& property : element.properties) {
        if (&property != &corners) {
          skip(property);
        } else if (strips) {
          read_strips(property);
        } else {
          read_face(property);
        }
      }
      reader_.end_row(current_);
    }
  }

  std::uint32_t vertex(double index, std::size_t begin) const {
    if (!(index >= 0 && index < static_cast<double>(vertex_count_) && index == std::floor(index))) {
      place_.fail(after_space(begin), concat(current_.text(), " refers to vertex ", number(index),
                                             ", but there are ", vertex_count_));
    }
    return static_cast<std::uint32_t>(index);
  }

  void read_face(const Property& property) {
    for (std::uint64_t n = length(property); n > 0; --n) {
      check_interruption();
      const std::size_t begin = reader_.offset();
      faces_.add_corner(vertex(reader_.read(property.type, current_), begin));
    }
    faces_.end_face();
  }

  // Reads strips of triangles in one list, separated by -1. In a strip each corner forms a triangle
  // with the two before it, of alternating winding; triangles with a repeated corner only connect
  // parts of a strip.
  void read_strips(const Property& property) {
    std::uint32_t last[2] = {};
    std::uint64_t corners = 0;  // corners of the current strip
    for (std::uint64_t n = length(property); n > 0; --n) {
      check_interruption();
      const std::size_t begin = reader_.offset();
      const double index = reader_.read(property.type, current_);
      const bool restart = index == -1 || (property.type == Type::u32 && index == 4294967295.0);
      if (restart) {
        corners = 0;
        continue;
      }
      const std::uint32_t third = vertex(index, begin);
      const auto [first, second] = last;
      if (corners >= 2 && first != second && second != third && third != first) {
        mesh_.triangles.push_back(corners % 2 == 0 ? Triangle{{first, second, third}}
                                                   : Triangle{{second, first, third}});
      }
      last[0] = second;
      last[1] = third;
      ++corners;
    }
  }

  // Skips white space: in text a value starts after the line break, and an error is on its line.
  std::size_t after_space(std::size_t offset) const {
    if (!place_.lines) return offset;
    while (offset < place_.file.size() &&
           std::isspace(static_cast<unsigned char>(place_.file[offset])))
      ++offset;
    return offset;
  }

  static std::string number(double x) {
    char text[32];
    return {text, std::to_chars(text, text + sizeof(text), x).ptr};
  }

  const Header& header_;
  const Place& place_;
  Content content_;
  Reader reader_;
  Current current_;
  std::uint64_t vertex_count_ = 0;
  Mesh mesh_;
  std::vector<double> coordinates_;
  Faces faces_{mesh_.triangles};
};

Mesh parse(std::span<const std::byte> file, const std::string& source, Content content) {
  const Header header = HeaderParser(file, source).run();
  const Place place{file, source, header.format == Format::ascii};
  return Body(header, place, content).run();
}

}  // namespace

Mesh parse_ply(std::span<const std::byte> file, const std::string& source, Content content) {
  const std::string shown = printable(source, source.size());
  Mesh mesh = file.empty() ? Mesh{} : parse(file, shown, content);
  require_triangles(mesh, shown);
  if (!mesh.appearance.vertex_colours.empty())
    mesh.appearance.materials.push_back({.name = "vertex colours"});
  mesh.name = printable(stem_of(source), source.size());
  return mesh;
}

}  // namespace heapwood::scenes
