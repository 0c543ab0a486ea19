// SPDX-License-Identifier: MIT
#include "kdtree/serial_refs.hpp"

#include <bit>
#include <cstring>
#include <limits>

#include "simt/lanes.hpp"

namespace heapwood::kdtree {
namespace {

using simt::Floats4;
using simt::Floats8;
using simt::Ints4;
using simt::Ints8;

constexpr float infinite = std::numeric_limits<float>::infinity();

template <class Floats>
[[gnu::always_inline]] inline void load(Floats& to, const void* from) {
  std::memcpy(&to, from, sizeof to);
}
// simt::min and simt::max, lane by lane.
template <class Floats>
[[gnu::always_inline]] inline void lower(Floats& a, const Floats& b) {
  a = a < b ? a : b;
}
template <class Floats>
[[gnu::always_inline]] inline void raise(Floats& a, const Floats& b) {
  a = a > b ? a : b;
}

// ---- bins ----------------------------------------------------------------------------------------------------------------

// BinAxis of three axes, for a ref's lanes {id, lo, hi, 0}. What comes out of the first and the last one is not looked at.
struct BinLanes {
  Floats8 lo, width, inverse;

  explicit BinLanes(const Box& node) {
    const BinAxis x = bin_axis(node, 0), y = bin_axis(node, 1), z = bin_axis(node, 2);
    // 1: an id's bits are a denormal number, which must not be multiplied by anything (slow).
    lo = Floats8{1, x.lo, y.lo, z.lo, x.lo, y.lo, z.lo, 0};
    width = Floats8{1, x.width, y.width, z.width, x.width, y.width, z.width, 1};
    inverse = Floats8{1, x.inverse, y.inverse, z.inverse, x.inverse, y.inverse, z.inverse, 1};
  }
  // BinAxis::begin of the lower bounds and BinAxis::end of the upper ones, where no axis is coarse.
  [[gnu::always_inline]] void find(const Floats8& bounds, Ints8& b) const {
    constexpr int last = static_cast<int>(bin_count) - 1;
    Floats8 guess = (bounds - lo) * inverse;
    guess = guess > 0.0f ? guess : 0.0f;  // NaN, too
    guess = guess < static_cast<float>(last) ? guess : static_cast<float>(last);
    b = __builtin_convertvector(guess, Ints8);
    b += (b > 0) & (bounds < lo + width * __builtin_convertvector(b, Floats8));
    b -= (b < last) & (bounds >= lo + width * __builtin_convertvector(b + 1, Floats8));
    const Ints8 is_upper{0, 0, 0, 0, -1, -1, -1, 0};
    b += is_upper & (b > 0) & (bounds <= lo + width * __builtin_convertvector(b, Floats8));
  }
};

// A coarse axis again, by itself: instead of what was counted for it.
void bin_coarse(const std::byte* refs, std::uint32_t n, std::uint32_t first, std::uint32_t last, const BinAxis& bins,
                unsigned axis, std::uint32_t* begins, std::uint32_t* ends) {
  for (std::uint32_t i = first; i < last; ++i) {
    const Box box = RefArray<RefKind::clipped>::load(refs, n, i, {}, nullptr).box;
    const int begin = bins.begin(box.lo[axis], true), end = bins.end(box.hi[axis], true);
    ++begins[begin < end ? begin : end];
    ++ends[end];
  }
}

// ---- clipping ------------------------------------------------------------------------------------------------------------

struct Box4 {
  Floats4 lo, hi;
  [[gnu::always_inline]] void grow(const Floats4& p, const Ints4& where) {
    lower(lo, where ? p : Floats4{} + infinite);
    raise(hi, where ? p : Floats4{} - infinite);
  }
  [[gnu::always_inline]] void settle(const Box4& within) {
    raise(lo, within.lo);
    lower(hi, within.hi);
    Floats4 middle = lo;
    lower(middle, within.hi);
    const Ints4 crossed = lo > hi;
    lo = crossed ? middle : lo;
    hi = crossed ? middle : hi;
  }
};

// split_bounds() of clip.hpp. Distances of the corners to the plane are the same in all lanes.
struct Clipper {
  unsigned axis;
  float plane;
  Ints4 is_axis;

