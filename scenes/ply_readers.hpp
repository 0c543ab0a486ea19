// SPDX-License-Identifier: MIT
// Reads the values of a PLY file in sequence, from text or binary data of either byte order. A
// reader never passes the end of the file.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "scenes/file.hpp"
#include "scenes/ply_header.hpp"
#include "scenes/signs.hpp"

namespace heapwood::scenes::ply {

static_assert(std::endian::native == std::endian::little);

// The current item, for messages.
struct Current {
  const Element* element = nullptr;
  std::uint64_t index = 0;
  std::string text() const { return printable(element->name) + " " + std::to_string(index); }
};

// Values from binary data. A double represents every integer type exactly.
template <Format format>
class BinaryReader {
 public:
  BinaryReader(const Place& place, std::size_t begin) : place_(place), at_(begin) {}

  std::size_t offset() const { return at_; }
  std::size_t left() const { return place_.file.size() - at_; }

  double read(Type type, const Current& current) {
    if (left() < size_of(type)) end_of_file(current);
    switch (type) {
      case Type::i8:
        return value<std::int8_t>();
      case Type::u8:
        return value<std::uint8_t>();
      case Type::i16:
        return value<std::int16_t>();
      case Type::u16:
        return value<std::uint16_t>();
      case Type::i32:
        return value<std::int32_t>();
      case Type::u32:
        return value<std::uint32_t>();
      case Type::f32:
        return value<float>();
      case Type::f64:
        break;
    }
    return value<double>();
  }
  void skip(Type type, std::uint64_t count, const Current& current) {
    if (count > left() / size_of(type)) end_of_file(current);
    at_ += static_cast<std::size_t>(count) * size_of(type);
  }
  // The min number of bytes per value.
  static std::size_t smallest(Type type) { return size_of(type); }

 private:
  [[noreturn]] void end_of_file(const Current& current) const {
    place_.fail(at_, "the file ends within " + current.text());
  }
  template <class T>
  T value() {
    std::array<std::byte, sizeof(T)> raw;
    std::memcpy(raw.data(), place_.file.data() + at_, sizeof(T));
    if constexpr (format == Format::big) {
      for (std::size_t i = 0; i < sizeof(T) / 2; ++i) std::swap(raw[i], raw[sizeof(T) - 1 - i]);
    }
    at_ += sizeof(T);
    return std::bit_cast<T>(raw);
  }

  const Place& place_;
  std::size_t at_;
};

// Numbers separated by white space, including line ends.
class AsciiReader {
 public:
  AsciiReader(const Place& place, std::size_t begin)
      : place_(place),
        text_(reinterpret_cast<const char*>(place.file.data()), place.file.size()),
        at_(begin) {}

  std::size_t offset() const { return at_; }
  std::size_t left() const { return text_.size() - at_; }

  double read(Type, const Current& current) {
    const std::string_view word = next(current);
    const char* const end = word.data() + word.size();
    double result = 0;
    const auto [stop, error] = std::from_chars(without_plus(word).data(), end, result);
    if (stop != end || error == std::errc::invalid_argument) {
      place_.fail(at_ - word.size(),
                  "`" + printable(word) + "` in " + current.text() + " is not a number");
    }
    // std::errc::result_out_of_range leaves the value unset: too small becomes 0; too large is
    // rejected below as not finite.
    if (error == std::errc::result_out_of_range)
      result = std::strtod(std::string(word).c_str(), nullptr);
    return result;
  }
  void skip(Type, std::uint64_t count, const Current& current) {
    for (std::uint64_t i = 0; i < count; ++i) next(current);
  }
  static std::size_t smallest(Type) { return 2; }  // a digit and a separator

 private:
  static bool space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
  std::string_view next(const Current& current) {
    while (at_ < text_.size() && space(text_[at_])) ++at_;
    if (at_ == text_.size()) place_.fail(at_, "the file ends within " + current.text());
    const std::size_t begin = at_;
    while (at_ < text_.size() && !space(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  const Place& place_;
  std::string_view text_;
  std::size_t at_;
};

}  // namespace heapwood::scenes::ply
