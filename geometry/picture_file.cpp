// SPDX-License-Identifier: MIT
#include "geometry/picture_file.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <string_view>

namespace {

// A limit of memory for stb_image, which expands compressed data before it compares the size with
// the picture's. A thread decodes one picture at a time.
thread_local std::size_t stb_budget = std::numeric_limits<std::size_t>::max();

void* stb_allocate(std::size_t bytes) {
  if (bytes > stb_budget) return nullptr;
  stb_budget -= bytes;
  return std::malloc(bytes);
}

void* stb_reallocate(void* old, std::size_t old_bytes, std::size_t bytes) {
  if (bytes > old_bytes && bytes - old_bytes > stb_budget) return nullptr;
  void* const block = std::realloc(old, bytes);
  if (block != nullptr && bytes > old_bytes) stb_budget -= bytes - old_bytes;
  return block;
}

}  // namespace

#define STBI_MALLOC(bytes) stb_allocate(bytes)
#define STBI_REALLOC_SIZED(old, old_bytes, bytes) stb_reallocate(old, old_bytes, bytes)
#define STBI_FREE(block) std::free(block)
#define STBI_NO_GIF
#define STBI_NO_PSD
#define STBI_NO_PIC
#define STBI_NO_PNM
#define STB_IMAGE_IMPLEMENTATION
#include <stb/stb_image.h>