  explicit Clipper(const Cut& cut) : axis(cut.axis), plane(cut.plane) {
    is_axis = Ints4{0, 1, 2, 3} == static_cast<int>(axis);
  }
  [[gnu::always_inline]] void split(const PackedCorners& corners, const Box4& box, Box4& left, Box4& right) const {
    Floats4 a, b, c;
    load(a, &corners.a);
    load(b, &corners.b);
    load(c, &corners.c);
    const auto distance = [&](const Float4& corner) {
      return (axis == 0 ? corner.x : axis == 1 ? corner.y : corner.z) - plane;
    };
    const Floats4 da = Floats4{} + distance(corners.a), db = Floats4{} + distance(corners.b),
                  dc = Floats4{} + distance(corners.c);
    left = right = {Floats4{} + infinite, Floats4{} - infinite};
    edge(a, b, da, db, left, right);
    edge(b, c, db, dc, left, right);
    edge(c, a, dc, da, left, right);
    const Floats4 at = Floats4{} + plane;
    left.settle({box.lo, is_axis ? at : box.hi});
    right.settle({is_axis ? at : box.lo, box.hi});
  }

 private:
  // Corner a and edge a-b.
  [[gnu::always_inline]] static void edge(const Floats4& a, const Floats4& b, const Floats4& da, const Floats4& db,
                                          Box4& left, Box4& right) {
    left.grow(a, da <= 0.0f);
    right.grow(a, da >= 0.0f);
    Floats4 least = a, most = a, q = a + (b - a) * (da / (da - db));
    lower(least, b);
    raise(most, b);
    Floats4 inside = most;
    lower(inside, q);
    raise(least, inside);
    const Ints4 crosses = ((da < 0.0f) & (db > 0.0f)) | ((da > 0.0f) & (db < 0.0f));
    left.grow(least, crosses);
    right.grow(least, crosses);
  }
};

// The ref {id, lo} and {hi, 0} as a box whose fourth lanes are 0, and back.
[[gnu::always_inline]] inline Box4 box_of(const Floats4& first, const Floats4& second) {
  return {__builtin_shufflevector(first, Floats4{}, 1, 2, 3, 4), second};
}
[[gnu::always_inline]] inline void store(Float4* to, std::size_t n, const Floats4& id, const Box4& box) {
  const Floats4 first = __builtin_shufflevector(id, box.lo, 0, 4, 5, 6);
  const Floats4 second = __builtin_shufflevector(box.hi, Floats4{}, 0, 1, 2, 4);
  std::memcpy(to, &first, sizeof first);
  std::memcpy(to + n, &second, sizeof second);
}

[[gnu::always_inline]] inline float lower_bound(const Float4* array, std::uint32_t i, unsigned axis) {
  return reinterpret_cast<const float*>(array + i)[1 + axis];
}
[[gnu::always_inline]] inline float upper_bound(const Float4* array, std::uint32_t n, std::uint32_t i, unsigned axis) {
  return reinterpret_cast<const float*>(array + n + i)[axis];
}

}  // namespace

SIMT_CLONED
Box bin_refs(const std::byte* refs, std::uint32_t n, std::uint32_t first, std::uint32_t last, const Box& node,
             BinCounts& counts) {
  const Float4* const array = reinterpret_cast<const Float4*>(refs);
  const BinLanes lanes(node);
  const Ints8 row{0, 0, bin_count, 2 * bin_count, 0, bin_count, 2 * bin_count, 0};
  counts = {};
  Floats8 least = Floats8{} + infinite, most = Floats8{} - infinite;
  for (std::uint32_t i = first; i < last; ++i) {
    Floats4 low, high;
    load(low, array + i);
    load(high, array + n + i);
    const Floats8 bounds = __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
    lower(least, bounds);
    raise(most, bounds);
    Ints8 bins;
    lanes.find(bounds, bins);
    bins += row;
    std::uint32_t words[8];
    std::memcpy(words, &bins, sizeof words);
    for (unsigned axis = 0; axis < 3; ++axis) {
      const std::uint32_t begin = words[1 + axis], end = words[4 + axis];
      ++counts.begins[begin < end ? begin : end];  // a ref in a boundary begins and ends below it
      ++counts.ends[end];
    }
  }
  for (unsigned axis = 0; axis < 3; ++axis) {
    const BinAxis bins = bin_axis(node, axis);
    if (!bins.usable() || !bins.coarse(node.hi[axis])) continue;
    std::uint32_t* const begins = counts.begins + axis * bin_count;
    std::uint32_t* const ends = counts.ends + axis * bin_count;
    std::memset(begins, 0, bin_count * sizeof *begins);
    std::memset(ends, 0, bin_count * sizeof *ends);
    bin_coarse(refs, n, first, last, bins, axis, begins, ends);
  }
  return {{least[1], least[2], least[3]}, {most[4], most[5], most[6]}};
}

Moved count_sides(const std::byte* refs, std::uint32_t n, std::uint32_t first, std::uint32_t last, const Cut& cut,
                  const PackedCorners* corners) {
  const Float4* const array = reinterpret_cast<const Float4*>(refs);
  Moved moved{0, 0};
  for (std::uint32_t i = first; i < last; ++i) {
    const float lo = lower_bound(array, i, cut.axis), hi = upper_bound(array, n, i, cut.axis);
    const bool to_left = goes_left(lo, hi, cut.plane, cut.flats_right);
    const bool to_right = goes_right(lo, hi, cut.plane, cut.flats_right);
    if (to_left && to_right) __builtin_prefetch(corners + simt::bits(array[i].x));  // to be clipped soon
    moved.left += to_left ? 1 : 0;
    moved.right += to_right ? 1 : 0;
  }
  return moved;
}

SIMT_CLONED
Moved move_refs(const std::byte* refs, std::uint32_t n, std::uint32_t first, std::uint32_t last, const Cut& cut,
                const PackedCorners* corners, const Target& left, const Target& right) {
  const Float4* const array = reinterpret_cast<const Float4*>(refs);
  const Clipper clipper(cut);
  // Where the next ref of each side goes, by the side: a selection, not a branch that nobody can predict.
  Float4* next[2] = {reinterpret_cast<Float4*>(left.refs) + left.next,
                     reinterpret_cast<Float4*>(right.refs) + right.next};
  const std::size_t second[2] = {left.n, right.n};
  const unsigned flats_right = cut.flats_right ? 1 : 0;
  const float plane = cut.plane;
  for (std::uint32_t i = first; i < last; ++i) {
    const float lo = lower_bound(array, i, cut.axis), hi = upper_bound(array, n, i, cut.axis);
    // goes_left and goes_right: both where the ref straddles; one of neither lies in the plane.
    const unsigned begins = lo < plane ? 1 : 0, goes_on = hi > plane ? 1 : 0;
    Floats4 low, high;
    load(low, array + i);
    load(high, array + n + i);
    if ((begins & goes_on) != 0) {
      Box4 below, above;
      clipper.split(corners[simt::bits(array[i].x)], box_of(low, high), below, above);
      store(next[0]++, left.n, low, below);
      store(next[1]++, right.n, low, above);
    } else {
      const unsigned side = goes_on | (flats_right & ~begins);
      Float4* const to = next[side]++;
      std::memcpy(to, &low, sizeof low);
      std::memcpy(to + second[side], &high, sizeof high);
    }
  }
  return {static_cast<std::uint32_t>(next[0] - reinterpret_cast<Float4*>(left.refs)) - left.next,
          static_cast<std::uint32_t>(next[1] - reinterpret_cast<Float4*>(right.refs)) - right.next};
}

}  // namespace heapwood::kdtree
