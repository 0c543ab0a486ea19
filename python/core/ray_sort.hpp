// SPDX-License-Identifier: MIT
// An order of rays in which neighbours start near each other and point the same way: a counting
// sort by a key of the ray's cell in the mesh's box and of its direction, both along the Morton
// curve. Rays are not moved. The order within one key is not specified.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "geometry/box.hpp"
#include "python/core/ray_arrays.hpp"
#include "simt/atomic_ref.hpp"
#include "simt/math.hpp"
#include "simt/memory.hpp"

namespace heapwood::python {

class RayKey {
 public:
  // About as many keys as rays. Rays from one point are sorted by direction alone.
  RayKey(const RayArrays& rays, const Box& bounds, std::size_t count)
      : rays_(rays), lo_(bounds.lo), scale_(bounds.extent()) {
    const auto digits = simt::highest_bit(count | 1) + 1;
    if (rays.origins.stride == 0) {
      direction_bits_ = std::clamp(digits / 3, 2u, 6u);
    } else {
      const unsigned bits = std::clamp(digits / 3, 4u, 7u);
      direction_bits_ = bits / 2;
      origin_bits_ = bits - direction_bits_;
    }
  }
  std::size_t keys() const { return std::size_t{1} << 3 * (origin_bits_ + direction_bits_); }

  SIMT_INLINE std::uint32_t operator()(std::size_t i) const {
    const kdtree::Ray ray = rays_.ray(i);
    const Vec3 d = ray.direction, size = max(d, -d);  // the largest component becomes 1
    const float longest = simt::max(simt::max(size.x, size.y), size.z);
    const std::uint32_t direction =
        interleaved(d * (0.5f / longest) + Vec3{0.5f, 0.5f, 0.5f}, direction_bits_);
    if (origin_bits_ == 0) return direction;
    const Vec3 at{(ray.origin.x - lo_.x) / scale_.x, (ray.origin.y - lo_.y) / scale_.y,
                  (ray.origin.z - lo_.z) / scale_.z};
    return interleaved(at, origin_bits_) << 3 * direction_bits_ | direction;
  }

 private:
  // 0 to 2^bits - 1 for any x, also for NaN.
  static SIMT_INLINE std::uint32_t cell(float x, unsigned bits) {
    const float cells = static_cast<float>(1u << bits), at = x * cells;
    return at >= cells ? (1u << bits) - 1 : at > 0 ? static_cast<std::uint32_t>(at) : 0;
  }
  static SIMT_INLINE std::uint32_t interleaved(Vec3 at, unsigned bits) {
    const std::uint32_t x = cell(at.x, bits), y = cell(at.y, bits), z = cell(at.z, bits);
    std::uint32_t key = 0;
    for (unsigned bit = 0; bit < bits; ++bit) {
      key |= (x >> bit & 1) << 3 * bit | (y >> bit & 1) << (3 * bit + 1) |
             (z >> bit & 1) << (3 * bit + 2);
    }
    return key;
  }

