// SPDX-License-Identifier: MIT
#include "viewer/gl.hpp"

#include <epoxy/gl.h>

#include <algorithm>

#include "simt/error.hpp"
#include "viewer_shaders.hpp"

namespace heapwood::viewer::gl {

namespace {

unsigned compile(unsigned kind, const char* stage, const char* text) {
  const unsigned shader = glCreateShader(kind);
  const char* sources[] = {"#version 330 core\n", stage, text};
  glShaderSource(shader, 3, sources, nullptr);
  glCompileShader(shader);
  int fine = 0;
  glGetShaderiv(shader, GL_COMPILE_STATUS, &fine);
  if (fine) return shader;
  char log[512] = "";
  glGetShaderInfoLog(shader, sizeof log, nullptr, log);
  throw Error(Exit::failed, std::string("OpenGL: a shader does not compile: ") + log);
}

// Compiles and links a program: one file for both stages, selected by the macros VERTEX and
// FRAGMENT.
Name link(const char* text) {
  const unsigned program = glCreateProgram();
  for (const auto& [kind, stage] : {std::pair{GL_VERTEX_SHADER, "#define VERTEX\n"},
                                    std::pair{GL_FRAGMENT_SHADER, "#define FRAGMENT\n"}}) {
    const unsigned shader = compile(static_cast<unsigned>(kind), stage, text);
    glAttachShader(program, shader);
    glDeleteShader(shader);
  }
  glLinkProgram(program);
  int fine = 0;
  glGetProgramiv(program, GL_LINK_STATUS, &fine);
  if (!fine) throw Error(Exit::failed, "OpenGL: a shader program does not link");
  return {program, [](unsigned name) { glDeleteProgram(name); }};
}

Name make(void (*generate)(int, unsigned*), Name::Delete release) {
  unsigned name = 0;
  generate(1, &name);
  return {name, release};
}
Name make_texture() {
  return make(glGenTextures, [](unsigned name) { glDeleteTextures(1, &name); });
}
Name make_framebuffer() {
  return make(glGenFramebuffers, [](unsigned name) { glDeleteFramebuffers(1, &name); });
}

}  // namespace

std::string to_png(const std::vector<Rgba8>& pixels, unsigned width, unsigned height) {
  render::Image image(width, height);
  std::ranges::transform(pixels, image.pixels.begin(), [](Rgba8 c) {
    return render::Rgb8{c.r, c.g, c.b};
  });
  return render::to_png(image);
}

void Texture::upload(unsigned width, unsigned height, const Rgba8* pixels, bool smooth) {
  const bool is_new = !name_.get();
  if (is_new) name_ = make_texture();
  glBindTexture(GL_TEXTURE_2D, name_.get());
  const int filter = smooth ? GL_LINEAR : GL_NEAREST;
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, filter);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, filter);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_S, GL_CLAMP_TO_EDGE);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_T, GL_CLAMP_TO_EDGE);
  glPixelStorei(GL_UNPACK_ALIGNMENT, 4);
  const int w = static_cast<int>(width), h = static_cast<int>(height);
  if (std::exchange(width_, width) == width && std::exchange(height_, height) == height)
    return glTexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, w, h, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
  height_ = height;
  glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, w, h, 0, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
  if (!is_new) return;
  framebuffer_ = make_framebuffer();
  glBindFramebuffer(GL_READ_FRAMEBUFFER, framebuffer_.get());
  glFramebufferTexture2D(GL_READ_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, name_.get(), 0);
  glBindFramebuffer(GL_READ_FRAMEBUFFER, 0);
}

// Rows of the texture start at the top, those of the window at the bottom.
void Texture::draw(const Rectangle& area) const {
  glBindFramebuffer(GL_READ_FRAMEBUFFER, framebuffer_.get());
  glBlitFramebuffer(0, 0, static_cast<int>(width_), static_cast<int>(height_), area.x,
                    area.y + area.height, area.x + area.width, area.y, GL_COLOR_BUFFER_BIT,
                    GL_LINEAR);
  glBindFramebuffer(GL_READ_FRAMEBUFFER, 0);
}

std::vector<Rgba8> Texture::read() const {
  std::vector<Rgba8> pixels(std::size_t{width_} * height_);
  glBindTexture(GL_TEXTURE_2D, name_.get());
  glPixelStorei(GL_PACK_ALIGNMENT, 4);
  glGetTexImage(GL_TEXTURE_2D, 0, GL_RGBA, GL_UNSIGNED_BYTE, pixels.data());
  return pixels;
}

Canvas::Canvas(unsigned width, unsigned height)
    : width_(width), height_(height), colour_(make_texture()) {
  glBindTexture(GL_TEXTURE_2D, colour_.get());
  glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, static_cast<int>(width), static_cast<int>(height), 0,
               GL_RGBA, GL_UNSIGNED_BYTE, nullptr);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_LINEAR);
  framebuffer_ = make_framebuffer();
  bind();
  depth_ = make(glGenRenderbuffers, [](unsigned name) { glDeleteRenderbuffers(1, &name); });
  glBindRenderbuffer(GL_RENDERBUFFER, depth_.get());
  glRenderbufferStorage(GL_RENDERBUFFER, GL_DEPTH_COMPONENT24, static_cast<int>(width),
                        static_cast<int>(height));
  glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_DEPTH_ATTACHMENT, GL_RENDERBUFFER, depth_.get());
  glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, colour_.get(), 0);
  if (glCheckFramebufferStatus(GL_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE) {
    bind_window();
    throw Error(Exit::failed, "OpenGL: cannot draw a picture of " + std::to_string(width) + "x" +
                                  std::to_string(height) + "; choose a smaller size");
  }
}
void Canvas::bind() const { glBindFramebuffer(GL_FRAMEBUFFER, framebuffer_.get()); }
std::vector<Rgba8> Canvas::read() const {
  const std::size_t width = width_;
  bind();
  std::vector<Rgba8> pixels = read_pixels(width_, height_);
  const auto row = [&](std::size_t y) {
    return pixels.begin() + static_cast<std::ptrdiff_t>(y * width);
  };
  for (std::size_t y = 0; y < height_ / 2; ++y)
    std::swap_ranges(row(y), row(y + 1), row(height_ - 1 - y));
  return pixels;
}

