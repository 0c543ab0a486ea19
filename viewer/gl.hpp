// SPDX-License-Identifier: MIT
// Owning wrappers of the OpenGL objects that the viewer needs. All calls must be on the thread that
// owns the context.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "geometry/vec.hpp"

namespace heapwood::viewer::gl {

struct Rgba8 {
  std::uint8_t r = 0, g = 0, b = 0, a = 255;
  bool operator==(const Rgba8&) const = default;
};
static_assert(sizeof(Rgba8) == 4);

// Vendor and renderer of the current OpenGL context.
std::string vendor();
std::string renderer();

// A rectangle of pixels from the framebuffer's lower left corner, as glViewport takes it.
struct Rectangle {
  int x = 0, y = 0, width = 0, height = 0;
};

// The name of an OpenGL object; 0: none.
template <void (*Delete)(unsigned)>
class Name {
 public:
  Name() = default;
  explicit Name(unsigned name) : name_(name) {}
  Name(Name&& other) noexcept : name_(std::exchange(other.name_, 0)) {}
  Name& operator=(Name&& other) noexcept {
    std::swap(name_, other.name_);
    return *this;
  }
  ~Name() {
    if (name_) Delete(name_);
  }
  unsigned get() const { return name_; }

 private:
  unsigned name_ = 0;
};
void delete_texture(unsigned);
void delete_program(unsigned);
void delete_buffer(unsigned);
void delete_vertex_array(unsigned);
void delete_framebuffer(unsigned);
void delete_renderbuffer(unsigned);

// A pixel unpack buffer in OpenGL's memory.
class PixelBuffer {
 public:
  explicit PixelBuffer(std::size_t bytes);
  unsigned name() const { return name_.get(); }

 private:
  Name<delete_buffer> name_;
};

class Texture {
 public:
  // Rows start at the top; the size may change between calls.
  void upload(unsigned width, unsigned height, const Rgba8* pixels, bool smooth);
  // Replaces rows [first, first + count); `pixels` starts at row `first`.
  void upload_rows(unsigned first, unsigned count, const Rgba8* pixels);
  // The same rows of a picture of the texture's size.
  void upload_rows(unsigned first, unsigned count, const PixelBuffer& picture);
  std::vector<Rgba8> read() const;
  unsigned name() const { return name_.get(); }
  unsigned width() const { return width_; }
  unsigned height() const { return height_; }
  void* imgui() const { return reinterpret_cast<void*>(static_cast<std::uintptr_t>(name_.get())); }

 private:
  Name<delete_texture> name_;
  unsigned width_ = 0, height_ = 0;
};

// An off-screen framebuffer, for pictures whose size differs from the window's.
class Canvas {
 public:
  Canvas(unsigned width, unsigned height);
  void bind() const;
  std::vector<Rgba8> read() const;  // rows from the top
  // Copies it into the window, scaled to fit.
  void show(int window_width, int window_height) const;

 private:
  unsigned width_, height_;
  Name<delete_texture> colour_;
  Name<delete_renderbuffer> depth_;
  Name<delete_framebuffer> framebuffer_;
};
void bind_window();
void viewport(const Rectangle& area);
void clear(float r, float g, float b);
void clear(const Rectangle& area, float r, float g, float b);

// Draws a texture over an area.
class Present {
 public:
  Present();
  void draw(const Texture& texture, const Rectangle& area) const;

 private:
  Name<delete_program> program_;
  Name<delete_vertex_array> empty_;
};

// Lines in space, blended over the picture.
struct Vertex {
  Vec3 position;
  Rgba8 colour;
};
static_assert(sizeof(Vertex) == 16);

// Points p with dot(normal, p) + offset > 0 are on its positive side; none are if all is 0.
struct Plane {
  Vec3 normal{0, 0, 0};
  float offset = 0;
};

// Column-major, as glUniformMatrix4fv takes it.
struct Matrix {
  float m[16] = {};
};

class Lines {
 public:
  Lines();
  void upload(const std::vector<Vertex>& vertices);  // two per line
  // Core profiles draw lines one pixel wide: wider ones are drawn several times, offset by a pixel.
  // `may_hide`: lines are hidden where a surface is nearer.
  void draw(const Matrix& to_clip, const Rectangle& area, int width, bool may_hide = false) const;

 private:
  Name<delete_program> program_;
  Name<delete_vertex_array> array_;
  Name<delete_buffer> buffer_;
  std::size_t count_ = 0;
};

// Triangles in space over the picture, shaded by their normals and hidden by each other.
class Surfaces {
 public:
  Surfaces();
  void upload(const std::vector<Vertex>& vertices);  // three per triangle
  // Hidden parts are those behind nearer triangles since clear_depth(); `writes_depth`: these hide
  // others. Parts on the positive side of `cut` are not drawn.
  void draw(const Matrix& to_clip, const Rectangle& area, float opacity, bool writes_depth,
            const Plane& cut = {}) const;

 private:
  Name<delete_program> program_;
  Name<delete_vertex_array> array_;
  Name<delete_buffer> buffer_;
  std::size_t count_ = 0;
};
void clear_depth();

}  // namespace heapwood::viewer::gl
