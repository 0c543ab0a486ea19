// SPDX-License-Identifier: MIT
// Pixels that the ray tracer's GPU writes directly into OpenGL's memory, if both run on one GPU.
// Otherwise, or after a failure, they are developed here and copied, and the window shows why.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "render/develop.hpp"
#include "simt/gl_interop.hpp"
#include "viewer/gl.hpp"

namespace heapwood::viewer {

// Why pictures of a device are copied through the host; empty if OpenGL's context is on the device.
std::string copy_reason(const simt::DeviceInfo& device, const std::string& vendor,
                        const std::string& renderer,
                        const std::function<simt::GlDevices()>& devices = simt::gl_devices);

// Functions that Picture uses for it; tests replace them.
struct Interop {
  std::function<std::string(const simt::DeviceInfo&)> refusal = [](const simt::DeviceInfo& device) {
    return copy_reason(device, gl::vendor(), gl::renderer());
  };
  std::function<std::unique_ptr<simt::GlBuffer>(const simt::DeviceId&, unsigned buffer)> share =
      simt::share_gl_buffer;
};

// An OpenGL buffer that is mapped for the GPU except during show(). Only pixels() and wait() may be
// called from another thread than the window's; all functions throw Error.
class SharedPixels {
 public:
  SharedPixels(const Interop& interop, const simt::DeviceId& device, unsigned width,
               unsigned height);
  unsigned width() const { return width_; }
  unsigned height() const { return height_; }
  // The first pixel, in the GPU's memory; call wait() before the first write.
  std::uint32_t* pixels() const { return pixels_; }
  void wait() { shared_->wait(); }
  // Copies rows into a texture of the same size. No pixels may be written meanwhile; they may move.
  void show(gl::Texture& texture, unsigned first, unsigned count);

 private:
  unsigned width_, height_;
  gl::PixelBuffer buffer_;
  std::unique_ptr<simt::GlBuffer> shared_;  // destroyed before the buffer
  std::uint32_t* pixels_ = nullptr;
};

// render::srgb() without std::pow: the smallest linear value of each code is tabulated.
std::uint8_t srgb_code(float linear);

std::vector<gl::Rgba8> develop_rows(std::span<const render::Pixel> sums, unsigned samples,
                                    const render::Development& how, const render::Range& range);

}  // namespace heapwood::viewer
