// SPDX-License-Identifier: MIT
#include "render/film.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "render/image.hpp"

namespace heapwood::render {
namespace {

constexpr unsigned lines_per_block = 16;  // of ZIP compression

// Appends a number, in little-endian order like all numbers of the format.
template <class T>
void put(std::string& to, T value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  if constexpr (std::endian::native == std::endian::big) std::reverse(bytes, bytes + sizeof value);
  to.append(bytes, sizeof value);
}

void put_text(std::string& to, const char* text) { to.append(text, std::strlen(text) + 1); }

void put_attribute(std::string& to, const char* name, const char* type, const std::string& value) {
  put_text(to, name);
  put_text(to, type);
  put(to, static_cast<std::int32_t>(value.size()));
  to += value;
}

std::string header(const Film& film) {
  std::string text;
  put(text, std::int32_t{20000630});
  put(text, std::int32_t{2});
  std::string channels;
  for (const char* name : {"B", "G", "R"}) {
    put_text(channels, name);
    put(channels, std::int32_t{2});  // 32-bit floating point
    put(channels, std::int32_t{0});  // not perceptually linear; reserved
    put(channels, std::int32_t{1});  // sampling in x and y
    put(channels, std::int32_t{1});
  }
  channels += '\0';
  std::string window, centre, one;
  put(window, std::int64_t{0});
  put(window, static_cast<std::int32_t>(film.width) - 1);
  put(window, static_cast<std::int32_t>(film.height) - 1);
  put(centre, std::int64_t{0});
  put(one, 1.0f);
  put_attribute(text, "channels", "chlist", channels);
  put_attribute(text, "compression", "compression", "\3");
  put_attribute(text, "dataWindow", "box2i", window);
  put_attribute(text, "displayWindow", "box2i", window);
  put_attribute(text, "lineOrder", "lineOrder", std::string(1, '\0'));
  put_attribute(text, "pixelAspectRatio", "float", one);
  put_attribute(text, "screenWindowCenter", "v2f", centre);
  put_attribute(text, "screenWindowWidth", "float", one);
  return text + '\0';
}

// Prepares bytes for compression: even bytes before odd ones, each minus the one before it.
std::string prepared(const std::string& bytes) {
  std::string split;
  for (std::size_t first : {0, 1}) {
    for (std::size_t i = first; i < bytes.size(); i += 2) split += bytes[i];
  }
  for (std::size_t i = split.size(); i-- > 1;)
    split[i] = static_cast<char>(split[i] - split[i - 1] + 128);
  return split;
}

Vec3 value_of(const Pixel& p, unsigned samples, Mode mode) {
  if (shows_numbers(mode)) {
    const auto number = static_cast<float>(number_of(p));
    return {number, number, number};
  }
  return Vec3{p.r, p.g, p.b} * (1.0f / static_cast<float>(std::max(samples, 1u)));
}

}  // namespace

std::string to_exr(const Film& film, Mode mode) {
  std::string file = header(film);
  std::vector<std::string> blocks;
  for (unsigned first = 0; first < film.height; first += lines_per_block) {
    std::string bytes;
    for (unsigned y = first; y < std::min(first + lines_per_block, film.height); ++y) {
      for (const unsigned channel : {2u, 1u, 0u}) {
        for (unsigned x = 0; x < film.width; ++x) {
          const Pixel& p = film.sums[std::size_t{y} * film.width + x];
          put(bytes, value_of(p, film.samples, mode)[channel]);
        }
      }
    }
    std::string compressed = compress(prepared(bytes));
    blocks.push_back(compressed.size() < bytes.size() ? std::move(compressed) : std::move(bytes));
  }
  std::uint64_t offset = file.size() + blocks.size() * sizeof offset;
  for (const std::string& block : blocks) {
    put(file, offset);
    offset += 8 + block.size();
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    put(file, static_cast<std::int32_t>(i * lines_per_block));
    put(file, static_cast<std::int32_t>(blocks[i].size()));
    file += blocks[i];
  }
  return file;
}

}  // namespace heapwood::render
