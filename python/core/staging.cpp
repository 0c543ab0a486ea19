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
