// SPDX-License-Identifier: MIT
// Bitmasks (Bell, Kumar and Gill 2024, section II.B): one bit per chunk of 4 KiB, set if the chunk
// is free. A block is a run of chunks, allocated first fit, found 64 chunks at a time. Merging of
// neighbours is implicit. The size of a block is in the hash table.
//
// Limits: O(memory) to allocate and O(block) to free, as the paper states; a request occupies whole
// chunks.
#pragma once

#include <vector>

#include "host_alloc/address_table.hpp"
#include "host_alloc/mapped_range.hpp"

namespace heapwood::host_alloc {

class Bitmask final : public Policy {
 public:
  Bitmask(std::unique_ptr<simt::VirtualRange> range, const HostAllocatorOptions& options);

  LiveBlock allocate(std::size_t bytes, std::size_t alignment) override;
  LiveBlock deallocate(void* block) override;
  void walk(const std::function<void(const HostRegion&)>& visit) const override;
  std::size_t shrink() override;
  std::optional<std::size_t> mapped_bytes() const override { return range_.mapped(); }
  std::uint64_t mappings() const override { return range_.mappings(); }

 private:
  static constexpr std::size_t chunk = 4096;
  static constexpr std::size_t nowhere = ~std::size_t{0};
  struct Run {
    std::size_t chunks, requested;
  };

  // Words of the two searches: free chunks; chunks that are free or could be mapped.
  struct Free;
  struct FreeOrUnmapped;
  template <class Words>
  std::size_t find(const Words& words, std::size_t from, std::size_t chunks,
                   std::size_t step) const;
  std::size_t grow(std::size_t chunks, std::size_t step);
  bool map_run(std::size_t at, std::size_t chunks);
  bool is_mapped(std::size_t granule) const { return granule < mapped_.size() && mapped_[granule]; }

  MappedRange range_;
  std::size_t chunks_, granule_chunks_;
  std::vector<std::uint64_t> free_;  // as far as memory was ever mapped
  std::vector<bool> mapped_;         // by granule of the range (2 MiB)
  AddressTable<Run> live_;
};

}  // namespace heapwood::host_alloc
