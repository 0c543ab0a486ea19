// SPDX-License-Identifier: MIT
#include "kdtree/split/simd.hpp"

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
// simt::min() and simt::max(), lane by lane.
template <class Floats>
[[gnu::always_inline]] inline void lower(Floats& a, const Floats& b) {
  a = a < b ? a : b;
}
template <class Floats>
[[gnu::always_inline]] inline void raise(Floats& a, const Floats& b) {
  a = a > b ? a : b;
}

// ---- bins ---------------------------------------------------------------------------------------

// BinAxis of three axes for a ref's lanes {id, lo, hi, 0}, of which the outer two are unused.
struct BinLanes {
  Floats8 lo, width, inverse;

  explicit BinLanes(const Box& node) {
    const BinAxis x = bin_axis(node, 0), y = bin_axis(node, 1), z = bin_axis(node, 2);
    // The id's lane gets 1: the bits of an id are a denormal number, which multiplies slowly.
    lo = Floats8{1, x.lo, y.lo, z.lo, x.lo, y.lo, z.lo, 0};
    width = Floats8{1, x.width, y.width, z.width, x.width, y.width, z.width, 1};
    inverse = Floats8{1, x.inverse, y.inverse, z.inverse, x.inverse, y.inverse, z.inverse, 1};
  }
  // BinAxis::begin of the lower bounds and BinAxis::end of the upper ones, if no axis is coarse:
  // the first guess is then off by less than one bin. On a coarse axis the guess may be any number
  // or NaN, and is clamped to some bin.
  [[gnu::always_inline]] void find(const Floats8& bounds, Ints8& b) const {
    const Ints8 upper{0, 0, 0, 0, -1, -1, -1, 0}, zero{},
        last = zero + static_cast<int>(bin_count - 1);
    const Floats8 first_bin{}, last_bin = first_bin + static_cast<float>(bin_count - 1);
    Floats8 guess = (bounds - lo) * inverse;
    guess = guess > first_bin ? guess : first_bin;
    guess = guess < last_bin ? guess : last_bin;
    b = __builtin_convertvector(guess, Ints8);
    guess = __builtin_convertvector(b, Floats8);
    const Floats8 below = lo + width * guess, above = lo + width * (guess + 1.0f);
    b += (bounds < below) | (upper & (bounds == below));
    b -= (bounds > above) | (~upper & (bounds == above));
    b = b > zero ? b : zero;
    b = b < last ? b : last;
  }
};

// Clears in whole vectors: for a few refs the call of memset would take longer than the binning.
[[gnu::always_inline]] inline void clear(BinCounts& counts) {
  constexpr unsigned vectors = sizeof counts / sizeof(Ints8);
  static_assert(vectors * sizeof(Ints8) == sizeof counts);
#pragma GCC unroll 24
  for (unsigned k = 0; k < vectors; ++k) {
    const Ints8 zero{};
    std::memcpy(reinterpret_cast<std::byte*>(&counts) + k * sizeof zero, &zero, sizeof zero);
  }
}

// Bins the refs on a coarse axis one by one, and replaces the counts made with vectors.
void bin_coarse(const std::byte* refs, std::uint32_t first, std::uint32_t last, const BinAxis& bins,
                unsigned axis, std::uint32_t* begins, std::uint32_t* ends) {
  for (std::uint32_t i = first; i < last; ++i) {
    const Box box = RefArray<RefKind::clipped>::load(refs, i, {}, nullptr).box;
    const int begin = bins.begin(box.lo[axis], true), end = bins.end(box.hi[axis], true);
    ++begins[begin < end ? begin : end];
    ++ends[end];
  }
}

// ---- clipping -----------------------------------------------------------------------------------

struct Box4 {
  Floats4 lo, hi;
  // In lanes where `where` is set the point p, in others an empty box.
  [[gnu::always_inline]] static Box4 of(const Floats4& p, const Ints4& where) {
    return {where ? p : Floats4{} + infinite, where ? p : Floats4{} - infinite};
  }
  [[gnu::always_inline]] void grow(const Box4& box) {
    lower(lo, box.lo);
    raise(hi, box.hi);
  }
  [[gnu::always_inline]] void clamp_to(const Box4& within) {
    raise(lo, within.lo);
    lower(hi, within.hi);
    Floats4 middle = lo;
    lower(middle, within.hi);
    const Ints4 crossed = lo > hi;
    lo = crossed ? middle : lo;
    hi = crossed ? middle : hi;
  }
};

// split_bounds() of clip.hpp. The distances of the corners to the plane are equal in all lanes. The
// points where edges cross the plane belong to both sides and are gathered once: the order in which
// a box grows makes no difference.
struct Clipper {
  unsigned axis;
  float plane;
  Ints4 is_axis;