void Canvas::show(int window_width, int window_height) const {
  glBindFramebuffer(GL_READ_FRAMEBUFFER, framebuffer_.get());
  glBindFramebuffer(GL_DRAW_FRAMEBUFFER, 0);
  const double fit = std::min(window_width / static_cast<double>(width_),
                              window_height / static_cast<double>(height_));
  glBlitFramebuffer(0, 0, static_cast<int>(width_), static_cast<int>(height_), 0, 0,
                    static_cast<int>(fit * width_), static_cast<int>(fit * height_),
                    GL_COLOR_BUFFER_BIT, GL_LINEAR);
  bind_window();
}

std::vector<Rgba8> read_pixels(unsigned width, unsigned height) {
  std::vector<Rgba8> pixels(std::size_t{width} * height);
  glPixelStorei(GL_PACK_ALIGNMENT, 4);
  glReadPixels(0, 0, static_cast<int>(width), static_cast<int>(height), GL_RGBA, GL_UNSIGNED_BYTE,
               pixels.data());
  return pixels;
}
void bind_window() { glBindFramebuffer(GL_FRAMEBUFFER, 0); }
void viewport(const Rectangle& area) { glViewport(area.x, area.y, area.width, area.height); }
void clear(float r, float g, float b) {
  glDisable(GL_SCISSOR_TEST);
  glClearColor(r, g, b, 1);
  glClear(GL_COLOR_BUFFER_BIT);
}

void clear(const Rectangle& area, float r, float g, float b) {
  glEnable(GL_SCISSOR_TEST);
  glScissor(area.x, area.y, area.width, area.height);
  glClearColor(r, g, b, 1);
  glClear(GL_COLOR_BUFFER_BIT);
  glDisable(GL_SCISSOR_TEST);
}

Shapes::Shapes()
    : program_(link(shaders::shapes)),
      array_(make(glGenVertexArrays, [](unsigned name) { glDeleteVertexArrays(1, &name); })),
      buffer_(make(glGenBuffers, [](unsigned name) { glDeleteBuffers(1, &name); })) {
  glBindVertexArray(array_.get());
  glBindBuffer(GL_ARRAY_BUFFER, buffer_.get());
  glEnableVertexAttribArray(0);
  glVertexAttribPointer(0, 3, GL_FLOAT, GL_FALSE, sizeof(Vertex), nullptr);
  glEnableVertexAttribArray(1);
  glVertexAttribPointer(1, 4, GL_UNSIGNED_BYTE, GL_TRUE, sizeof(Vertex),
                        reinterpret_cast<const void*>(offsetof(Vertex, colour)));
  glBindVertexArray(0);
}

void Shapes::upload(const std::vector<Vertex>& vertices) {
  count_ = static_cast<int>(vertices.size());
  glBindBuffer(GL_ARRAY_BUFFER, buffer_.get());
  glBufferData(GL_ARRAY_BUFFER, static_cast<GLsizeiptr>(vertices.size() * sizeof(Vertex)),
               vertices.data(), GL_DYNAMIC_DRAW);
}

template <class Draw>
void Shapes::draw_with(const Matrix& to_clip, const Rectangle& area, bool lit, float opacity,
                       const Draw& draw) const {
  if (count_ == 0) return;
  viewport(area);
  glEnable(GL_BLEND);
  glBlendFunc(GL_SRC_ALPHA, GL_ONE_MINUS_SRC_ALPHA);
  lit ? glEnable(GL_DEPTH_TEST) : glDisable(GL_DEPTH_TEST);
  glDepthFunc(GL_LEQUAL);
  glUseProgram(program_.get());
  glUniformMatrix4fv(glGetUniformLocation(program_.get(), "to_clip"), 1, GL_FALSE, to_clip.m);
  glUniform1f(glGetUniformLocation(program_.get(), "opacity"), opacity);
  glUniform1i(glGetUniformLocation(program_.get(), "lit"), lit);
  glBindVertexArray(array_.get());
  glEnable(GL_SCISSOR_TEST);
  glScissor(area.x, area.y, area.width, area.height);
  draw();
  glDisable(GL_SCISSOR_TEST);
  glDisable(GL_DEPTH_TEST);
  glBindVertexArray(0);
}

void Shapes::draw_lines(const Matrix& to_clip, const Rectangle& area, int width) const {
  draw_with(to_clip, area, false, 1, [&] {
    for (int i = 0; i < width * width; ++i) {
      viewport({area.x + i % width, area.y + i / width, area.width, area.height});
      glDrawArrays(GL_LINES, 0, count_);
    }
  });
}

void Shapes::draw_surfaces(const Matrix& to_clip, const Rectangle& area, float opacity,
                           bool writes_depth) const {
  draw_with(to_clip, area, true, opacity, [&] {
    glDepthMask(writes_depth ? GL_TRUE : GL_FALSE);
    glDrawArrays(GL_TRIANGLES, 0, count_);
    glDepthMask(GL_TRUE);
  });
}

void clear_depth() {
  glDepthMask(GL_TRUE);
  glClearDepth(1);
  glClear(GL_DEPTH_BUFFER_BIT);
}

}  // namespace heapwood::viewer::gl
