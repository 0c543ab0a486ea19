// SPDX-License-Identifier: MIT
#include "render/emission_map.hpp"

#include <algorithm>
#include <cmath>

namespace heapwood::render {
namespace {

constexpr std::uint32_t max_cells = 256;    // per axis
constexpr double light_unit = 1 << 20;      // 2^29 texels fit in 49 bits
constexpr double max_coordinate = 1 << 12;  // larger ones take the mean of the whole texture

std::int64_t floor_divide(std::int64_t a, std::int64_t b) { return (a - ((a % b) + b) % b) / b; }

}  // namespace

std::uint32_t EmissionMap::Axis::cell_begin(std::uint32_t cell) const {
  return static_cast<std::uint32_t>(std::uint64_t{cell} * texels / cells);
}

EmissionMap::EmissionMap(const Texture& texture, Vec3 emission) {
  const auto axis = [](std::uint32_t texels, Wrap wrap) {
    const std::uint32_t cells = std::min(texels, max_cells);
    return Axis{texels, cells, wrap == Wrap::mirror ? 2 * cells : cells, wrap};
  };
  x_ = axis(texture.width, texture.wrap_u);
  y_ = axis(texture.height, texture.wrap_v);
  const float whole = luminance(emission);
  const Vec3 tint{emission.x / whole, emission.y / whole, emission.z / whole};
  std::vector<Sum> cells(std::size_t{x_.cells} * y_.cells);
  for (std::uint32_t j = 0; j < y_.cells; ++j) {
    for (std::uint32_t row = y_.cell_begin(j); row < y_.cell_begin(j + 1); ++row) {
      const std::uint32_t* const texels = &texture.texels[std::size_t{row} * x_.texels];
      for (std::uint32_t i = 0; i < x_.cells; ++i) {
        Sum& cell = cells[std::size_t{j} * x_.cells + i];
        const std::uint32_t end = x_.cell_begin(i + 1);
        for (std::uint32_t column = x_.cell_begin(i); column < end; ++column) {
          const double light = luminance(tint * linear_of_texel(texels[column]).colour);
          cell.light += static_cast<std::int64_t>(std::ceil(std::min(light, 1.0) * light_unit));
          ++cell.texels;
        }
      }
    }
  }
  const std::size_t stride = x_.period + 1;
  sums_.resize(stride * (y_.period + 1));
  for (std::uint32_t j = 0; j < y_.period; ++j) {
    Sum row;
    for (std::uint32_t i = 0; i < x_.period; ++i) {
      const Sum& cell =
          cells[std::size_t{wrapped(static_cast<std::int32_t>(j), y_.cells, y_.wrap)} * x_.cells +
                wrapped(static_cast<std::int32_t>(i), x_.cells, x_.wrap)];
      row.light += cell.light;
      row.texels += cell.texels;
      const Sum& above = sums_[j * stride + i + 1];
      sums_[(j + 1) * stride + i + 1] = {above.light + row.light, above.texels + row.texels};
    }
  }
}

EmissionMap::Range EmissionMap::range(const Axis& axis, const std::array<float, 3>& at,
                                      double margin) {
  const Range all{0, axis.period};
  const auto [least, greatest] = std::minmax_element(at.begin(), at.end());
  double lo = *least, hi = *greatest;
  const auto is_far = [](float x) { return !(std::fabs(x) <= max_coordinate); };
  if (std::any_of(at.begin(), at.end(), is_far)) return all;
  const double step = margin / axis.texels;
  lo -= step;
  hi += step;
  if (axis.wrap == Wrap::clamp) {
    lo = std::clamp(lo, 0.0, 1.0);
    hi = std::clamp(hi, 0.0, 1.0);
  }
  // A cell is `1 / cells` wide but for the rounding to texels, for which the range is widened.
  const bool is_exact = axis.cells == axis.texels;
  Range result{static_cast<std::int64_t>(std::floor(lo * axis.cells)) - (is_exact ? 0 : 1),
               static_cast<std::int64_t>(std::ceil(hi * axis.cells)) + (is_exact ? 0 : 1)};
  if (axis.wrap == Wrap::clamp) {
    result.begin = std::clamp<std::int64_t>(result.begin, 0, axis.cells - 1);
    result.end = std::min<std::int64_t>(result.end, axis.cells);
  }
  result.end = std::max(result.end, result.begin + 1);
  if (result.end - result.begin >= axis.period) return all;
  const std::int64_t shift = floor_divide(result.begin, axis.period) * axis.period;
  return {result.begin - shift, result.end - shift};
}

EmissionMap::Sum EmissionMap::before(std::int64_t x, std::int64_t y) const {
  const std::int64_t columns = floor_divide(x, x_.period), rows = floor_divide(y, y_.period);
  const auto at = [&](std::int64_t i, std::int64_t j) -> const Sum& {
    return sums_[static_cast<std::size_t>(j * (x_.period + 1) + i)];
  };
  const std::int64_t i = x - columns * x_.period, j = y - rows * y_.period;
  const Sum &whole = at(x_.period, y_.period), &row = at(x_.period, j), &column = at(i, y_.period),
            &corner = at(i, j);
  const auto sum = [&](std::int64_t Sum::*part) {
    return columns * (rows * whole.*part + row.*part) + rows * column.*part + corner.*part;
  };
  return {sum(&Sum::light), sum(&Sum::texels)};
}

EmissionMap::Sum EmissionMap::inside(const Range& x, const Range& y) const {
  const Sum a = before(x.begin, y.begin), b = before(x.end, y.begin), c = before(x.begin, y.end),
            d = before(x.end, y.end);
  return {d.light - b.light - c.light + a.light, d.texels - b.texels - c.texels + a.texels};
}

EmissionShare EmissionMap::share(const std::array<Uv, 3>& corners) const {
  const std::array<float, 3> u{corners[0].u, corners[1].u, corners[2].u};
  const std::array<float, 3> v{corners[0].v, corners[1].v, corners[2].v};
  const Sum box = inside(range(x_, u, 0), range(y_, v, 0));
  // Interpolation reads texels within half a texel; the rest of the margin is for rounding.
  const Sum read = inside(range(x_, u, 1), range(y_, v, 1));
  return {static_cast<float>(static_cast<double>(box.light) / light_unit /
                             static_cast<double>(box.texels)),
          read.light == 0};
}

}  // namespace heapwood::render
