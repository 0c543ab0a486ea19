// SPDX-License-Identifier: MIT
#include "viewer/pixels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

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

namespace {

class SrgbTable {
 public:
  SrgbTable() {
    min_linear_[0] = 0;
    min_linear_[256] = 2;  // never reached
    // srgb() does not decrease, and positive floating-point numbers are ordered as their bits are.
    for (unsigned code = 1; code < 256; ++code) {
      std::uint32_t low = 0, high = std::bit_cast<std::uint32_t>(1.0f);  // srgb(low) < code
      while (high - low > 1) {
        const std::uint32_t middle = low + (high - low) / 2;
        const double value = std::bit_cast<float>(middle);
        (render::srgb(value) < code ? low : high) = middle;
      }
      min_linear_[code] = std::bit_cast<float>(high);
    }
    for (unsigned i = 0; i <= buckets; ++i)
      first_[i] = render::srgb(static_cast<double>(i) / buckets);
  }
  std::uint8_t code(float linear) const {
    if (!(linear > 0)) return 0;
    const float x = std::min(linear, 1.0f);
    unsigned code = first_[static_cast<unsigned>(x * buckets)];
    while (x >= min_linear_[code + 1]) ++code;  // at most once: a bucket is narrower than a code
    return static_cast<std::uint8_t>(code);
  }

 private:
  static constexpr unsigned buckets = 4096;  // a power of two: x * buckets is exact
  std::array<float, 257> min_linear_;
  std::array<std::uint8_t, buckets + 1> first_;  // code of the bucket's lower end
};

const SrgbTable srgb_table;

}  // namespace

std::uint8_t srgb_code(float linear) { return srgb_table.code(linear); }

std::vector<gl::Rgba8> develop_rows(std::span<const render::Pixel> sums, unsigned samples,
                                    const render::Development& how, const render::Range& range) {
  std::vector<gl::Rgba8> rows(sums.size());
  const bool is_light = !render::shows_numbers(how.mode) && how.mode != render::Mode::normals &&
                        how.tone == render::Tone::standard;
  if (!is_light) {
    std::transform(sums.begin(), sums.end(), rows.begin(), [&](const render::Pixel& sum) {
      const render::Rgb8 c = render::develop(sum, samples, how, range);
      return gl::Rgba8{c.r, c.g, c.b, 255};
    });
    return rows;
  }
  const double share = samples > 0 ? 1.0 / samples : 0;
  const auto code = [&](double sum) {
    return srgb_table.code(static_cast<float>(render::tone_curve(sum * share * how.exposure)));
  };
  std::transform(sums.begin(), sums.end(), rows.begin(), [&](const render::Pixel& sum) {
    return gl::Rgba8{code(sum.r), code(sum.g), code(sum.b), 255};
  });
  return rows;
}

}  // namespace heapwood::viewer
