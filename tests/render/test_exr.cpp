// SPDX-License-Identifier: MIT
// EXR files, read with code of the test.
#include "render/film.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>

#include "render/random.hpp"

extern "C" int stbi_zlib_decode_buffer(char* to, int to_size, const char* from, int from_size);

namespace heapwood::render {
namespace {

template <class T>
T word(const std::string& file, std::size_t at) {
  T value;
  if (at + sizeof value > file.size()) throw std::out_of_range("the file ends early");
  std::memcpy(&value, file.data() + at, sizeof value);
  return value;
}

// The channels of all pixels: B, G and R of each row.
std::vector<float> read(const std::string& file, unsigned width, unsigned height) {
  const std::size_t header = file.find(std::string("screenWindowWidth\0float\0\4\0\0\0", 28));
  std::size_t offsets = header + 28 + 4 + 1;
  std::vector<float> all;
  std::size_t end = 0;
  for (unsigned y = 0; y < height; y += 16, offsets += 8) {
    const auto at = static_cast<std::size_t>(word<std::uint64_t>(file, offsets));
    EXPECT_EQ(word<std::int32_t>(file, at), static_cast<std::int32_t>(y));
    const auto size = static_cast<std::size_t>(word<std::int32_t>(file, at + 4));
    const std::size_t floats = std::size_t{3} * width * std::min(16u, height - y);
    std::string bytes = file.substr(at + 8, size);
    end = at + 8 + size;
    if (size < 4 * floats) {
      std::string split(4 * floats, '\0');
      EXPECT_EQ(stbi_zlib_decode_buffer(split.data(), static_cast<int>(split.size()), bytes.data(),
                                        static_cast<int>(size)),
                static_cast<int>(split.size()));
      for (std::size_t i = 1; i < split.size(); ++i)
        split[i] = static_cast<char>(split[i] + split[i - 1] - 128);
      bytes.resize(split.size());
      for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = split[i / 2 + i % 2 * 2 * floats];
    }
    all.resize(all.size() + floats);
    std::memcpy(all.data() + all.size() - floats, bytes.data(), 4 * floats);
  }
  EXPECT_EQ(end, file.size());
  return all;
}

Film film_of(unsigned width, unsigned height, bool is_noise) {
  Film film{width, height, 2, std::vector<Pixel>(std::size_t{width} * height)};
  const PixelRandom random(1, 1);
  for (unsigned i = 0; i < film.sums.size(); ++i) {
    film.sums[i] = {is_noise ? random.value(i, 0) : 1.0f, is_noise ? random.value(i, 1) : 250.0f,
                    is_noise ? random.value(i, 2) : 0.5f, 2};
  }
  return film;
}

// Noise does not compress, and is stored as it is.
TEST(Exr, HoldsTheMeanOfTheSamples) {
  for (const bool is_noise : {false, true}) {
    const Film film = film_of(7, 35, is_noise);
    const std::vector<float> read_back = read(to_exr(film, Mode::path), 7, 35);
    ASSERT_EQ(read_back.size(), 3u * 7 * 35);
    for (unsigned i = 0; i < film.sums.size(); ++i) {
      const float* const row = read_back.data() + i / 7 * 21 + i % 7;
      EXPECT_EQ(row[14], film.sums[i].r / 2);
      EXPECT_EQ(row[7], film.sums[i].g / 2);
      EXPECT_EQ(row[0], film.sums[i].b / 2);
    }
  }
}

TEST(Exr, HoldsNumbers) {
  const Film film = film_of(2, 2, false);
  EXPECT_EQ(read(to_exr(film, Mode::depth), 2, 2), std::vector<float>(12, 0.5f));
}

}  // namespace
}  // namespace heapwood::render