  explicit Clipper(const Cut& cut) : axis(cut.axis), plane(cut.plane) {
    is_axis = Ints4{0, 1, 2, 3} == static_cast<int>(axis);
  }
  [[gnu::always_inline]] void split(const PackedCorners& corners, const Box4& box, Box4& left,
                                    Box4& right) const {
    const Corner a(corners.a, *this), b(corners.b, *this), c(corners.c, *this);
    left = crossing(a, b);
    left.grow(crossing(b, c));
    left.grow(crossing(c, a));
    right = left;
    for (const Corner* corner : {&a, &b, &c}) {
      left.grow(Box4::of(corner->p, corner->d <= 0.0f));
      right.grow(Box4::of(corner->p, corner->d >= 0.0f));
    }
    const Floats4 plane_in_all = Floats4{} + plane;
    left.clamp_to({box.lo, is_axis ? plane_in_all : box.hi});
    right.clamp_to({is_axis ? plane_in_all : box.lo, box.hi});
  }

 private:
  struct Corner {
    Floats4 p, d;
    [[gnu::always_inline]] Corner(const Float4& corner, const Clipper& cut) {
      load(p, &corner);
      d = Floats4{} + (reinterpret_cast<const float*>(&corner)[cut.axis] - cut.plane);
    }
  };
  // The point where the edge a-b crosses the plane; an empty box if it does not.
  [[gnu::always_inline]] static Box4 crossing(const Corner& a, const Corner& b) {
    Floats4 lowest = a.p, highest = a.p;
    lower(lowest, b.p);
    raise(highest, b.p);
    const Floats4 q = a.p + (b.p - a.p) * (a.d / (a.d - b.d));
    lower(highest, q);
    raise(lowest, highest);
    return Box4::of(lowest, ((a.d < 0.0f) & (b.d > 0.0f)) | ((a.d > 0.0f) & (b.d < 0.0f)));
  }
};

// Converts the ref {id, lo} and {hi, 0} to a box whose fourth lanes are 0; put() does the reverse.
[[gnu::always_inline]] inline Box4 box_of(const Floats4& first, const Floats4& second) {
  return {__builtin_shufflevector(first, Floats4{}, 1, 2, 3, 4), second};
}
// The address of a side's next ref, in integers: compilers make a branch of a choice of pointers.
struct RefAddress {
  std::uintptr_t first, second;  // addresses of the ref's two halves

  explicit RefAddress(const Target& target)
      : first(reinterpret_cast<std::uintptr_t>(target.refs) -
              sizeof(Float4) * (std::uintptr_t{target.next} + 1)),
        second(reinterpret_cast<std::uintptr_t>(target.refs) + sizeof(Float4) * target.next) {}
  RefAddress(std::uintptr_t first_half, std::uintptr_t second_half)
      : first(first_half), second(second_half) {}

  [[gnu::always_inline]] static RefAddress select(std::uint32_t side, const RefAddress& a,
                                                  const RefAddress& b) {
    const std::uintptr_t mask = -std::uintptr_t{side};
    return {a.first ^ ((a.first ^ b.first) & mask), a.second ^ ((a.second ^ b.second) & mask)};
  }
  [[gnu::always_inline]] void put(const Floats4& first_half, const Floats4& second_half) const {
    std::memcpy(reinterpret_cast<void*>(first), &first_half, sizeof first_half);
    std::memcpy(reinterpret_cast<void*>(second), &second_half, sizeof second_half);
  }
  [[gnu::always_inline]] void advance(std::uint32_t refs) {
    first -= sizeof(Float4) * refs;
    second += sizeof(Float4) * refs;
  }
  std::uint32_t since(const Target& target) const {
    return static_cast<std::uint32_t>((second - RefAddress(target).second) / sizeof(Float4));
  }
};
[[gnu::always_inline]] inline void put(const RefAddress& to, const Floats4& id, const Box4& box) {
  to.put(__builtin_shufflevector(id, box.lo, 0, 4, 5, 6),
         __builtin_shufflevector(box.hi, Floats4{}, 0, 1, 2, 4));
}

// Loads the two halves of ref i.
[[gnu::always_inline]] inline void load(const std::byte* refs, std::uint32_t i, Floats4& first,
                                        Floats4& second) {
  const Float4* const array = reinterpret_cast<const Float4*>(refs);
  load(first, array - 1 - std::ptrdiff_t{i});
  load(second, array + i);
}

}  // namespace