  RayArrays rays_;
  Vec3 lo_, scale_;
  unsigned origin_bits_ = 0, direction_bits_ = 0;
};

namespace sort_detail {

inline constexpr std::size_t keys_per_block = 512;

struct CountKeys {
  RayKey key;
  std::uint32_t* counts;
  SIMT_FN void operator()(std::size_t i) const {
    // relaxed: the counts are read by a later launch.
    simt::atomic_ref<std::uint32_t>(counts[key(i)]).fetch_add(1, simt::relaxed);
  }
};
struct SumBlock {
  const std::uint32_t* counts;
  std::uint32_t* sums;
  SIMT_FN void operator()(std::size_t block) const {
    std::uint32_t sum = 0;
    for (std::size_t k = 0; k < keys_per_block; ++k) sum += counts[block * keys_per_block + k];
    sums[block] = sum;
  }
};
// Replaces counts by the position of each key's first ray.
struct PlaceKeys {
  std::uint32_t* counts;
  const std::uint32_t* begins;  // per block
  SIMT_FN void operator()(std::size_t block) const {
    std::uint32_t position = begins[block];
    for (std::size_t k = 0; k < keys_per_block; ++k) {
      std::uint32_t& here = counts[block * keys_per_block + k];
      const std::uint32_t count = here;
      here = position;
      position += count;
    }
  }
};
// The first of two launches that place rays with one atomic operation each: the key of ray i, and
// its rank among the rays of that key.
struct RankRays {
  RayKey key;
  std::uint32_t* counts;
  std::uint32_t *keys, *ranks;
  SIMT_FN void operator()(std::size_t i) const {
    const std::uint32_t k = key(i);
    keys[i] = k;
    // relaxed: the counts are read by a later launch.
    ranks[i] = simt::atomic_ref<std::uint32_t>(counts[k]).fetch_add(1, simt::relaxed);
  }
};
// The second moves the rays, and turns ranks into positions.
struct MoveRays {
  RayArrays rays;
  const std::uint32_t *begins, *keys;
  std::uint32_t* positions;
  kdtree::Ray* to;
  SIMT_FN void operator()(std::size_t i) const {
    const std::uint32_t at = begins[keys[i]] + positions[i];
    positions[i] = at;
    to[at] = rays.ray(i);
  }
};
struct PlaceRays {
  RayKey key;
  std::uint32_t* positions;
  std::uint32_t* order;
  SIMT_FN void operator()(std::size_t i) const {
    // relaxed: each position is taken once; the order is read by a later launch.
    const std::uint32_t at =
        simt::atomic_ref<std::uint32_t>(positions[key(i)]).fetch_add(1, simt::relaxed);
    order[at] = static_cast<std::uint32_t>(i);
  }
};

}  // namespace sort_detail

// Device memory of a sort, which later ones use again.
struct SortMemory {
  simt::Buffer<std::uint32_t> counts, sums;
};

namespace sort_detail {

inline std::size_t blocks_of(const RayKey& key) {
  return (key.keys() + keys_per_block - 1) / keys_per_block;
}

inline void clear_counts(const simt::DeviceId& device, std::size_t blocks, SortMemory& memory) {
  if (memory.sums.size() < blocks) {
    memory.counts = {device, blocks * keys_per_block};
    memory.sums = {device, blocks};
  }
  memory.counts.fill(0);
}

template <class Launcher>
void place_keys(const Launcher& launcher, std::size_t blocks, SortMemory& memory) {
  launcher.for_each(blocks, SumBlock{memory.counts.data(), memory.sums.data()});
  std::vector<std::uint32_t> begins = memory.sums.download(0, blocks);
  std::uint32_t position = 0;
  for (std::uint32_t& begin : begins) {
    const std::uint32_t rays_of_block = begin;
    begin = position;
    position += rays_of_block;
  }
  memory.sums.upload(begins);
  launcher.for_each(blocks, PlaceKeys{memory.counts.data(), memory.sums.data()});
}

}  // namespace sort_detail

// Writes the indices of `count` rays, fewer than 2^32, in such an order.
template <class Launcher>
void sort_rays(const Launcher& launcher, const RayArrays& rays, const Box& bounds,
               std::size_t count, std::uint32_t* order, SortMemory& memory) {
  const RayKey key(rays, bounds, count);
  const std::size_t blocks = sort_detail::blocks_of(key);
  sort_detail::clear_counts(launcher.id(), blocks, memory);
  launcher.for_each(count, sort_detail::CountKeys{key, memory.counts.data()});
  sort_detail::place_keys(launcher, blocks, memory);
  launcher.for_each(count, sort_detail::PlaceRays{key, memory.counts.data(), order});
}

// Rays that are moved: on a GPU it is faster to read and write them, and their hits, in the order
// in which they are traced. Ray i of the caller is at positions[i].
struct MovedRays {
  static constexpr std::size_t bytes_per_ray =
      sizeof(kdtree::Ray) + sizeof(kdtree::Hit) + 2 * sizeof(std::uint32_t);
  kdtree::Ray* rays = nullptr;
  kdtree::Hit* hits = nullptr;
  std::uint32_t *positions = nullptr, *keys = nullptr;
};

// Fills `to` but for the hits.
template <class Launcher>
void move_rays(const Launcher& launcher, const RayArrays& rays, const Box& bounds,
               std::size_t count, const MovedRays& to, SortMemory& memory) {
  const RayKey key(rays, bounds, count);
  const std::size_t blocks = sort_detail::blocks_of(key);
  sort_detail::clear_counts(launcher.id(), blocks, memory);
  launcher.for_each(count, sort_detail::RankRays{key, memory.counts.data(), to.keys, to.positions});
  sort_detail::place_keys(launcher, blocks, memory);
  launcher.for_each(
      count, sort_detail::MoveRays{rays, memory.counts.data(), to.keys, to.positions, to.rays});
}

}  // namespace heapwood::python
