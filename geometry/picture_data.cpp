// SPDX-License-Identifier: MIT
// Defines find_damage(), which checks pixel data before it is decoded.

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "geometry/picture_file.hpp"

namespace heapwood {
namespace {

constexpr const char* truncated = "it is truncated";
constexpr const char* bad_runs = "the run lengths of its pixels do not match its width";

// Reads bytes in order. Reading past the end gives 0 and sets has_ended().
class Bytes {
 public:
  explicit Bytes(std::span<const std::byte> bytes) : bytes_(bytes) {}

  unsigned next() {
    if (at_ >= bytes_.size()) {
      has_ended_ = true;
      return 0;
    }
    return std::to_integer<unsigned>(bytes_[at_++]);
  }
  void skip(std::size_t count) {
    has_ended_ = has_ended_ || count > bytes_.size() - at_;
    at_ += std::min(count, bytes_.size() - at_);
  }
  bool has_ended() const { return has_ended_; }

 private:
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
  bool has_ended_ = false;
};

std::uint32_t little_endian(std::span<const std::byte> file, std::size_t offset, unsigned bytes) {
  std::uint32_t value = 0;
  for (unsigned i = 0; i < bytes && offset + i < file.size(); ++i)
    value |= std::to_integer<std::uint32_t>(file[offset + i]) << 8 * i;
  return value;
}

// Checks one channel of a scanline: runs of equal and of different bytes.
std::string find_channel_damage(Bytes& bytes, std::size_t width) {
  for (std::size_t x = 0; x < width;) {
    const unsigned code = bytes.next();
    const std::size_t count = code > 128 ? code - 128 : code;
    if (bytes.has_ended()) return truncated;
    if (count == 0 || count > width - x) return bad_runs;
    bytes.skip(code > 128 ? 1 : count);
    x += count;
  }
  return bytes.has_ended() ? truncated : "";
}

// Checks a Radiance file. Its pixels follow an empty line and the line with the size. They are
// flat, with four bytes per pixel; or each scanline has a prefix and its four channels one after
// the other.
std::string find_radiance_damage(std::span<const std::byte> file, std::size_t width,
                                 std::size_t height) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  std::size_t line = 0, next = 0;
  do {
    line = next;
    const std::size_t end = text.find('\n', line);
    if (end == text.npos) return truncated;
    next = end + 1;
  } while (text[line] != '\n' && text[line] != '\0');
  const std::size_t size_end = text.find('\n', next);
  if (size_end == text.npos) return truncated;
  const std::span<const std::byte> pixels = file.subspan(size_end + 1);

  Bytes bytes(pixels);
  for (std::size_t y = 0; y < height; ++y) {
    const unsigned first = bytes.next(), second = bytes.next(), high = bytes.next();
    const bool is_flat = width < 8 || first != 2 || second != 2 || (high & 0x80) != 0;
    if (y == 0 && is_flat) return pixels.size() / 4 < width * height ? truncated : "";
    const unsigned low = bytes.next();
    if (bytes.has_ended()) return truncated;
    if (is_flat || (high << 8 | low) != width) return bad_runs;
    for (unsigned channel = 0; channel < 4; ++channel) {
      std::string damage = find_channel_damage(bytes, width);
      if (!damage.empty()) return damage;
    }
  }
  return "";
}

// Checks a BMP file. Rows are padded to four bytes; the last one may lack its padding.
std::string find_bmp_damage(std::span<const std::byte> file, std::size_t width,
                            std::size_t height) {
  const bool is_old = little_endian(file, 14, 4) == 12;  // the header of OS/2
  const std::size_t bits = width * little_endian(file, is_old ? 24 : 28, 2);
  const std::size_t first = little_endian(file, 10, 4);
  return first + (height - 1) * ((bits + 31) / 32 * 4) + (bits + 7) / 8 > file.size() ? truncated
                                                                                      : "";
}

std::string find_tga_damage(std::span<const std::byte> file, std::size_t width,
                            std::size_t height) {
  const unsigned type = little_endian(file, 2, 1);
  const std::size_t pixel_bytes = (little_endian(file, 16, 1) + 7) / 8;
  Bytes bytes(file);
  bytes.skip(18 + little_endian(file, 0, 1));
  if (little_endian(file, 1, 1) != 0) {  // a palette
    const std::size_t entry_bytes = (little_endian(file, 7, 1) + 7) / 8;
    bytes.skip(little_endian(file, 3, 2) + little_endian(file, 5, 2) * entry_bytes);
  }
  const bool has_runs = type >= 8;
  if (!has_runs) bytes.skip(width * height * pixel_bytes);
  for (std::size_t left = width * height; has_runs && left > 0 && !bytes.has_ended();) {
    const unsigned code = bytes.next();
    const std::size_t count = std::min<std::size_t>(left, 1 + (code & 127));
    bytes.skip(code & 128 ? pixel_bytes : count * pixel_bytes);
    left -= count;
  }
  return bytes.has_ended() ? truncated : "";
}

}  // namespace

std::string find_damage(std::span<const std::byte> file, std::size_t width, std::size_t height) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (text.starts_with("#?")) return find_radiance_damage(file, width, height);
  if (text.starts_with("BM")) return find_bmp_damage(file, width, height);
  // TGA files have no signature. They are recognized by their second byte, the type of the palette:
  // 0 or 1, which it is in neither PNG nor JPEG files.
  if (text.size() >= 2 && text[1] >= 0 && text[1] <= 1) return find_tga_damage(file, width, height);
  return "";
}

}  // namespace heapwood
