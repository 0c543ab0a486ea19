// SPDX-License-Identifier: MIT
// On which side of a line a point lies in the plane, without rounding error: polygons with corners
// on one line are common, and a wrong sign there turns an outline inside out. (Shewchuk, "Adaptive
// Precision Floating-Point Arithmetic and Fast Robust Geometric Predicates", 1997: an error bound
// first, an exact sum where the bound does not decide.)
#pragma once

#include <cmath>

namespace heapwood::scenes {

// Coordinates that single precision represents: their products are then exact in double.
struct Point2 {
  double x = 0, y = 0;
  bool operator==(const Point2&) const = default;
};

// The sign of the sum of six exact terms.
inline int sign_of_sum(const double (&terms)[6]) {
  double parts[6];  // non-overlapping, of increasing magnitude, zeros anywhere
  int count = 0;
  for (double sum : terms) {
    for (int i = 0; i < count; ++i) {
      const double a = parts[i], total = a + sum, rest = total - a;
      parts[i] = (a - (total - rest)) + (sum - rest);
      sum = total;
    }
    parts[count++] = sum;
  }
  for (int i = count - 1; i >= 0; --i) {
    if (parts[i] != 0) return parts[i] > 0 ? 1 : -1;
  }
  return 0;
}

// 1: a, b, c turn left; -1: they turn right; 0: they are collinear.
inline int orientation(Point2 a, Point2 b, Point2 c) {
  const double left = (b.x - a.x) * (c.y - a.y), right = (b.y - a.y) * (c.x - a.x);
  const double difference = left - right;
  if (std::abs(difference) > 4e-16 * (std::abs(left) + std::abs(right)))
    return difference > 0 ? 1 : -1;
  return sign_of_sum({b.x * c.y, -b.x * a.y, -a.x * c.y, -b.y * c.x, b.y * a.x, a.y * c.x});
}

}  // namespace heapwood::scenes
