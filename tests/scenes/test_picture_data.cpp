// SPDX-License-Identifier: MIT
// Truncated and damaged pixel data of picture files.
#include <string>

#include "geometry/picture_file.hpp"
#include "tests/scenes/gltf_files.hpp"

namespace heapwood::scenes {
namespace {

using testing::raw;
using namespace std::string_literals;

bool decodes(const std::string& file, std::string* reason = nullptr) {
  Texture texture;
  RadianceMap map;
  std::string first, second;
  const bool as_texture = decode_picture(testing::bytes_of(file), texture, first);
  EXPECT_EQ(decode_radiance(testing::bytes_of(file), map, second), as_texture);
  EXPECT_EQ(first, second);
  if (reason != nullptr) *reason = first;
  return as_texture;
}

void expect_decodes_only_whole(const std::string& file) {
  std::string reason;
  EXPECT_TRUE(decodes(file, &reason)) << reason;
  for (std::size_t size = 0; size < file.size(); ++size)
    EXPECT_FALSE(decodes(file.substr(0, size), &reason)) << size << " of " << file.size();
  EXPECT_TRUE(decodes(file + "more"));
}

std::string hdr(unsigned width, unsigned height, const std::string& pixels) {
  return "#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y " + std::to_string(height) + " +X " +
         std::to_string(width) + "\n" + pixels;
}

// A scanline of 8 pixels: a run, and a mixture of both kinds, and 8 different bytes.
const std::string scanline = "\x02\x02\x00\x08"s + "\x88\x10"s + "\x83\x20\x02\x01\x02\x83\x03"s +
                             "\x08\x01\x02\x03\x04\x05\x06\x07\x08"s + "\x88\x80"s;

TEST(PictureData, TruncatedRadianceFiles) {
  expect_decodes_only_whole(hdr(2, 2, std::string(16, '\x7f')));
  expect_decodes_only_whole(hdr(8, 1, std::string(32, '\x7f')));
  expect_decodes_only_whole(hdr(8, 1, scanline));
  expect_decodes_only_whole(hdr(8, 3, scanline + scanline + scanline));
}

TEST(PictureData, RunsOfRadianceFilesFitTheWidth) {
  std::string reason;
  const std::string start = "\x02\x02\x00\x08"s;
  for (const std::string& pixels :
       {start + std::string(64, '\0'), start + "\x89\x10"s + std::string(64, '\x88'),
        start + "\x80"s + std::string(200, '\0'), start + "\x09"s + std::string(64, '\x88'),
        "\x02\x02\x00\x09"s + std::string(64, '\x88'), scanline + std::string(64, '\x7f')}) {
    EXPECT_FALSE(decodes(hdr(8, pixels.starts_with(scanline) ? 2 : 1, pixels), &reason));
    EXPECT_EQ(reason, "the run lengths of its pixels do not match its width");
  }
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
