// SPDX-License-Identifier: MIT
// Polynomials are Taylor series whose coefficients are quotients of two exact numbers, which are
// identical everywhere. The first neglected term bounds the error. If a constant is subtracted in
// two parts, the first part has 33 bits, so that its product with an integer below 2^20 is exact.
#include "scenes/exact_math.hpp"

#include <cmath>

namespace heapwood::scenes::exact {
namespace {

constexpr double two_over_pi = 0x1.45f306dc9c883p-1;
constexpr double half_pi_high = 0x1.921fb544p+0, half_pi_low = 0x1.0b4611a626331p-34;
constexpr double one_over_ln2 = 0x1.71547652b82fep+0;
constexpr double ln2_high = 0x1.62e42fefp-1, ln2_low = 0x1.473de6af278edp-34;

// For |r| <= pi/4. The next terms are r^19 / 19! < 2^-63 and r^18 / 18! < 2^-58.
double sin_near_0(double r) {
  const double s = r * r;
  double sum = 1;
  for (int n = 16; n >= 2; n -= 2) sum = 1 - s / (n * (n + 1)) * sum;
  return r * sum;
}
double cos_near_0(double r) {
  const double s = r * r;
  double sum = 1;
  for (int n = 15; n >= 1; n -= 2) sum = 1 - s / (n * (n + 1)) * sum;
  return sum;
}

struct SinCos {
  double sin, cos;
};
SinCos sin_cos(double x) {
  const double n = std::floor(x * two_over_pi + 0.5);
  const double r = (x - n * half_pi_high) - n * half_pi_low;
  const double s = sin_near_0(r), c = cos_near_0(r);
  switch (static_cast<long long>(n) & 3) {
    case 0:
      return {s, c};
    case 1:
      return {c, -s};
    case 2:
      return {-s, -c};
    default:
      return {-c, s};
  }
}

// Uses |r| <= ln(2) / 2: the next term is r^15 / 15! < 2^-63.
double exp_of(double x) {
  if (x < -87) return 0;
  if (x > 88) x = 88;
  const double n = std::floor(x * one_over_ln2 + 0.5);
  const double r = (x - n * ln2_high) - n * ln2_low;
  double sum = 1;
  for (int k = 14; k >= 1; --k) sum = 1 + r / k * sum;
  return std::ldexp(sum, static_cast<int>(n));
}

// By log((1 + s) / (1 - s)) = 2 (s + s^3 / 3 + ...), |s| <= 0.1716: the next term is below 2^-61.
double log_of(double x) {
  int e = 0;
  double m = std::frexp(x, &e);  // in [1/2, 1)
  if (m < 0x1.6a09e667f3bcdp-1) {
    m *= 2;
    --e;
  }
  const double s = (m - 1) / (m + 1), square = s * s;
  double sum = 0;
  for (int n = 21; n >= 3; n -= 2) sum = (sum + 1.0 / n) * square;
  return e * ln2_high + (e * ln2_low + 2 * s * (1 + sum));
}

float rounded(double x) { return static_cast<float>(x); }

}  // namespace

float sin(float x) { return rounded(sin_cos(x).sin); }
float cos(float x) { return rounded(sin_cos(x).cos); }
float tan(float x) {
  const SinCos both = sin_cos(x);
  return rounded(both.sin / both.cos);
}
float exp(float x) { return rounded(exp_of(x)); }
float pow(float x, float y) { return x == 0 ? 0 : rounded(exp_of(y * log_of(x))); }

float cbrt(float x) {
  if (x == 0) return x;
  const double a = std::fabs(static_cast<double>(x));
  // One Newton step squares the relative error of the first value, which is below 2^-40.
  const double y = exp_of(log_of(a) / 3);
  return rounded(std::copysign(y - (y * y * y - a) / (3 * y * y), static_cast<double>(x)));
}

// Squares of floats are exact in double.
float hypot(float x, float y) {
  const double a = x, b = y;
  return rounded(std::sqrt(a * a + b * b));
}

}  // namespace heapwood::scenes::exact
