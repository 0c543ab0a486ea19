// SPDX-License-Identifier: MIT
// Owning wrappers of the viewer's OpenGL objects, for the thread that owns the context.
#pragma once

#include <utility>

#include "geometry/vec.hpp"
#include "render/image.hpp"

namespace heapwood::viewer::gl {

using render::Rgba8;

// Encodes pixels, whose rows start at the top; the opacity is left out.
std::string to_png(const std::vector<Rgba8>& pixels, unsigned width, unsigned height);

// A rectangle of pixels from the framebuffer's lower left corner, as glViewport takes it.
struct Rectangle {
  int x = 0, y = 0, width = 0, height = 0;
};

// The name of an OpenGL object and the function that deletes it; 0: none.
class Name {
 public:
  using Delete = void (*)(unsigned);
  Name() = default;
  Name(unsigned name, Delete release) : name_(name), release_(release) {}
  Name(Name&& other) noexcept : name_(std::exchange(other.name_, 0)), release_(other.release_) {}
  Name& operator=(Name&& other) noexcept {
    std::swap(name_, other.name_);
    std::swap(release_, other.release_);
    return *this;
  }
  ~Name() {
    if (name_) release_(name_);
  }
  unsigned get() const { return name_; }

 private:
  unsigned name_ = 0;
  Delete release_ = nullptr;
};

class Texture {
 public:
  // Replaces the content. Rows start at the top; the size may change between calls.
  void upload(unsigned width, unsigned height, const Rgba8* pixels, bool smooth);
  void draw(const Rectangle& area) const;
  std::vector<Rgba8> read() const;
  unsigned width() const { return width_; }
  unsigned height() const { return height_; }
  void* imgui() const { return reinterpret_cast<void*>(static_cast<std::uintptr_t>(name_.get())); }

 private:
  Name name_, framebuffer_;
  unsigned width_ = 0, height_ = 0;
};

// An off-screen framebuffer, for pictures whose size differs from the window's.
class Canvas {
 public:
  Canvas(unsigned width, unsigned height);
  unsigned width() const { return width_; }
  unsigned height() const { return height_; }
  void bind() const;
  std::vector<Rgba8> read() const;  // rows start at the top
  // Copies the content into the window, scaled to fit.
  void show(int window_width, int window_height) const;

 private:
  unsigned width_, height_;
  Name colour_, depth_, framebuffer_;
};
void bind_window();
// The pixels of what is drawn into; rows start at the bottom.
std::vector<Rgba8> read_pixels(unsigned width, unsigned height);
void viewport(const Rectangle& area);
void clear(float r, float g, float b);
void clear(const Rectangle& area, float r, float g, float b);

struct Vertex {
  Vec3 position;
  Rgba8 colour;
};
static_assert(sizeof(Vertex) == 16);

// A matrix in column-major order, as glUniformMatrix4fv takes it.
struct Matrix {
  float m[16] = {};
};

// Coloured shapes in space, blended over the picture.
class Shapes {
 public:
  Shapes();
  void upload(const std::vector<Vertex>& vertices);
  // Draws lines, two vertices each. Core profiles draw them one pixel wide, so wider ones are drawn
  // several times, offset by a pixel.
  void draw_lines(const Matrix& to_clip, const Rectangle& area, int width) const;
  // Draws triangles, three vertices each, shaded by the normal. A part is hidden if it is behind a
  // triangle drawn with `writes_depth` since clear_depth().
  void draw_surfaces(const Matrix& to_clip, const Rectangle& area, float opacity,
                     bool writes_depth) const;

 private:
  // Calls `draw` after setting program, vertices and area.
  template <class Draw>
  void draw_with(const Matrix& to_clip, const Rectangle& area, bool lit, float opacity,
                 const Draw& draw) const;

  Name program_, array_, buffer_;
  int count_ = 0;
};
void clear_depth();

}  // namespace heapwood::viewer::gl
