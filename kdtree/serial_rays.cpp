// SPDX-License-Identifier: MIT
#include "kdtree/serial_rays.hpp"

#include <algorithm>
#include <cstring>

#include "simt/lanes.hpp"

namespace heapwood::kdtree {
namespace {

using simt::Floats8;
using simt::Ints8;
using Tree = TreeView<FastIntersection>;

constexpr unsigned lanes = 8;

[[gnu::always_inline]] inline void load(Floats8& to, const float* from) { std::memcpy(&to, from, sizeof to); }

// Whether any lane of the masks is set: bit 0 for a, bit 1 for b.
[[gnu::always_inline]] inline unsigned any_of(const Ints8& a, const Ints8& b) {
  using Ints4 = simt::Ints4;
  const Ints8 both = (a & 1) | (b & 2);
  Ints4 four = __builtin_shufflevector(both, both, 0, 1, 2, 3) | __builtin_shufflevector(both, both, 4, 5, 6, 7);
  four |= __builtin_shufflevector(four, four, 2, 3, 0, 1);
  four |= __builtin_shufflevector(four, four, 1, 0, 3, 2);
  return static_cast<unsigned>(four[0]);
}

struct Vec8 {
  Floats8 x, y, z;
};
[[gnu::always_inline]] inline void at(const Row& row, const Vec8& p, Floats8& to) {
  to = row.x * p.x + row.y * p.y + row.z * p.z + row.w;
}

// A child to visit later: who visits it, and each one's interval in it.
struct PacketEntry {
  Ints8 active;
  Floats8 begin, end;
  std::uint32_t place;
};

// detail::traverse() for eight rays; comparisons of floats are the same, in the same order.
struct Packet {
  Floats8 inverse[3], offset[3];
  Vec8 origin, direction;
  Floats8 tmin, closest, begin, end;
  Ints8 active, found;
  std::uint32_t side[3];  // bits of the slopes' offsets that near_child() looks at

  // FastIntersection's slopes and detail::clip, with the first of `count` rays in the lanes that have none.
  [[gnu::always_inline]] void start(const Tree& tree, const Ray* rays, const std::uint32_t* which,
                                    std::uint32_t count) {
    alignas(32) float from[3][lanes], along[3][lanes], least[lanes], most[lanes];
    for (unsigned k = 0; k < lanes; ++k) {
      const Ray& ray = rays[which[k < count ? k : 0]];
      for (unsigned axis = 0; axis < 3; ++axis) {
        from[axis][k] = ray.origin[axis];
        along[axis][k] = ray.direction[axis];
      }
      least[k] = ray.tmin;
      most[k] = ray.tmax;
    }
    load(tmin, least);
    load(closest, most);
    begin = tmin;
    end = closest;
    for (unsigned axis = 0; axis < 3; ++axis) {
      Floats8& o = axis == 0 ? origin.x : axis == 1 ? origin.y : origin.z;
      Floats8& d = axis == 0 ? direction.x : axis == 1 ? direction.y : direction.z;
      load(o, from[axis]);
      load(d, along[axis]);
      const bool negative = std::signbit(along[axis][0]);
      side[axis] = negative ? 2 : 0;
      const Floats8 tiny = Floats8{} + (negative ? -1e-20f : 1e-20f);
      inverse[axis] = 1.0f / (((d < 1e-20f) & (d > -1e-20f)) ? tiny : d);
      Floats8 product = -(o * inverse[axis]);
      Ints8 bits;
      std::memcpy(&bits, &product, sizeof bits);
      bits = (bits & ~3) | static_cast<int>(side[axis]);
      std::memcpy(&offset[axis], &bits, sizeof bits);
      const float lo = tree.bounds.lo[axis], hi = tree.bounds.hi[axis];
      const Floats8 enter = (negative ? hi : lo) * inverse[axis] + offset[axis];
      const Floats8 leave = (negative ? lo : hi) * inverse[axis] + offset[axis];
      begin = enter > begin ? enter : begin;
      end = leave < end ? leave : end;
    }
    active = (begin <= end) & (Ints8{0, 1, 2, 3, 4, 5, 6, 7} < static_cast<int>(count));
    found = Ints8{} + static_cast<int>(no_triangle);
  }

  [[gnu::always_inline]] void test_leaf(const Tree& tree, std::uint32_t first, std::uint32_t last) {
    Floats8 lower = begin * (1 - FastIntersection::relative_slack) - tree.slack;
    Floats8 upper = end * (1 + FastIntersection::relative_slack) + tree.slack;
    lower = lower > tmin ? lower : tmin;
    upper = upper < closest ? upper : closest;
    for (std::uint32_t k = first; k < last; ++k) {
      const PlaneRecord& record = tree.records[k];
      Floats8 distance, u, v;
      at(record.plane, origin, distance);
      const Floats8 along = record.plane.x * direction.x + record.plane.y * direction.y + record.plane.z * direction.z;
      const Floats8 h = -distance * (1.0f / along);
      Ints8 hit = active & (h >= lower) & (h < upper);
      if (any_of(hit, hit) == 0) continue;
      const Vec8 p{origin.x + direction.x * h, origin.y + direction.y * h, origin.z + direction.z * h};
      at(record.u, p, u);
      at(record.v, p, v);
      hit &= (u >= 0.0f) & (v >= 0.0f) & (u + v <= 1.0f);
      upper = hit ? h : upper;
      closest = hit ? h : closest;
      found = hit ? static_cast<int>(k) : found;
    }
  }

