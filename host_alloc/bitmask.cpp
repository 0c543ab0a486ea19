// SPDX-License-Identifier: MIT
// Bitmasks (Bell, Kumar and Gill 2024, section II.B): one bit per chunk of 4 KiB, set if the chunk
// is free. A block is a run of chunks, found first fit, 64 chunks at a time. Freeing merges
// neighbours implicitly. The size of a block is in the hash table.
//
// Limits: O(memory) to allocate and O(block) to free, as the paper states; a request occupies whole
// chunks.
#include <algorithm>
#include <bit>
#include <vector>

#include "host_alloc/policy.hpp"

namespace heapwood::host_alloc {
namespace {

void set_run(std::vector<std::uint64_t>& words, std::size_t first, std::size_t count, bool value) {
  for (const std::size_t end = first + count; first < end;) {
    const std::size_t here = std::min(end - first, 64 - first % 64);
    const std::uint64_t mask = (here == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << here) - 1)
                               << first % 64;
    words[first / 64] = value ? words[first / 64] | mask : words[first / 64] & ~mask;
    first += here;
  }
}

// The first bit in [from, to) with the given value; `to` if there is none.
template <class Words>
std::size_t next(const Words& words, std::size_t from, std::size_t to, bool value) {
  while (from < to) {
    const std::uint64_t word = (value ? words(from / 64) : ~words(from / 64)) >> from % 64;
    if (word != 0) return std::min(to, from + static_cast<std::size_t>(std::countr_zero(word)));
    from = (from / 64 + 1) * 64;
  }
  return to;
}

class Bitmask final : public Policy {
 public:
  Bitmask(std::unique_ptr<simt::VirtualRange> range, const HostAllocatorOptions& options)
      : range_(std::move(range), options),
        chunks_(range_.bytes() / chunk),
        granule_chunks_(range_.granularity() / chunk) {
    if (options.initial_bytes == 0) return;
    const std::size_t initial = range_.whole(options.initial_bytes) / chunk;
    if (initial > chunks_ || !map_run(0, initial)) {
      throw Error(Exit::failed, "host allocator: cannot map the initial " +
                                    std::to_string(initial * chunk >> 20) +
                                    " MiB; use a smaller initial size or a larger capacity");
    }
  }

  LiveBlock allocate(std::size_t bytes, std::size_t alignment) override {
    if (bytes > range_.bytes()) return {};
    const std::size_t chunks = (bytes + chunk - 1) / chunk;
    const std::size_t step = std::max<std::size_t>(alignment / chunk, 1);
    std::size_t chunk_index = find(Free{*this}, 0, chunks, step);
    if (chunk_index == nowhere) chunk_index = grow(chunks, step);
    if (chunk_index == nowhere && shrink() > 0) chunk_index = grow(chunks, step);
    if (chunk_index == nowhere) return {};
    set_run(free_, chunk_index, chunks, false);
    const std::uintptr_t address = range_.base() + chunk_index * chunk;
    live_.emplace(address, Run{chunks, bytes});
    return {pointer_to(address), bytes, chunks * chunk};
  }
  LiveBlock deallocate(void* block) override {
    const auto found = live_.find(reinterpret_cast<std::uintptr_t>(block));
    if (found == live_.end()) refuse_free(*this, block);
    const Run run = found->second;
    set_run(free_, (found->first - range_.base()) / chunk, run.chunks, true);
    live_.erase(found);
    return {block, run.requested, run.chunks * chunk};
  }
  void walk(const std::function<void(const HostRegion&)>& visit) const override {
    const Free words{*this};
    for (std::size_t chunk_index = 0; chunk_index < words.end();) {
      HostRegion region{range_.base() + chunk_index * chunk, 0, 0, HostRegion::State::unmapped};
      std::size_t stop = chunk_index + 1;
      if (!is_mapped(chunk_index / granule_chunks_)) {
        stop = (chunk_index / granule_chunks_ + 1) * granule_chunks_;
        while (stop < words.end() && !is_mapped(stop / granule_chunks_)) stop += granule_chunks_;
      } else if (const auto found = live_.find(region.address); found != live_.end()) {
        stop = chunk_index + found->second.chunks;
        region.requested = found->second.requested;
        region.state = HostRegion::State::used;
      } else {
        stop = next(words, chunk_index, words.end(), false);
        region.state = HostRegion::State::free;
      }
      region.bytes = (stop - chunk_index) * chunk;
      if (region.state != HostRegion::State::unmapped || stop < words.end()) visit(region);
      chunk_index = stop;
    }
  }
  std::size_t shrink() override {
    const Free words{*this};
    return range_.unmap_if(
        [&](std::size_t offset, std::size_t bytes) {
          const std::size_t end = (offset + bytes) / chunk;
          return next(words, offset / chunk, end, false) == end;
        },
        [&](std::size_t offset, std::size_t bytes) {
          const std::size_t granule = range_.granularity();
          std::fill_n(mapped_.begin() + static_cast<std::ptrdiff_t>(offset / granule),
                      bytes / granule, false);
          set_run(free_, offset / chunk, bytes / chunk, false);
        });
  }
  std::optional<std::size_t> mapped_bytes() const override { return range_.mapped(); }
  std::uint64_t mappings() const override { return range_.mappings(); }

