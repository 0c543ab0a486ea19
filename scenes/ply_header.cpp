// SPDX-License-Identifier: MIT
#include "scenes/ply_header.hpp"

#include <algorithm>
#include <utility>

#include "scenes/file.hpp"
#include "simt/error.hpp"

namespace heapwood::scenes::ply {
namespace {

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

class Parser {
 public:
  Parser(std::span<const std::byte> file, const std::string& source)
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

  // Without the line end: \n or \r\n, or \r if the first line ends in it. A \n after the last \r is
  // then data.
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
  std::size_t begin_ = 0, next_ = 0;  // of the current line, of the next
  bool ends_in_cr_ = false;
  Header header_;
};

}  // namespace

std::size_t size_of(Type type) {
  constexpr std::size_t sizes[] = {1, 1, 2, 2, 4, 4, 4, 8};
  return sizes[static_cast<std::size_t>(type)];
}

void Place::fail(std::size_t offset, const std::string& reason) const {
  std::size_t number = offset;
  if (lines) {
    const auto head = file.first(std::min(offset, file.size()));
    // Ends of lines: \n, \r\n and \r.
    number = 1;
    for (std::size_t i = 0; i < head.size(); ++i) {
      number += head[i] == std::byte('\n') ? i == 0 || head[i - 1] != std::byte('\r')
                                           : head[i] == std::byte('\r');
    }
  }
  throw Error(Exit::scene, concat(source, lines ? ": line " : ": byte ", number, ": ", reason));
}

Header parse_header(std::span<const std::byte> file, const std::string& source) {
  return Parser(file, source).run();
}

}  // namespace heapwood::scenes::ply
