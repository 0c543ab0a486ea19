// SPDX-License-Identifier: MIT
#include <algorithm>
#include <vector>

#include "workloads/graph/builder.hpp"
#include "workloads/graph/generate.hpp"
#include "workloads/graph/integers.hpp"

namespace heapwood::workloads::graph {
namespace {

constexpr std::uint64_t side = std::uint64_t{1} << 31;  // of the square

struct Point {
  std::uint32_t x = 0, y = 0;
};

Point point(std::uint64_t bits) {
  return {static_cast<std::uint32_t>(bits >> 33), static_cast<std::uint32_t>(bits >> 1) >> 1};
}

std::uint64_t squared_distance(Point a, Point b) {
  const std::int64_t x = static_cast<std::int64_t>(a.x) - b.x;
  const std::int64_t y = static_cast<std::int64_t>(a.y) - b.y;
  return static_cast<std::uint64_t>(x * x + y * y);
}

// 0.55^2 ln(n) in units of 2^-32; ln(n) = log2(n) ln(2). Below 2^35.
std::uint64_t scaled_log(std::uint64_t n) {
  constexpr std::uint64_t factor = 900'553'898;  // 0.3025 ln(2) 2^32
  return log2_fixed(n) * factor >> 24;
}

// Points in square cells that are no smaller than the radius: the neighbours of a point lie in its
// cell and the eight around it. There are no more cells than points.
class Cells {
 public:
  Cells(std::uint64_t points, std::uint64_t radius, const Draws& draws)
      : width_(std::max(radius, side / square_root(points))), per_row_(side / width_) {
    // start_[c + 2] counts the points of c, then start_[c + 1] is the place of the next point of c,
    // and in the end the end of c: the beginning of c is start_[c].
    start_.assign(per_row_ * per_row_ + 2, 0);
    for (std::uint64_t i = 0; i < points; ++i) ++start_[cell(point(draws.bits(i))) + 2];
    for (std::size_t c = 2; c < start_.size(); ++c) start_[c] += start_[c - 1];
    points_.resize(points);
    for (std::uint64_t i = 0; i < points; ++i) {
      const Point p = point(draws.bits(i));
      points_[start_[cell(p) + 1]++] = p;
    }
  }

  std::uint64_t per_row() const { return per_row_; }
  Point at(std::uint32_t vertex) const { return points_[vertex]; }
  std::uint32_t begin(std::uint64_t x, std::uint64_t y) const { return start_[y * per_row_ + x]; }
  std::uint32_t end(std::uint64_t x, std::uint64_t y) const { return begin(x + 1, y); }

 private:
  std::uint64_t cell(Point p) const {
    const std::uint64_t x = std::min(p.x / width_, per_row_ - 1);
    return std::min(p.y / width_, per_row_ - 1) * per_row_ + x;
  }

  std::uint64_t width_, per_row_;
  std::vector<std::uint32_t> start_;
  std::vector<Point> points_;
};

}  // namespace

GraphInput generate_rgg(const GraphRequest& request) {
  const std::uint64_t n = request.size;
  const std::uint64_t scaled = scaled_log(n);
  // 2^62 scaled / 2^32 / n, which is below 2^62, without a product of more than 64 bits.
  const std::uint64_t squared_radius = (scaled << 29) / n << 1;
  const Cells cells(n, square_root(squared_radius) + 1, Draws(request.seed));

  // The mean degree is pi 0.3025 ln(n), less at the borders. Reserves 5% more.
  RowWriter rows(n, n * (scaled * 33 / 10 >> 20) / 4096 + n);
  const std::uint64_t last = cells.per_row() - 1;
  for (std::uint64_t y = 0; y <= last; ++y) {
    const std::uint64_t top = y - (y > 0), bottom = y + (y < last);
    for (std::uint64_t x = 0; x <= last; ++x) {
      const std::uint64_t left = x - (x > 0), right = x + (x < last);
      for (std::uint32_t p = cells.begin(x, y); p < cells.end(x, y); ++p) {
        const Point at = cells.at(p);
        // The cells of a row, and their points, are consecutive; so the row is in order.
        for (std::uint64_t row = top; row <= bottom; ++row) {
          const std::uint32_t end = cells.end(right, row);
          for (std::uint32_t q = cells.begin(left, row); q < end; ++q) {
            if (q != p && squared_distance(at, cells.at(q)) <= squared_radius) rows.add(q);
          }
        }
        rows.end_row();
      }
    }
  }
  GraphInput input;
  input.graph = rows.finish();
  return input;
}

}  // namespace heapwood::workloads::graph
