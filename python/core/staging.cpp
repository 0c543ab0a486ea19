// SPDX-License-Identifier: MIT
#include "python/core/staging.hpp"

#include <algorithm>

namespace heapwood::python {

namespace {

// Rays as one array with six numbers per row.
bool is_packed(const RayArrays& rays) {
  return rays.origins.stride == 6 && rays.directions.stride == 6 &&
         rays.directions.is_double == rays.origins.is_double &&
         rays.directions.data ==
             static_cast<const std::byte*>(rays.origins.data) + 3 * rays.origins.number_bytes();
}

Rows directions_of(const Rows& packed) {
  return {static_cast<const std::byte*>(packed.data) + 3 * packed.number_bytes(), packed.stride,
          packed.is_double};
}

}  // namespace

void* Staging::memory(simt::Memory& memory, std::size_t bytes) const {
  if (bytes > memory.bytes()) {
    memory = {};  // released first, so that both need not fit
    memory = simt::Memory(device_, bytes);
  }
  return memory.data();
}

Rows Staging::rows(simt::Memory& to, const Rows& from, std::size_t count,
                   std::size_t columns) const {
  if (from.data == nullptr || count == 0) return from;
  const std::size_t bytes = ((count - 1) * from.stride + columns) * from.number_bytes();
  void* const data = memory(to, bytes);
  simt::device_upload(device_, data, from.data, bytes);
  return {data, from.stride, from.is_double};
}

RayArrays Staging::upload(const RayArrays& rays, std::size_t count) {
  RayArrays staged = rays;
  if (is_packed(rays)) {
    staged.origins = rows(rows_[0], rays.origins, count, 6);
    staged.directions = directions_of(staged.origins);
  } else {
    staged.origins = rows(rows_[0], rays.origins, count, 3);
    staged.directions = rows(rows_[1], rays.directions, count, 3);
  }
  staged.t_min.each = rows(rows_[2], rays.t_min.each, count, 1);
  staged.t_max.each = rows(rows_[3], rays.t_max.each, count, 1);
  return staged;
}

std::size_t Staging::ray_bytes(const RayArrays& rays) {
  const auto bytes = [](const Rows& rows, std::size_t columns) {
    return rows.data == nullptr || rows.stride == 0 ? 0 : columns * rows.number_bytes();
  };
  return bytes(rays.origins, 3) + bytes(rays.directions, 3) + bytes(rays.t_min.each, 1) +
         bytes(rays.t_max.each, 1);
}

HitArrays Staging::results(const HitArrays& wanted, std::size_t count) {
  HitArrays staged = wanted;
  const auto place = [&]<class T>(T*& array, simt::Memory& at, std::size_t columns) {
    if (array != nullptr) array = static_cast<T*>(memory(at, count * columns * sizeof(T)));
  };
  place(staged.t, results_[0], 1);
  place(staged.triangle, results_[1], 1);
  place(staged.uv, results_[2], 2);
  place(staged.normal, results_[3], 3);
  place(staged.any, results_[4], 1);
  return staged;
}

void Staging::download(const HitArrays& to, std::size_t count) const {
  const auto fetch = [&](auto* array, const simt::Memory& from, std::size_t columns) {
    if (array != nullptr)
      simt::device_download(device_, array, from.data(), count * columns * sizeof(*array));
  };
  fetch(to.t, results_[0], 1);
  fetch(to.triangle, results_[1], 1);
  fetch(to.uv, results_[2], 2);
  fetch(to.normal, results_[3], 3);
  fetch(to.any, results_[4], 1);
}

ListArrays Staging::list_results(std::size_t entries) {
  return {static_cast<std::uint32_t*>(memory(results_[4], entries * sizeof(std::uint32_t))),
          static_cast<float*>(memory(results_[0], entries * sizeof(float))),
          static_cast<std::uint32_t*>(memory(results_[1], entries * sizeof(std::uint32_t))),
          static_cast<float*>(memory(results_[2], 2 * entries * sizeof(float)))};
}

void Staging::download(const ListArrays& to, std::size_t entries) const {
  const auto fetch = [&](auto* array, const simt::Memory& from, std::size_t columns) {
    simt::device_download(device_, array, from.data(), entries * columns * sizeof(*array));
  };
  fetch(to.ray, results_[4], 1);
  fetch(to.t, results_[0], 1);
  fetch(to.triangle, results_[1], 1);
  fetch(to.uv, results_[2], 2);
}

MovedRays Staging::moved_rays(std::size_t count) {
  auto* const rays = static_cast<kdtree::Ray*>(memory(moved_, count * MovedRays::bytes_per_ray));
  auto* const hits = reinterpret_cast<kdtree::Hit*>(rays + count);
  auto* const positions = reinterpret_cast<std::uint32_t*>(hits + count);
  return {rays, hits, positions, positions + count};
}

std::int64_t* Staging::splits(const std::int64_t* from, std::size_t count) {
  auto* const to = static_cast<std::int64_t*>(memory(splits_, count * sizeof(std::int64_t)));
  simt::device_upload(device_, to, from, count * sizeof(std::int64_t));
  return to;
}

const void* Staging::copy(const void* from, std::size_t bytes) {
  void* const to = memory(rows_[0], bytes);
  simt::device_upload(device_, to, from, bytes);
  return to;
}

StagingPool::Lease::Lease(StagingPool& pool, const simt::DeviceId& device) : pool_(pool) {
  const std::lock_guard lock(pool.mutex_);
  if (pool.unused_.empty()) {
    staging_ = std::make_unique<Staging>(device);
  } else {
    staging_ = std::move(pool.unused_.back());
    pool.unused_.pop_back();
  }
}

StagingPool::Lease::~Lease() {
  const std::lock_guard lock(pool_.mutex_);
  pool_.unused_.push_back(std::move(staging_));
}

}  // namespace heapwood::python
