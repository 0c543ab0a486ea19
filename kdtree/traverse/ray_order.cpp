// SPDX-License-Identifier: MIT
#include "kdtree/traverse/simd_rays.hpp"

#include <algorithm>
#include <numeric>

#include "geometry/triangle.hpp"
#include "simt/math.hpp"

namespace heapwood::kdtree {
namespace {

// Spreads bits 0 to 7 to every third bit.
std::uint32_t spread(std::uint32_t x) {
  x = (x | x << 8) & 0x00f00fu;
  x = (x | x << 4) & 0x0c30c3u;
  return (x | x << 2) & 0x249249u;
}

// The cell of a coordinate, 0 to 255 for any input.
std::uint32_t cell(float x, float lo, float scale) {
  const float at = (x - lo) * scale;
  return at > 0 ? static_cast<std::uint32_t>(std::min(at, 255.0f)) : 0;
}

}  // namespace

std::span<const RayPlace> RayOrder::of(std::span<const Ray> rays, bool scattered) {
  const bool in_order = !scattered || std::all_of(rays.begin(), rays.end(), [&](const Ray& ray) {
    return ray.origin == rays.front().origin;
  });
  places_.resize(rays.size());
  if (in_order) {
    for (std::uint32_t i = 0; i < rays.size(); ++i) places_[i] = {i, signs_of(rays[i].direction)};
  } else {
    make_items(rays);
    for (unsigned digit = 0; digit < digits; ++digit) sort_by(digit);
    for (std::size_t i = 0; i < rays.size(); ++i) places_[i] = items_[i].place;
  }
  return places_;
}

void RayOrder::make_items(std::span<const Ray> rays) {
  Box box;
  for (const Ray& ray : rays) box.grow(ray.origin);
  const Vec3 extent = box.extent();
  const float cells = 256, scale = cells / std::max({extent.x, extent.y, extent.z});
  counts_ = {};
  items_.resize(rays.size());
  others_.resize(rays.size());
  for (std::uint32_t i = 0; i < rays.size(); ++i) {
    const Vec3 o = rays[i].origin;
    const std::uint32_t key = spread(cell(o.x, box.lo.x, scale)) |
                              spread(cell(o.y, box.lo.y, scale)) << 1 |
                              spread(cell(o.z, box.lo.z, scale)) << 2;
    items_[i] = {key, {i, signs_of(rays[i].direction)}};
    for (unsigned digit = 0; digit < digits; ++digit)
      ++counts_[digit][key >> digit * digit_bits & (digit_values - 1)];
  }
}

// Stable counting sort by one digit; the least significant digit comes first, as in any radix sort.
void RayOrder::sort_by(unsigned digit) {
  auto& next = counts_[digit];
  std::exclusive_scan(next.begin(), next.end(), next.begin(), 0u);
  for (const Item& item : items_)
    others_[next[item.key >> digit * digit_bits & (digit_values - 1)]++] = item;
  items_.swap(others_);
}

}  // namespace heapwood::kdtree
