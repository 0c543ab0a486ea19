// SPDX-License-Identifier: MIT
// The part of the time axis that the plots of the heap map show. Places are times from 0 to 1, as
// in Recording; shares are positions in the plot, from 0 to 1.
#pragma once

#include <algorithm>
#include <cmath>

namespace heapwood::viewer {

struct PlotRange {
  // A long recording has 400 points or more, of which four are then still shown.
  static constexpr double min_span = 0.01;

  double from = 0, to = 1;

  double span() const { return to - from; }
  bool is_whole() const { return from <= 0 && to >= 1; }
  bool contains(double place) const { return place >= from && place <= to; }
  double place_at(double share) const { return from + share * span(); }
  double share_of(double place) const { return (place - from) / span(); }

  // Multiplies the span; `about` stays where it is in the plot, unless an end is reached.
  void zoom(double about, double factor) {
    const double share = share_of(about), wanted = std::clamp(span() * factor, min_span, 1.0);
    show(about - share * wanted, wanted);
  }
  // Shows what lies between two places, in any order; at least min_span about their middle.
  void select(double a, double b) {
    const double wanted = std::clamp(std::abs(b - a), min_span, 1.0);
    show((a + b - wanted) / 2, wanted);
  }
  void reset() { *this = {}; }

 private:
  void show(double begin, double wanted) {
    from = std::clamp(begin, 0.0, 1 - wanted);
    to = from + wanted;
  }
};

}  // namespace heapwood::viewer
