// SPDX-License-Identifier: MIT
#include "python/core/queries.hpp"
#include "python/core/traced_mesh.hpp"

namespace heapwood::python {

void* Staging::memory(simt::Memory& memory, std::size_t bytes) const {
  if (bytes > memory.bytes()) {
    memory = {};  // released first, so that both blocks need not fit together
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

void Staging::upload(RayJob& job) {
  RayArrays& rays = job.rays;
  const auto upload = [&](simt::Memory& to, Rows& from, std::size_t columns) {
    from = rows(to, from, job.count, columns);
  };
  if (rays.is_packed()) {
    upload(rows_[0], rays.origins, 6);
    rays.directions = rays.origins.from_column(3);
  } else {
    upload(rows_[0], rays.origins, 3);
    upload(rows_[1], rays.directions, 3);
  }
  upload(rows_[2], rays.t_min.each, 1);
  upload(rows_[3], rays.t_max.each, 1);
  upload(rows_[4], job.filter.scene.each, 1);
  upload(rows_[5], job.filter.mask.each, 1);
}

std::size_t Staging::ray_bytes(const RayArrays& rays) {
  const auto bytes = [](const Rows& rows, std::size_t columns) {
    return rows.data == nullptr || rows.stride == 0 ? 0 : columns * rows.number_bytes();
  };
  return bytes(rays.origins, 3) + bytes(rays.directions, 3) + bytes(rays.t_min.each, 1) +
         bytes(rays.t_max.each, 1);
}

namespace {

// Calls f(array, number of its staging memory, numbers per ray) for each result.
template <class Hits, class F>
void for_each_result(Hits& hits, F f) {
  if (hits.t != nullptr) f(hits.t, 0, 1);
  if (hits.triangle != nullptr) f(hits.triangle, 1, 1);
  if (hits.uv != nullptr) f(hits.uv, 2, 2);
  if (hits.normal != nullptr) f(hits.normal, 3, 3);
  if (hits.any != nullptr) f(hits.any, 4, 1);
  if (hits.point.data != nullptr) f(hits.point.data, 5, hits.point.row_bytes());
}

}  // namespace

HitArrays Staging::results(const HitArrays& wanted, std::size_t count) {
  HitArrays staged = wanted;
  for_each_result(staged, [&]<class T>(T*& array, int number, std::size_t columns) {
    array = static_cast<T*>(memory(results_[number], count * columns * sizeof(T)));
  });
  return staged;
}

void Staging::download(const HitArrays& to, std::size_t count) const {
  for_each_result(to, [&](auto* array, int number, std::size_t columns) {
    simt::device_download(device_, array, results_[number].data(),
                          count * columns * sizeof(*array));
  });
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

Poses Staging::poses(const std::vector<double>& numbers) {
  if (numbers.empty()) return {};
  void* const to = memory(rows_[1], numbers.size() * sizeof(double));
  simt::device_upload(device_, to, numbers.data(), numbers.size() * sizeof(double));
  return {static_cast<const double*>(to), static_cast<std::uint32_t>(numbers.size() / Poses::each)};
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