  // What will be read after this node: its children, or its triangles.
  [[gnu::always_inline]] static void prefetch(const Tree& tree, const detail::NodeWords& node) {
    const std::byte* const children = reinterpret_cast<const std::byte*>(tree.nodes) + std::size_t{node.link & ~3u} * 4;
    const std::byte* const records = reinterpret_cast<const std::byte*>(tree.records + node.first);
    __builtin_prefetch((node.link & 3u) == 3u ? records : children);
  }

  [[gnu::always_inline]] void traverse(const Tree& tree) {
    PacketEntry stack[max_depth];
    unsigned top = 0;
    if (any_of(active, active) == 0) return;
    detail::NodeWords node = detail::load(tree.nodes);
    for (;;) {
      while ((node.link & 3u) != 3u) {
        const unsigned axis = node.link & 3u;
        const Floats8 plane = simt::from_bits(node.first) * inverse[axis] + offset[axis];
        const std::uint32_t child = simt::select_bits(node.link, side[axis], 3);
        // A NaN means both, as there.
        const Ints8 far_only = plane < begin;
        const Ints8 to_near = active & ~far_only, to_far = active & ~(plane > end);
        // Both at once: a pair lies in one line of the cache.
        const detail::NodeWords near_node = detail::load(tree.nodes, child),
                                far_node = detail::load(tree.nodes, child ^ 2u);
        const unsigned sides = any_of(to_near, to_far);
        node = sides == 2 ? far_node : near_node;
        if (sides == 3) {
          prefetch(tree, far_node);
          PacketEntry& entry = stack[top++];
          entry.place = child ^ 2u;
          entry.active = to_far;
          entry.begin = far_only ? begin : plane;
          entry.end = end;
          active = to_near;
          end = to_far ? plane : end;
        }
      }
      if (node.link != 3u) test_leaf(tree, node.first, node.first + (node.link >> 2));
      do {
        if (top == 0) return;
        --top;
        // Who has a hit in front of this interval has ended.
        begin = stack[top].begin;
        active = stack[top].active & ~(closest <= begin);
      } while (any_of(active, active) == 0);
      end = stack[top].end;
      node = detail::load(tree.nodes, stack[top].place);
    }
  }
};

SIMT_CLONED
void trace_together(const Tree& tree, const Ray* rays, Hit* hits, const std::uint32_t* which, std::uint32_t count) {
  Packet packet;
  packet.start(tree, rays, which, count);
  packet.traverse(tree);
  for (std::uint32_t k = 0; k < count; ++k) {
    const Ray& ray = rays[which[k]];
    const auto record = static_cast<std::uint32_t>(packet.found[k]);
    Hit hit{packet.closest[k], 0, 0, no_triangle};
    if (record != no_triangle) {
      FastIntersection(ray).coordinates(tree.records + record, ray, hit.t, hit.u, hit.v);
      hit.triangle = tree.ids[record];
    }
    hits[which[k]] = hit;
  }
}

// The signs of the directions, which decide the order of children.
constexpr unsigned kinds = 8;
[[gnu::always_inline]] inline unsigned kind_of(const Ray& ray) {
  const Vec3 d = ray.direction;
  return simt::bits(d.x) >> 31 | simt::bits(d.y) >> 31 << 1 | simt::bits(d.z) >> 31 << 2;
}

}  // namespace

void closest_hits(const TreeView<FastIntersection>& tree, const Ray* rays, Hit* hits, std::size_t count) {
  constexpr std::size_t block = 4096;
  std::uint32_t order[block];
  for (std::size_t base = 0; base < count; base += block) {
    const std::size_t n = std::min(block, count - base);
    std::uint32_t end[kinds] = {};
    for (std::size_t i = 0; i < n; ++i) ++end[kind_of(rays[base + i])];
    std::uint32_t begin[kinds], sum = 0;
    for (unsigned k = 0; k < kinds; ++k) {
      begin[k] = sum;
      sum += end[k];
      end[k] = begin[k];
    }
    for (std::size_t i = 0; i < n; ++i) order[end[kind_of(rays[base + i])]++] = static_cast<std::uint32_t>(i);
    for (unsigned k = 0; k < kinds; ++k) {
      for (std::uint32_t i = begin[k]; i < end[k]; i += lanes) {
        trace_together(tree, rays + base, hits + base, order + i, std::min(lanes, end[k] - i));
      }
    }
  }
}

}  // namespace heapwood::kdtree
