// SPDX-License-Identifier: MIT
// Truncated and damaged pixel data of picture files.
#include "geometry/picture_data.hpp"

#include <string>

#include "geometry/picture_file.hpp"
#include "tests/scenes/gltf_files.hpp"

namespace heapwood::scenes {
namespace {

using testing::raw;
using namespace std::string_literals;

bool decodes(const std::string& file, std::string* reason = nullptr) {
  Texture texture;
  std::string text;
  const bool result = decode_picture(testing::bytes_of(file), texture, text);
  if (reason != nullptr) *reason = text;
  return result;
}

void expect_decodes_only_whole(const std::string& file) {
  std::string reason;
  EXPECT_TRUE(decodes(file, &reason)) << reason;
  for (std::size_t size = 0; size < file.size(); ++size)
    EXPECT_FALSE(decodes(file.substr(0, size), &reason)) << size << " of " << file.size();
  EXPECT_TRUE(decodes(file + "more"));
}

TEST(PictureData, TruncatedTgaFiles) {
  expect_decodes_only_whole(testing::tga(2, 2, {1, 2, 3, 4}));

  std::string runs = testing::tga(3, 2, {});
  runs[2] = 10;
  expect_decodes_only_whole(runs + "\x82"s + "abcd"s + "\x02"s + "abcdabcdabcd"s);

  std::string palette = testing::tga(2, 2, {});
  palette[0] = 3;  // bytes of text
  palette[1] = palette[2] = 1;
  palette[5] = 2;   // entries
  palette[7] = 24;  // bits per entry
  palette[16] = 8;
  expect_decodes_only_whole(palette + "txt" + "rgbrgb" + "\0\1\1\0"s);
}

std::string bmp(unsigned width, unsigned height, std::uint16_t bits, const std::string& rest) {
  const std::uint32_t first = 54 + (bits == 8 ? 8 : 0);
  return "BM"s + raw(std::uint32_t{0}) + raw(std::uint32_t{0}) + raw(first) +
         raw(std::uint32_t{40}) + raw(std::uint32_t{width}) + raw(std::uint32_t{height}) +
         raw(std::uint16_t{1}) + raw(bits) + std::string(24, '\0') + rest;
}

TEST(PictureData, TruncatedBmpFiles) {
  // The padding of the last row is optional.
  expect_decodes_only_whole(bmp(3, 2, 24, "rgbrgbrgb000rgbrgbrgb"));
  expect_decodes_only_whole(bmp(2, 2, 32, std::string(16, 'a')));
  expect_decodes_only_whole(bmp(3, 2, 8, "rgb0rgb0"s + "\0\1\1\0"s + "\1\0\1"s));
}

}  // namespace
}  // namespace heapwood::scenes
