// SPDX-License-Identifier: MIT
// The header of a PLY file: its elements, their properties, and the encoding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heapwood::scenes::ply {

enum class Format { ascii, little, big };
enum class Type : std::uint8_t { i8, u8, i16, u16, i32, u32, f32, f64 };

std::size_t size_of(Type type);

struct Property {
  std::string name;
  Type type = Type::f32;           // of the value, or of a list's items
  std::optional<Type> list_count;  // a list: the type of its length
};

struct Element {
  std::string name;
  std::uint64_t count = 0;  // claimed, not trusted
  std::vector<Property> properties;
};

struct Header {
  Format format = Format::ascii;
  std::vector<Element> elements;
  std::size_t body = 0;  // where the data begins
  std::string texture;   // `comment TextureFile NAME`
};

// The location of an error: lines in the header and in ASCII data, bytes in binary data.
struct Place {
  std::span<const std::byte> file;
  const std::string& source;
  bool lines = true;

  [[noreturn]] void fail(std::size_t offset, const std::string& reason) const;
};

Header parse_header(std::span<const std::byte> file, const std::string& source);

}  // namespace heapwood::scenes::ply