HEAPWOOD_CLONED
Box bin_refs(const std::byte* refs, std::uint32_t first, std::uint32_t last, const Box& node,
             BinCounts& counts) {
  const BinLanes lanes(node);
  const Ints8 row{0, 0, bin_count, 2 * bin_count, 0, bin_count, 2 * bin_count, 0};
  clear(counts);
  Floats8 lowest = Floats8{} + infinite, highest = Floats8{} - infinite;
  for (std::uint32_t i = first; i < last; ++i) {
    Floats4 low, high;
    load(refs, i, low, high);
    const Floats8 bounds = __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
    lower(lowest, bounds);
    raise(highest, bounds);
    Ints8 bins;
    lanes.find(bounds, bins);
    bins += row;
    const Ints4 ends = __builtin_shufflevector(bins, bins, 3, 4, 5, 6);
    Ints4 begins = __builtin_shufflevector(bins, bins, 0, 1, 2, 3);
    lower(begins, ends);  // a ref in a bin boundary counts as below it
    std::uint32_t begin[4], end[4];
    std::memcpy(begin, &begins, sizeof begin);
    std::memcpy(end, &ends, sizeof end);
    ++counts.begins[begin[1]], ++counts.begins[begin[2]], ++counts.begins[begin[3]];
    ++counts.ends[end[1]], ++counts.ends[end[2]], ++counts.ends[end[3]];
  }
  for (unsigned axis = 0; axis < 3; ++axis) {
    const BinAxis bins = bin_axis(node, axis);
    if (!bins.usable() || !bins.coarse(node.hi[axis])) continue;
    std::uint32_t* const begins = counts.begins + axis * bin_count;
    std::uint32_t* const ends = counts.ends + axis * bin_count;
    std::memset(begins, 0, bin_count * sizeof *begins);
    std::memset(ends, 0, bin_count * sizeof *ends);
    bin_coarse(refs, first, last, bins, axis, begins, ends);
  }
  return {{lowest[1], lowest[2], lowest[3]}, {highest[4], highest[5], highest[6]}};
}

Moved count_sides(const std::byte* refs, std::uint32_t first, std::uint32_t last, const Cut& cut,
                  const PackedCorners* corners) {
  using Refs = RefArray<RefKind::clipped>;
  Moved moved{0, 0};
  for (std::uint32_t i = first; i < last; ++i) {
    float lo, hi;
    Refs::load_bounds(refs, i, cut.axis, lo, hi);
    const bool to_left = goes_left(lo, hi, cut.plane, cut.flats_right);
    const bool to_right = goes_right(lo, hi, cut.plane, cut.flats_right);
    // move_refs() will read the corners to clip this ref
    if (to_left && to_right) __builtin_prefetch(corners + Refs::load_id(refs, i));
    moved.left += to_left ? 1 : 0;
    moved.right += to_right ? 1 : 0;
  }
  return moved;
}

HEAPWOOD_CLONED
Moved move_refs(const std::byte* refs, std::uint32_t first, std::uint32_t last, const Cut& cut,
                const PackedCorners* corners, const Target& left, const Target& right) {
  const Clipper clipper(cut);
  RefAddress to_left(left), to_right(right);
  const std::uint32_t flats_right = cut.flats_right ? 1 : 0;
  const unsigned axis = cut.axis;
  const float plane = cut.plane;
  // Two passes, neither of which has an unpredictable branch. The first pass also writes straddling
  // refs to the right, but without advancing there, so that the next ref that goes right overwrites
  // them. The second pass clips them.
  constexpr std::uint32_t block = 64;
  struct Halves {
    Floats4 first, second;
  } straddlers[block];  // copies, because a target may overwrite `refs`
  for (std::uint32_t i = first; i < last;) {
    const std::uint32_t end = last - i < block ? last : i + block;
    std::uint32_t straddling = 0;
    for (; i < end; ++i) {
      Floats4 low, high;
      load(refs, i, low, high);
      // goes_left and goes_right. A straddling ref goes to both sides. A ref for which neither
      // comparison holds lies in the plane.
      float lo, hi;
      RefArray<RefKind::clipped>::load_bounds(refs, i, axis, lo, hi);
      const std::uint32_t begins = lo < plane ? 1 : 0, goes_on = hi > plane ? 1 : 0;
      const std::uint32_t side = goes_on | (flats_right & ~begins), both = begins & goes_on;
      RefAddress::select(side, to_left, to_right).put(low, high);
      to_left.advance(side ^ 1);
      to_right.advance(side ^ both);
      straddlers[straddling] = {low, high};
      straddling += both;
    }
    for (std::uint32_t k = 0; k < straddling; ++k) {
      const auto [low, high] = straddlers[k];
      Box4 below, above;
      clipper.split(corners[simt::bits(low[0])], box_of(low, high), below, above);
      put(to_left, low, below);
      put(to_right, low, above);
      to_left.advance(1);
      to_right.advance(1);
    }
  }
  return {to_left.since(left), to_right.since(right)};
}

}  // namespace heapwood::kdtree