 private:
  static constexpr std::size_t chunk = 4096;
  static constexpr std::size_t nowhere = ~std::size_t{0};
  struct Run {
    std::size_t chunks, requested;
  };

  // The bits that the two searches look for: free chunks, and chunks that are free or can be
  // mapped.
  struct Free {
    const Bitmask& self;
    std::size_t end() const { return self.free_.size() * 64; }
    std::uint64_t operator()(std::size_t word) const { return self.free_[word]; }
  };

  // Memory is mapped in granules of range_.granularity(), 2 MiB: 512 chunks, so that the chunks of
  // a word are all mapped or all unmapped.
  struct FreeOrUnmapped {
    const Bitmask& self;
    std::size_t end() const { return self.chunks_; }
    std::uint64_t operator()(std::size_t word) const {
      return self.is_mapped(word * 64 / self.granule_chunks_) ? self.free_[word]
                                                              : ~std::uint64_t{0};
    }
  };
  template <class Words>
  std::size_t find(const Words& words, std::size_t from, std::size_t chunks,
                   std::size_t step) const {
    const std::size_t end = words.end();
    for (std::size_t first = from;;) {
      first = (next(words, first, end, true) + step - 1) / step * step;
      if (first > end || chunks > end - first) return nowhere;
      const std::size_t stop = next(words, first, first + chunks, false);
      if (stop == first + chunks) return first;
      first = stop + 1;
    }
  }
  // Finds the first run for which there is enough memory, and maps its unmapped parts.
  std::size_t grow(std::size_t chunks, std::size_t step) {
    const FreeOrUnmapped words{*this};
    const std::size_t mappable = range_.mappable_bytes() / range_.granularity();
    for (std::size_t first = 0; (first = find(words, first, chunks, step)) != nowhere;) {
      std::size_t missing = 0;
      const std::size_t last = (first + chunks - 1) / granule_chunks_;
      for (std::size_t g = first / granule_chunks_; g <= last; ++g) missing += !is_mapped(g);
      if (missing <= mappable) return map_run(first, chunks) ? first : nowhere;
      if (first >= free_.size() * 64) return nowhere;  // no memory after this is mapped
      // The granules that the run touches change only when its beginning or end enters another one.
      const std::size_t begin = granule_chunks_ - first % granule_chunks_;
      const std::size_t end = granule_chunks_ - (first + chunks - 1) % granule_chunks_;
      first += std::min(begin, end);
    }
    return nowhere;
  }
  bool map_run(std::size_t first, std::size_t chunks) {
    const std::size_t granule = range_.granularity();
    const std::size_t stop = (first + chunks - 1) / granule_chunks_ + 1;
    for (std::size_t g = first / granule_chunks_; g < stop;) {
      if (is_mapped(g)) {
        ++g;
        continue;
      }
      std::size_t end = g + 1;
      while (end < stop && !is_mapped(end)) ++end;
      const std::size_t need = (end - g) * granule;
      // Only the end of the run may map more than it needs: mapping more earlier would take memory
      // that the rest of the run needs.
      std::size_t max_bytes = need;
      if (end == stop) {
        std::size_t unmapped_end = end;
        const std::size_t all = range_.bytes() / granule;
        while (unmapped_end < all && !is_mapped(unmapped_end) && unmapped_end < mapped_.size())
          ++unmapped_end;
        max_bytes = (unmapped_end < mapped_.size() ? unmapped_end - g : all - g) * granule;
      }
      const std::size_t mapped = range_.grow(g * granule, need, max_bytes) / granule;
      if (mapped == 0) return false;
      if (mapped_.size() < g + mapped) {
        mapped_.resize(g + mapped, false);
        free_.resize(mapped_.size() * granule_chunks_ / 64, 0);
      }
      std::fill_n(mapped_.begin() + static_cast<std::ptrdiff_t>(g), mapped, true);
      set_run(free_, g * granule_chunks_, mapped * granule_chunks_, true);
      g += mapped;
    }
    return true;
  }
  bool is_mapped(std::size_t granule) const { return granule < mapped_.size() && mapped_[granule]; }

  MappedRange range_;
  std::size_t chunks_, granule_chunks_;
  std::vector<std::uint64_t> free_;  // covers all memory that was ever mapped
  std::vector<bool> mapped_;         // by granule of the range (2 MiB)
  AddressTable<Run> live_;
};

}  // namespace

std::unique_ptr<Policy> make_bitmask(std::unique_ptr<simt::VirtualRange> range,
                                     const HostAllocatorOptions& options) {
  return std::make_unique<Bitmask>(std::move(range), options);
}

}  // namespace heapwood::host_alloc
