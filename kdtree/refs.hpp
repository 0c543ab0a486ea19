// SPDX-License-Identifier: MIT
// A node's array of refs in allocator memory, in three kinds (RefKind) that differ in the content
// of a ref and in how its bounds inside the node are obtained. `corners` is the kernel's own copy
// of the triangles, three 16-byte vectors each.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kdtree/build/build.hpp"
#include "kdtree/split/clip.hpp"
#include "simt/arithmetic.hpp"

namespace heapwood::kdtree {

struct alignas(16) Float4 {
  float x, y, z, w;
};

// Three corners, 48 bytes, read as three vectors. `a.w` is not 0 if refs have the kind `boxes`;
// `b.w` and `c.w` are not used.
struct PackedCorners {
  Float4 a, b, c;

  static HEAPWOOD_INLINE PackedCorners pack(const Corners& t, bool is_box) {
    return {{t.a.x, t.a.y, t.a.z, is_box ? 1.0f : 0.0f},
            {t.b.x, t.b.y, t.b.z, 0.0f},
            {t.c.x, t.c.y, t.c.z, 0.0f}};
  }
  HEAPWOOD_INLINE Corners unpack() const {
    return {{a.x, a.y, a.z}, {b.x, b.y, b.z}, {c.x, c.y, c.z}};
  }
  // Prefetches the two cache sectors that the corners touch.
  HEAPWOOD_INLINE void prefetch() const {
    simt::prefetch_l1(&a);
    simt::prefetch_l1(&c);
  }
};

// The arrays of a node's children. The array of a child without refs has an arbitrary address.
struct ChildArrays {
  std::byte *left, *right;
};

struct Ref {
  std::uint32_t id;
  Box box;  // of the triangle's part inside the node
};

template <RefKind kind>
struct RefArray;

// 32 bytes per ref, in two halves so that a warp accesses whole cache lines: {id, lo} and {hi, -}.
// The array's address is where the halves meet: the first half is stored downwards from there, the
// second one upwards. So the first refs of an array are an array of their own, and a child's array
// can replace that of its parent in place.
template <>
struct RefArray<RefKind::clipped> {
  static constexpr std::size_t bytes = 32;
  static constexpr bool stores_bounds = true;

  // in_block: the array of n refs that fills a block. block_of: the block of such an array.
  static HEAPWOOD_INLINE std::byte* in_block(std::byte* block, std::uint32_t n) {
    return block + sizeof(Float4) * n;
  }
  static HEAPWOOD_INLINE std::byte* block_of(std::byte* array, std::uint32_t n) {
    return array - sizeof(Float4) * n;
  }
  static HEAPWOOD_INLINE Ref load(const std::byte* array, std::uint32_t i, const Box&,
                                  const PackedCorners*) {
    const Float4 a = first_half(array)[-std::ptrdiff_t{i}], b = second_half(array)[i];
    return {simt::bits(a.x), {{a.y, a.z, a.w}, {b.x, b.y, b.z}}};
  }
  // The ref's bounds on one axis.
  static HEAPWOOD_INLINE void load_bounds(const std::byte* array, std::uint32_t i, unsigned axis,
                                          float& lo, float& hi) {
    lo = reinterpret_cast<const float*>(first_half(array) - std::ptrdiff_t{i})[axis + 1];
    hi = reinterpret_cast<const float*>(second_half(array) + i)[axis];
  }
  static HEAPWOOD_INLINE std::uint32_t load_id(const std::byte* array, std::uint32_t i) {
    return simt::bits(first_half(array)[-std::ptrdiff_t{i}].x);
  }
  static HEAPWOOD_INLINE void store(std::byte* array, std::uint32_t i, std::uint32_t id,
                                    const Box& box) {
    reinterpret_cast<Float4*>(array)[-1 - std::ptrdiff_t{i}] = {simt::from_bits(id), box.lo.x,
                                                                box.lo.y, box.lo.z};
    reinterpret_cast<Float4*>(array)[i] = {box.hi.x, box.hi.y, box.hi.z, 0.0f};
  }

 private:
  // The addresses of the halves of ref 0.
  static HEAPWOOD_INLINE const Float4* first_half(const std::byte* array) {
    return reinterpret_cast<const Float4*>(array) - 1;
  }
  static HEAPWOOD_INLINE const Float4* second_half(const std::byte* array) {
    return reinterpret_cast<const Float4*>(array);
  }
};

// 4 bytes per ref: the id. Every visit clips the triangle to the node, or, for the kind `boxes`,
// clamps its box to the node's.
template <>
struct RefArray<RefKind::ids> {
  static constexpr std::size_t bytes = 4;
  static constexpr bool stores_bounds = false;

  static HEAPWOOD_INLINE std::byte* in_block(std::byte* block, std::uint32_t) { return block; }
  static HEAPWOOD_INLINE std::byte* block_of(std::byte* array, std::uint32_t) { return array; }
  static HEAPWOOD_INLINE Box clip(const PackedCorners& packed, const Box& node) {
    const Corners t = packed.unpack();
    return packed.a.w != 0.0f ? clamp_box(bounds(t), node) : clip_bounds(t, node);
  }
  // The ref's bounds on one axis. Bounds below `min` or above `max` need not be exact: there the
  // triangle's own bounds are returned, which takes much less time.
  static HEAPWOOD_INLINE void load_bounds(const std::byte* array, std::uint32_t i, const Box& node,
                                          const PackedCorners* corners, unsigned axis, float min,
                                          float max, float& lo, float& hi) {
    const PackedCorners packed = corners[load_id(array, i)];
    const Corners t = packed.unpack();
    const float a = t.a[axis], b = t.b[axis], c = t.c[axis];
    lo = simt::min(simt::min(a, b), c);
    hi = simt::max(simt::max(a, b), c);
    clamp_interval(lo, hi, node.lo[axis], node.hi[axis]);
    if (hi < min || lo > max) return;
    const Box part = clip(packed, node);
    lo = part.lo[axis];
    hi = part.hi[axis];
  }
  static HEAPWOOD_INLINE Ref load(const std::byte* array, std::uint32_t i, const Box& node,
                                  const PackedCorners* corners) {
    const std::uint32_t id = load_id(array, i);
    return {id, clip(corners[id], node)};
  }
  static HEAPWOOD_INLINE std::uint32_t load_id(const std::byte* array, std::uint32_t i) {
    return reinterpret_cast<const std::uint32_t*>(array)[i];
  }
  static HEAPWOOD_INLINE void store(std::byte* array, std::uint32_t i, std::uint32_t id,
                                    const Box&) {
    reinterpret_cast<std::uint32_t*>(array)[i] = id;
  }
};

}  // namespace heapwood::kdtree
