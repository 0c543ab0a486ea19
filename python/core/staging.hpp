// SPDX-License-Identifier: MIT
// Copies of the caller's arrays in device memory, where those are not: a batch of rays at a time.
// The memory is kept for the next query.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "python/core/ray_arrays.hpp"
#include "simt/memory.hpp"

namespace heapwood::python {

class Staging {
 public:
  explicit Staging(const simt::DeviceId& device) : device_(device) {}

  // Uploads the first `count` rays.
  RayArrays upload(const RayArrays& rays, std::size_t count);
  // Arrays for the results that `wanted` has, and their download to it.
  HitArrays results(const HitArrays& wanted, std::size_t count);
  void download(const HitArrays& to, std::size_t count) const;
  ListArrays list_results(std::size_t entries);
  void download(const ListArrays& to, std::size_t entries) const;

  std::uint32_t* counts(std::size_t count) {
    return static_cast<std::uint32_t*>(memory(counts_, count * sizeof(std::uint32_t)));
  }
  std::uint64_t* word() {
    return static_cast<std::uint64_t*>(memory(word_, sizeof(std::uint64_t)));
  }
  std::int64_t* splits(const std::int64_t* from, std::size_t count);
  const void* copy(const void* from, std::size_t bytes);  // of vertices

  // Bytes per ray of upload().
  static std::size_t ray_bytes(const RayArrays& rays);

 private:
  void* memory(simt::Memory& memory, std::size_t bytes) const;
  Rows rows(simt::Memory& memory, const Rows& from, std::size_t count, std::size_t columns) const;

  simt::DeviceId device_;
  simt::Memory rows_[4], results_[5], counts_, splits_, word_;
};

// Staging memory of queries that run side by side.
class StagingPool {
 public:
  class Lease {
   public:
    Lease(StagingPool& pool, const simt::DeviceId& device);
    ~Lease();
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    Staging& operator*() const { return *staging_; }

   private:
    StagingPool& pool_;
    std::unique_ptr<Staging> staging_;
  };

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Staging>> unused_;
};

}  // namespace heapwood::python
