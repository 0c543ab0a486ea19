// SPDX-License-Identifier: MIT
// Pixels that the ray tracer's GPU writes straight into memory of OpenGL, where both are on one GPU. Where they are not,
// or where something fails, the picture goes through the host, and why is said.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "simt/gl_interop.hpp"
#include "viewer/gl.hpp"

namespace heapwood::viewer {

// Why pictures of a device are copied through the host; empty: OpenGL's current context is on it.
std::string why_copied(const simt::DeviceInfo& device, const std::string& vendor, const std::string& renderer,
                       const std::function<simt::GlDevices()>& devices = simt::gl_devices);

// What Picture needs for it; tests put in their own.
struct Interop {
  std::function<std::string(const simt::DeviceInfo&)> refusal = [](const simt::DeviceInfo& device) {
    return why_copied(device, gl::vendor(), gl::renderer());
  };
  std::function<std::unique_ptr<simt::GlBuffer>(const simt::DeviceId&, unsigned buffer)> share = simt::share_gl_buffer;
};

// A buffer of OpenGL that is the GPU's, but for the moments in which show() has it. All but wait() is for the window's
// thread; all throw Error.
class SharedPixels {
 public:
  SharedPixels(const Interop& interop, const simt::DeviceId& device, unsigned width, unsigned height);
  unsigned width() const { return width_; }
  unsigned height() const { return height_; }
  // The first pixel, in the GPU's memory; wait() comes before the first write to it.
  std::uint32_t* pixels() const { return pixels_; }
  void wait() { shared_->wait(); }
  // Copies rows into the texture, which is as large. Nobody writes to the pixels meanwhile; they may move.
  void show(gl::Texture& texture, unsigned first, unsigned count);

 private:
  unsigned width_, height_;
  gl::PixelBuffer buffer_;
  std::unique_ptr<simt::GlBuffer> shared_;  // goes before the buffer
  std::uint32_t* pixels_ = nullptr;
};

}  // namespace heapwood::viewer
