// SPDX-License-Identifier: MIT
// Many rays that traverse a tree together. Rays that go in different directions soon meet different
// nodes: of a packet's eight rays only two or three are then active in a node. Here the list of the
// rays that meet a node is split into those of its children, and packets are formed of what is left
// at the bottom: of up to eight rays, or of all that meet a leaf. Each node and leaf is read once
// for all rays. Included by simd_rays.cpp only.
#pragma once

#include <memory>
#include <vector>

#include "kdtree/traverse/ray_packet.hpp"

namespace heapwood::kdtree::packets {

// For each mask the order of lanes that has the set ones in front.
struct FrontOrders {
  alignas(Ints8) int of[256][lanes] = {};

  constexpr FrontOrders() {
    for (unsigned mask = 0; mask < 256; ++mask) {
      unsigned to = 0;
      for (int k = 0; k < int{lanes}; ++k) {
        if ((mask >> k & 1) != 0) of[mask][to++] = k;
      }
    }
  }
};
inline constexpr FrontOrders front_orders;

// Traces rays that have the same signs of direction.
template <class Intersection>
class RayLists {
 public:
  using Tree = TreeView<Intersection>;

  // The result of trace() for each ray.
  static constexpr std::uint32_t alone = no_triangle - 1;
  std::vector<float> closest;        // distance of the hit
  std::vector<std::uint32_t> found;  // its record, no_triangle, or `alone`: the ray was not traced
  std::vector<std::vector<FoundHit>> all;  // all hits, in no order

  // False: there are more than max_hits; `all` is then empty.
  template <Find find>
  [[gnu::always_inline]] bool trace(const Tree& tree, const Ray* rays, const std::uint32_t* which,
                                    std::uint32_t count) {
    reserve(count);
    const std::uint32_t size = start(tree, rays, which, count);
    if (size != 0) traverse<find>(tree, size);
    if (hits_ <= max_hits) return true;
    for (auto& hits : all) hits = {};
    return false;
  }

 private:
  static constexpr std::size_t max_hits = std::size_t{1} << 18;  // limits the memory

  // Eight entries of a list: a ray, and its interval in the node.
  struct Entries8 {
    Ints8 ray;
    Floats8 begin, end;
  };
  // The rest of a list, to be traced later.
  struct Part {
    std::uint32_t place, first, size;
  };

  void reserve(std::uint32_t count) {
    const std::size_t most = std::size_t{count + lanes} * (max_depth + 2);
    if (most > capacity_) {
      rays_of_ = std::make_unique_for_overwrite<int[]>(most);
      begins_ = std::make_unique_for_overwrite<float[]>(most);
      ends_ = std::make_unique_for_overwrite<float[]>(most);
      capacity_ = most;
    }
    rays_.resize(count);
    closest.resize(count);
    found.resize(count);
    all.resize(std::max(all.size(), std::size_t{count}));
    for (auto& slopes : slopes_) slopes.resize(count + lanes);
    hits_ = 0;
  }

  // Makes the root's list; returns its size.
  [[gnu::noinline]] HEAPWOOD_AVX2 std::uint32_t start(const Tree& tree, const Ray* rays,
                                                      const std::uint32_t* which,
                                                      std::uint32_t count) {
    std::uint32_t size = 0;
    for (std::uint32_t first = 0; first < count; first += lanes) {
      const std::uint32_t n = std::min(count - first, lanes);
      Packet<Intersection> packet;
      const unsigned ok = packet.start(tree, rays, which + first, n);
      for (std::uint32_t k = 0; k < n; ++k) {
        rays_[first + k] = *packet.rays.ray[k];
        closest[first + k] = packet.closest[k];
        found[first + k] = (ok >> k & 1) != 0 ? no_triangle : alone;
      }
      for (unsigned axis = 0; axis < 3; ++axis) {
        const Slopes8 slopes = packet.test.slopes(packet.rays, axis);
        for (unsigned k = 0; k < lanes; ++k) slopes_[axis][first + k] = {slopes.a[k], slopes.b[k]};
      }
      store({Ints8{0, 1, 2, 3, 4, 5, 6, 7} + static_cast<int>(first), packet.begin, packet.end},
            bits_of(packet.begin <= packet.end) & ok, size);
    }
    return size;
  }

  // `free` is behind all lists and the seven entries behind each that store() may overwrite.
  template <Find find>
  [[gnu::always_inline]] void traverse(const Tree& tree, std::uint32_t size) {
    constexpr unsigned later = find == Find::any_from_far ? 0 : 2;  // the child to visit later
    std::uint32_t side[3];
    for (unsigned axis = 0; axis < 3; ++axis)
      side[axis] = std::signbit(rays_[0].direction[axis]) ? 2 : 0;
    Part stack[max_depth];
    unsigned top = 0;
    std::uint32_t first = 0, free = size + lanes;
    const Node* node = tree.nodes;
    for (;;) {
      while (size > lanes && !node->leaf()) {
        const std::uint32_t child = simt::select_bits(node->link, side[node->axis()], 3),
                            moved = split<later == 0>(*node, first, size, free);
        if (size == 0) {
          first = free;
          size = moved;
          free += moved + lanes;
          node = node_at(tree, child ^ later);
        } else {
          stack[top] = {child ^ later, free, moved};
          top += moved != 0 ? 1 : 0;
          free += moved;
          node = node_at(tree, child ^ later ^ 2u);
        }
      }
      for (std::uint32_t k = 0; k < size && hits_ <= max_hits; k += lanes)
        trace_packet<find>(tree, node, first + k, std::min(size - k, lanes));
      do {
        if (top == 0 || hits_ > max_hits) return;
        --top;
        first = stack[top].first;
        size = find == Find::all ? stack[top].size : drop_finished(first, stack[top].size);
      } while (size == 0);
      free = first + size + lanes;
      node = node_at(tree, stack[top].place);
    }
  }

