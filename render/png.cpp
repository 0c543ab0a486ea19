// SPDX-License-Identifier: MIT
#include <cstdlib>
#include <memory>
#include <new>

#include "render/image.hpp"
#include "simt/error.hpp"

namespace {

// Allocates memory for stb, which does not check all of its requests. A failed request throws;
// memory that stb has then is lost.
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

}  // namespace heapwood::render
