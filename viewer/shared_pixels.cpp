// SPDX-License-Identifier: MIT
#include "viewer/shared_pixels.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace heapwood::viewer {

std::string copy_reason(const simt::DeviceInfo& device, const std::string& vendor,
                        const std::string& renderer,
                        const std::function<simt::GlDevices()>& devices) {
  if (device.id.kind == simt::DeviceKind::cpu) return "it is rendered in host memory";
  std::string elsewhere = fmt::format("OpenGL runs on {}, not on {}", renderer, device.key);
  // CUDA can only be asked about contexts of NVIDIA's driver.
  if (vendor.find("NVIDIA") == std::string::npos) return elsewhere;
  const simt::GlDevices found = devices();
  if (!found.error.empty())
    return fmt::format("{} cannot find OpenGL's GPU: {}", device.key, found.error);
  const bool same =
      std::find(found.indices.begin(), found.indices.end(), device.id.index) != found.indices.end();
  return same ? "" : elsewhere;
}

SharedPixels::SharedPixels(const Interop& interop, const simt::DeviceId& device, unsigned width,
                           unsigned height)
    : width_(width),
      height_(height),
      buffer_(std::size_t{width} * height * sizeof(gl::Rgba8)),
      shared_(interop.share(device, buffer_.name())),
      pixels_(static_cast<std::uint32_t*>(shared_->map())) {}

void SharedPixels::show(gl::Texture& texture, unsigned first, unsigned count) {
  shared_->unmap();
  texture.upload_rows(first, count, buffer_);
  pixels_ = static_cast<std::uint32_t*>(shared_->map());
}

}  // namespace heapwood::viewer
