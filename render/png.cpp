// SPDX-License-Identifier: MIT
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "geometry/picture_file.hpp"
#include "render/image.hpp"
#include "simt/error.hpp"

namespace {

// stb does not check all of its requests for memory. One that fails throws; what stb holds then is
// lost.
void* stb_allocate(void* old, std::size_t bytes) {
  if (void* const block = std::realloc(old, bytes)) return block;
  throw std::bad_alloc();
}

}  // namespace

#define STBIW_MALLOC(bytes) stb_allocate(nullptr, bytes)
#define STBIW_REALLOC(old, bytes) stb_allocate(old, bytes)
#define STBIW_FREE(block) std::free(block)
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <stb/stb_image_write.h>

namespace heapwood::render {
namespace {

[[noreturn]] void fail(const std::string& path, const char* what, int error) {
  throw Error(Exit::failed, path + ": " + what + ": " + std::strerror(error));
}

struct Closer {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

// Called by stb for each piece of the file.
void append(void* context, void* data, int size) {
  static_cast<std::string*>(context)->append(static_cast<const char*>(data),
                                             static_cast<std::size_t>(size));
}

}  // namespace

std::string to_png(const Image& image) {
  std::string bytes;
  const int width = static_cast<int>(image.width), height = static_cast<int>(image.height);
  if (image.pixels.empty() ||
      !stbi_write_png_to_func(append, &bytes, width, height, 3, image.pixels.data(), width * 3)) {
    throw Error(Exit::failed, "cannot encode a picture of " + std::to_string(image.width) + "x" +
                                  std::to_string(image.height) + " pixels");
  }
  return bytes;
}

std::string compress(const std::string& bytes) {
  constexpr int quality = 8;
  int size = 0;
  // stb does not change the input.
  unsigned char* const compressed =
      stbi_zlib_compress(reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data())),
                         static_cast<int>(bytes.size()), &size, quality);
  const std::unique_ptr<unsigned char, void (*)(void*)> owner(compressed, std::free);
  return {reinterpret_cast<const char*>(compressed), static_cast<std::size_t>(size)};
}

Image read_png(const std::string& path) {
  const std::unique_ptr<std::FILE, Closer> file(std::fopen(path.c_str(), "rb"));
  if (!file) fail(path, "cannot read", errno);
  std::vector<std::byte> bytes;
  std::byte piece[1 << 14];
  while (const std::size_t count = std::fread(piece, 1, sizeof piece, file.get()))
    bytes.insert(bytes.end(), piece, piece + count);
  Texture picture;
  std::string reason;
  if (!decode_picture(bytes, picture, reason))
    throw Error(Exit::failed, path + ": not a readable picture: " + reason);
  Image image(picture.width, picture.height);
  for (std::size_t i = 0; i < image.pixels.size(); ++i) {
    const auto channel = [&](unsigned shift) {
      return static_cast<std::uint8_t>(picture.texels[i] >> shift);
    };
    image.pixels[i] = {channel(0), channel(8), channel(16)};
  }
  return image;
}

Difference compare(const Image& a, const Image& b, unsigned threshold) {
  if (a.width != b.width || a.height != b.height)
    throw Error(Exit::failed,
                "cannot compare pictures of different sizes: " + std::to_string(a.width) + "x" +
                    std::to_string(a.height) + " and " + std::to_string(b.width) + "x" +
                    std::to_string(b.height) + " pixels");
  Difference difference;
  std::size_t above = 0;
  double sum = 0;
  for (std::size_t i = 0; i < a.pixels.size(); ++i) {
    const Rgb8 &p = a.pixels[i], &q = b.pixels[i];
    unsigned worst = 0;
    for (const int d : {p.r - q.r, p.g - q.g, p.b - q.b}) {
      const auto magnitude = static_cast<unsigned>(std::abs(d));
      sum += magnitude;
      worst = magnitude > worst ? magnitude : worst;
    }
    difference.largest = worst > difference.largest ? worst : difference.largest;
    above += worst > threshold;
  }
  if (const auto count = static_cast<double>(a.pixels.size()); count > 0) {
    difference.mean = sum / (3 * count);
    difference.above = static_cast<double>(above) / count;
  }
  return difference;
}

}  // namespace heapwood::render