namespace heapwood {
namespace {

// Deflate, the densest of the compressions, expands by at most 1032.
constexpr std::size_t max_pixels_per_byte = 1040, small_file_pixels = 1 << 16;
constexpr std::size_t max_pixels = std::size_t{1} << 27;

bool is_bmp(std::span<const std::byte> file) {
  return file.size() > 1 && file[0] == std::byte{'B'} && file[1] == std::byte{'M'};
}

class Budget {
 public:
  explicit Budget(std::size_t bytes) { stb_budget = bytes; }
  ~Budget() { stb_budget = std::numeric_limits<std::size_t>::max(); }
};

std::size_t pixels_of(int width, int height) {
  return static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
}

// Checks a picture's size in its header, and that its pixels follow. Returns the bytes that the
// decoder may allocate (a few copies of the picture with up to 16 bytes per pixel), or 0 with a
// reason.
std::size_t budget_of(std::span<const std::byte> file, std::string& reason) {
  const auto* const bytes = reinterpret_cast<const stbi_uc*>(file.data());
  int width = 0, height = 0, channels = 0;
  if (file.size() > std::numeric_limits<int>::max()) {
    reason = "it is too large";
    return 0;
  }
  if (!stbi_info_from_memory(bytes, static_cast<int>(file.size()), &width, &height, &channels)) {
    reason = "it is not a PNG, JPEG, BMP, TGA or HDR picture";
    return 0;
  }
  if (is_bmp(file) && height > -static_cast<int>(max_picture_side))
    height = std::abs(height);  // negative: rows from the top
  if (width < 1 || height < 1 || width > static_cast<int>(max_picture_side) ||
      height > static_cast<int>(max_picture_side) ||
      pixels_of(width, height) >
          std::min(max_pixels, small_file_pixels + max_pixels_per_byte * file.size())) {
    reason = "its header claims " + std::to_string(width) + "x" + std::to_string(height) +
             " pixels: more than a file of its size can hold, or a side of more than " +
             std::to_string(max_picture_side);
    return 0;
  }
  reason = find_damage(file, static_cast<std::size_t>(width), static_cast<std::size_t>(height));
  if (!reason.empty()) return 0;
  return (std::size_t{1} << 20) + 4 * file.size() + 64 * pixels_of(width, height);
}

template <class T>
using Decoded = std::unique_ptr<T, decltype(&stbi_image_free)>;

// Decodes a file by `load`, a function of stb_image. Returns nullptr with a reason if it fails.
template <class T>
Decoded<T> decode(std::span<const std::byte> file, int channels,
                  T* (*load)(const stbi_uc*, int, int*, int*, int*, int), int (&size)[3],
                  std::string& reason) {
  const std::size_t max_bytes = budget_of(file, reason);
  if (max_bytes == 0) return {nullptr, &stbi_image_free};
  const Budget budget(max_bytes);
  Decoded<T> data(load(reinterpret_cast<const stbi_uc*>(file.data()), static_cast<int>(file.size()),
                       &size[0], &size[1], &size[2], channels),
                  &stbi_image_free);
  const char* const failure = stbi_failure_reason();
  if (!data) reason = std::string("it cannot be decoded: ") + (failure ? failure : "damaged");
  return data;
}

// The order in which a Radiance file stores its pixels.
struct RadianceOrder {
  bool x_first = false, from_right = false, from_bottom = false;
};

// Reads the order from the line with the size, such as `+X 64 -Y 32`, which follows an empty line.
// Replaces it by the only order that the decoder knows, `-Y 64 +X 32`.
RadianceOrder take_order(std::vector<std::byte>& file) {
  char* const text = reinterpret_cast<char*>(file.data());
  const std::string_view all(text, file.size());
  const std::size_t empty = all.find("\n\n"), first = empty + 2,
                    second = all.find_first_of("+-", first + 1), end = all.find('\n', first);
  const auto is_axis = [&](std::size_t index) {
    return index + 1 < end && (text[index] == '+' || text[index] == '-') &&
           (text[index + 1] == 'X' || text[index + 1] == 'Y');
  };
  if (empty == all.npos || end == all.npos || second >= end || !is_axis(first) ||
      !is_axis(second) || text[first + 1] == text[second + 1])
    return {};
  RadianceOrder order;
  order.x_first = text[first + 1] == 'X';
  order.from_right = text[order.x_first ? first : second] == '-';
  order.from_bottom = text[order.x_first ? second : first] == '+';
  std::copy_n("-Y", 2, text + first);
  std::copy_n("+X", 2, text + second);
  return order;
}

}  // namespace

bool decode_picture(std::span<const std::byte> file, Texture& texture, std::string& reason,
                    bool* has_alpha) {
  int size[3] = {};
  const auto data = decode(file, 4, stbi_load_from_memory, size, reason);
  if (!data) return false;
  const auto [width, height, channels] = size;
  texture.width = static_cast<unsigned>(width);
  texture.height = static_cast<unsigned>(height);
  texture.texels.resize(pixels_of(width, height));
  std::memcpy(texture.texels.data(), data.get(), 4 * texture.texels.size());
  if (has_alpha != nullptr) *has_alpha = channels % 2 == 0 && !is_bmp(file);
  return true;
}

bool decode_radiance(std::span<const std::byte> original, RadianceMap& map, std::string& reason) {
  std::vector<std::byte> in_order(original.begin(), original.end());
  const RadianceOrder order = take_order(in_order);
  int size[3] = {};
  const auto data = decode(in_order, 3, stbi_loadf_from_memory, size, reason);
  if (!data) return false;
  // If x comes first, scanlines are columns.
  const auto lines = static_cast<std::size_t>(size[1]), length = static_cast<std::size_t>(size[0]);
  map.width = static_cast<unsigned>(order.x_first ? lines : length);
  map.height = static_cast<unsigned>(order.x_first ? length : lines);
  map.texels.resize(lines * length);
  for (std::size_t i = 0; i < map.texels.size(); ++i) {
    const float* const texel = data.get() + 3 * i;
    std::size_t x = order.x_first ? i / length : i % length,
                y = order.x_first ? i % length : i / length;
    if (order.from_right) x = map.width - 1 - x;
    if (order.from_bottom) y = map.height - 1 - y;
    map.texels[y * map.width + x] = {texel[0], texel[1], texel[2]};
  }
  return true;
}

std::optional<std::string> gunzip(std::string_view file) {
  constexpr std::size_t header_bytes = 10, trailer_bytes = 8, max_expansion = 1040;
  if (file.size() < header_bytes + trailer_bytes || !file.starts_with(gzip_magic)) return {};
  // Skip the header, whose flags say which fields follow.
  const auto byte = [&](std::size_t at) {
    return std::size_t{static_cast<unsigned char>(file[at])};
  };
  constexpr unsigned has_checksum = 2, has_extra = 4, has_name = 8, has_comment = 16;
  const std::size_t flags = byte(3), end = file.size() - trailer_bytes;
  std::size_t at = header_bytes;
  if ((flags & has_extra) != 0) at += 2 + byte(at) + (byte(at + 1) << 8);
  for (const unsigned text : {has_name, has_comment}) {
    if ((flags & text) != 0) at = std::min(file.find('\0', at), end) + 1;
  }
  if ((flags & has_checksum) != 0) at += 2;
  // The last 4 bytes are the size of the contents.
  std::size_t size = 0;
  for (unsigned i = 4; i-- > 0;) size = size << 8 | byte(end + 4 + i);
  if (at >= end || std::max(size, file.size()) > std::numeric_limits<int>::max() ||
      size / max_expansion > file.size())
    return {};
  std::string contents(size, '\0');
  const int got = stbi_zlib_decode_noheader_buffer(contents.data(), static_cast<int>(size),
                                                   file.data() + at, static_cast<int>(end - at));
  if (got < 0 || static_cast<std::size_t>(got) != size) return {};
  return contents;
}

}  // namespace heapwood