  // Splits a list. The rays of the child to visit first stay, those of the other one move to
  // `free`; returns their number.
  template <bool from_far>
  [[gnu::noinline]] HEAPWOOD_AVX2 std::uint32_t split(const Node& node, std::uint32_t first,
                                                      std::uint32_t& size,
                                                      const std::uint32_t free) {
    const Slope* const slopes = slopes_[node.axis()].data();
    const float plane = node.split;
    std::uint32_t near_to = from_far ? free : first, far_to = from_far ? first : free;
    const std::uint32_t last = first + size;
    for (std::uint32_t k = first; k < last; k += lanes) {
      Entries8 in = load(k, last);
      Floats8 a, b, end, begin;
      for (unsigned i = 0; i < lanes; ++i) {
        a[i] = slopes[in.ray[i]].inverse;
        b[i] = slopes[in.ray[i]].offset;
      }
      Test8<Intersection>::distance(plane, {a, b}, end, begin);
      end = end < in.end ? end : in.end;
      begin = begin > in.begin ? begin : in.begin;
      const unsigned in_near = bits_of(in.begin <= end), in_far = bits_of(begin <= in.end);
      store({in.ray, in.begin, end}, in_near, near_to);
      store({in.ray, begin, in.end}, in_far, far_to);
    }
    size = (from_far ? far_to : near_to) - first;
    return (from_far ? near_to : far_to) - free;
  }

  // Drops the rays that have a hit in front of their intervals; returns the number of others.
  [[gnu::noinline]] HEAPWOOD_AVX2 std::uint32_t drop_finished(std::uint32_t first,
                                                              std::uint32_t size) {
    std::uint32_t to = first;
    for (std::uint32_t k = first; k < first + size; k += lanes) {
      const Entries8 in = load(k, first + size);
      Floats8 hit;
      for (unsigned i = 0; i < lanes; ++i) hit[i] = closest[static_cast<unsigned>(in.ray[i])];
      const Ints8 stays =
          (Intersection::conservative ? in.begin <= hit : in.begin < hit) & (in.begin <= in.end);
      store(in, bits_of(stays), to);
    }
    return to - first;
  }

  template <Find find>
  [[gnu::always_inline]] void trace_packet(const Tree& tree, const Node* node, std::uint32_t first,
                                           std::uint32_t count) {
    if (node->leaf() && node->count() == 0) return;
    std::uint32_t which[lanes];
    Packet<Intersection> packet;
    for (unsigned k = 0; k < lanes; ++k) {
      which[k] = static_cast<std::uint32_t>(rays_of_[first + (k < count ? k : 0)]);
      packet.closest[k] = closest[which[k]];
      packet.all[k] = &all[which[k]];
    }
    packet.set(tree, rays_.data(), which, count, begins_.get() + first, ends_.get() + first);
    Work ignored;
    packet.template traverse<find>(tree, node, ignored);
    if constexpr (find == Find::all) {
      hits_ += packet.all_count;
    } else {
      for (unsigned k = 0; k < count; ++k) {
        closest[which[k]] = packet.closest[k];
        const auto record = static_cast<std::uint32_t>(packet.found[k]);
        if (record != no_triangle) found[which[k]] = record;
      }
    }
  }

  // Entries k to last - 1, at most eight; the intervals of the other lanes are empty.
  [[gnu::always_inline]] Entries8 load(std::uint32_t k, std::uint32_t last) const {
    Entries8 to;
    std::memcpy(&to.ray, rays_of_.get() + k, sizeof to.ray);
    std::memcpy(&to.begin, begins_.get() + k, sizeof to.begin);
    std::memcpy(&to.end, ends_.get() + k, sizeof to.end);
    const Ints8 valid = Ints8{0, 1, 2, 3, 4, 5, 6, 7} < static_cast<int>(last - k);
    to.ray &= valid;
    to.begin = valid ? to.begin : 0.0f;
    to.end = valid ? to.end : never;
    return to;
  }
  // Stores the lanes of a mask at `at`, and moves it behind them.
  [[gnu::always_inline]] void store(const Entries8& from, unsigned mask, std::uint32_t& at) {
    store(from.ray, mask, rays_of_.get() + at);
    store(from.begin, mask, begins_.get() + at);
    store(from.end, mask, ends_.get() + at);
    at += simt::popcount(mask);
  }
  template <class Lanes8, class T>
  [[gnu::always_inline]] static void store(const Lanes8& from, unsigned mask, T* to) {
    Ints8 order;
    std::memcpy(&order, front_orders.of[mask], sizeof order);
#if defined(__clang__)
    for (unsigned k = 0; k < lanes; ++k) to[k] = from[order[k]];
#else
    const Lanes8 front = __builtin_shuffle(from, order);
    std::memcpy(to, &front, sizeof front);
#endif
  }

  std::vector<Ray> rays_;
  std::vector<Slope> slopes_[3];  // a and b of Slopes8, for each axis
  // All lists.
  std::size_t capacity_ = 0;
  std::unique_ptr<int[]> rays_of_;
  std::unique_ptr<float[]> begins_, ends_;
  std::size_t hits_ = 0;
};

}  // namespace heapwood::kdtree::packets
