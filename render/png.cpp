// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <memory_resource>

#include "render/image.hpp"
#include "simt/error.hpp"

namespace {

// Of the picture that is being written. stb does not check all its requests: one that fails throws.
// stb does not expect exceptions: what it has requested is freed with this, not by stb.
thread_local std::pmr::memory_resource* stb_memory = nullptr;

void* stb_reallocate(void* old, std::size_t old_bytes, std::size_t bytes) {
  void* const block = stb_memory->allocate(bytes);
  if (old == nullptr) return block;
  std::memcpy(block, old, std::min(old_bytes, bytes));
  stb_memory->deallocate(old, old_bytes);
  return block;
}

}  // namespace

#define STBIW_MALLOC(bytes) stb_memory->allocate(bytes)
#define STBIW_REALLOC_SIZED(old, old_bytes, bytes) stb_reallocate(old, old_bytes, bytes)
#define STBIW_FREE(block) static_cast<void>(block)
#define STB_IMAGE_IMPLEMENTATION
#include <stb/stb_image.h>
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
  std::pmr::unsynchronized_pool_resource memory;
  stb_memory = &memory;
  const int width = static_cast<int>(image.width), height = static_cast<int>(image.height);
  if (image.pixels.empty() ||
      !stbi_write_png_to_func(append, &bytes, width, height, 3, image.pixels.data(), width * 3)) {
    throw Error(Exit::failed, "cannot encode a picture of " + std::to_string(image.width) + "x" +
                                  std::to_string(image.height) + " pixels");
  }
  return bytes;
}

Image read_png(const std::string& path) {
  const std::unique_ptr<std::FILE, Closer> file(std::fopen(path.c_str(), "rb"));
  if (!file) fail(path, "cannot read", errno);
  int width = 0, height = 0, channels = 0;
  const std::unique_ptr<stbi_uc, decltype(&stbi_image_free)> data(
      stbi_load_from_file(file.get(), &width, &height, &channels, 3), &stbi_image_free);
  if (!data) throw Error(Exit::failed, path + ": not a readable picture: " + stbi_failure_reason());
  Image image(static_cast<unsigned>(width), static_cast<unsigned>(height));
  std::memcpy(image.pixels.data(), data.get(), image.pixels.size() * sizeof(Rgb8));
  return image;
}

Difference compare(const Image& a, const Image& b, unsigned threshold) {
  if (a.width != b.width || a.height != b.height)
    throw Error(Exit::failed, "cannot compare pictures of different sizes");
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
