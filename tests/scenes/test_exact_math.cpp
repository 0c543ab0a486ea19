// SPDX-License-Identifier: MIT
// scenes/exact_math.hpp against the C library in higher precision and against fixed bits.
#include "scenes/exact_math.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace heapwood::scenes {
namespace {

// Evenly spaced values from low to high, including both ends.
std::vector<float> samples(float low, float high, unsigned n = 20'000) {
  std::vector<float> all;
  for (unsigned i = 0; i <= n; ++i) {
    all.push_back(static_cast<float>(low + (static_cast<double>(high) - low) * i / n));
  }
  return all;
}

// Expects the nearest float, or in at most `max_not_nearest` cases one adjacent to it.
template <class Ours, class Theirs>
void expect_close(const char* name, const std::vector<float>& at, Ours ours, Theirs theirs,
                  unsigned max_not_nearest = 1) {
  unsigned not_nearest = 0;
  for (const float x : at) {
    const float got = ours(x), wanted = static_cast<float>(theirs(static_cast<long double>(x)));
    if (got == wanted) continue;
    ++not_nearest;
    EXPECT_EQ(std::nextafter(wanted, got), got) << name << " of " << x;
  }
  EXPECT_LE(not_nearest, max_not_nearest) << name;
}

TEST(ExactMath, IsAsGoodAsALibrary) {
  for (const float bound : {1.0f, 100.0f, 1e5f}) {
    const std::vector<float> at = samples(-bound, bound);
    expect_close("sin", at, exact::sin, [](long double x) { return std::sin(x); });
    expect_close("cos", at, exact::cos, [](long double x) { return std::cos(x); });
    expect_close("tan", at, exact::tan, [](long double x) { return std::tan(x); });
  }
  expect_close("exp", samples(-86, 88), exact::exp, [](long double x) { return std::exp(x); });
  expect_close("log", samples(1e-6f, 3), exact::log, [](long double x) { return std::log(x); });
  expect_close("log", samples(1, 1e30f), exact::log, [](long double x) { return std::log(x); });
  for (const float y : {0.7f, 2.3f, -1.6f}) {
    expect_close(
        "pow", samples(1e-4f, 50), [y](float x) { return exact::pow(x, y); },
        [y](long double x) { return std::pow(x, static_cast<long double>(y)); });
  }
  expect_close("cbrt", samples(-1e6f, 1e6f), exact::cbrt,
               [](long double x) { return std::cbrt(x); });
  expect_close(
      "hypot", samples(-10, 10), [](float x) { return exact::hypot(x, 0.3f); },
      [](long double x) { return std::sqrt(x * x + static_cast<long double>(0.3f) * 0.3f); });
}

TEST(ExactMath, KnowsTheEnds) {
  EXPECT_EQ(exact::sin(0), 0.0f);
  EXPECT_EQ(exact::cos(0), 1.0f);
  EXPECT_EQ(exact::tan(0), 0.0f);
  EXPECT_EQ(exact::exp(0), 1.0f);
  EXPECT_EQ(exact::exp(-1000), 0.0f);
  EXPECT_EQ(exact::log(1), 0.0f);
  EXPECT_EQ(exact::pow(0, 0.7f), 0.0f);
  EXPECT_EQ(exact::pow(1, 0.7f), 1.0f);
  EXPECT_EQ(exact::cbrt(0), 0.0f);
  EXPECT_EQ(exact::cbrt(-27), -3.0f);
  EXPECT_EQ(exact::hypot(3, -4), 5.0f);
}

}  // namespace
}  // namespace heapwood::scenes
