// SPDX-License-Identifier: MIT
// Random requests, frees, wrong frees and shrinks, checked against a model of the live blocks. The
// managed range cannot be accessed: an allocator with metadata in it would crash the test.
#include <map>

#include "tests/host_alloc/support.hpp"

namespace heapwood::host_alloc {
namespace {

using namespace testing;
using State = HostRegion::State;

class HostModel : public ::testing::TestWithParam<const char*> {
 protected:
  static constexpr std::size_t granularity = 2 * mib;
  struct Live {
    std::size_t requested, alignment;
  };

  void make(std::size_t capacity, std::size_t growth, unsigned seed) {
    capacity_ = capacity;
    allocator_ = untouchable(GetParam(), {.capacity = capacity, .growth_bytes = growth});
    live_.clear();
    requested_ = 0;
    random_.seed(seed);
  }

  // Requests small, medium and large sizes, occasionally with a large alignment.
  void request() {
    static constexpr std::size_t scales[] = {300, 4 * kib, 100 * kib, 3 * mib, 9 * mib};
    const std::size_t bytes = below(random_, scales[below(random_, 5)]);
    const std::size_t alignment = std::size_t{1}
                                  << (below(random_, 4) == 0 ? below(random_, 22) : 8);
    void* block = allocator_->allocate(bytes, alignment);
    if (block == nullptr) {
      ++refused_;
      refused_rightly(std::max<std::size_t>(bytes, 1), alignment);
      return;
    }
    const auto address = reinterpret_cast<std::uintptr_t>(block);
    ASSERT_EQ(address % std::max<std::size_t>(alignment, 256), 0u);
    const auto after = live_.lower_bound(address);
    if (after != live_.end()) {
      ASSERT_LE(address + std::max<std::size_t>(bytes, 1), after->first);
    }
    if (after != live_.begin()) {
      ASSERT_LE(std::prev(after)->first + std::prev(after)->second.requested, address);
    }
    live_.emplace(address, Live{std::max<std::size_t>(bytes, 1), alignment});
    requested_ += std::max<std::size_t>(bytes, 1);
  }

  void free_one() {
    if (live_.empty()) return;
    auto it = live_.begin();
    std::advance(it, below(random_, live_.size()));
    void* block = reinterpret_cast<void*>(it->first);
    requested_ -= it->second.requested;
    live_.erase(it);
    allocator_->deallocate(block);
    const std::string again = error_of([&] { allocator_->deallocate(block); });
    ASSERT_NE(again.find("freed before"), std::string::npos) << again;
  }

  void free_wrongly() {
    if (live_.empty()) return;
    const auto& [address, block] = *live_.begin();
    if (block.requested < 2) return;
    const std::uintptr_t inside = address + 1 + below(random_, block.requested - 1);
    const std::string error =
        error_of([&] { allocator_->deallocate(reinterpret_cast<void*>(inside)); });
    ASSERT_NE(error.find("inside the block"), std::string::npos) << error;
  }

  // Checks a refused request: no free region and no memory yet to be mapped can hold it.
  void refused_rightly(std::size_t bytes, std::size_t alignment) {
    std::size_t mapped = 0;
    const HostStatistics figures = allocator_->statistics();
    allocator_->walk([&](const HostRegion& region) {
      if (region.state != State::unmapped) mapped += region.bytes;
      if (region.state != State::free) return;
      const std::uintptr_t first = (region.address + alignment - 1) / alignment * alignment;
      const std::uintptr_t end = region.address + region.bytes;
      EXPECT_LT(first >= end ? 0 : end - first, bytes) << "free memory would have held it";
    });
    EXPECT_EQ(mapped, figures.mapped_bytes.value());
    // Addresses at the end of the range are never scarce, so only the unmapped part of the capacity
    // counts.
    EXPECT_GT(bytes + alignment, capacity_ - mapped);
  }

  // Regions of walk() tile the range, and used regions are the live blocks.
  void check() {
    std::map<std::uintptr_t, Live> left = live_;
    std::uintptr_t end = 0;
    std::size_t mapped = 0, used = 0;
    State before = State::used;
    allocator_->walk([&](const HostRegion& region) {
      ASSERT_TRUE(end == 0 || region.address == end);
      ASSERT_GT(region.bytes, 0u);
      end = region.address + region.bytes;
      if (region.state != State::unmapped) mapped += region.bytes;
      if (region.state == State::used) {
        const auto found = left.find(region.address);
        ASSERT_NE(found, left.end());
        ASSERT_EQ(region.requested, found->second.requested);
        ASSERT_GE(region.bytes, region.requested);
        used += region.bytes;
        left.erase(found);
      } else if (std::string(GetParam()) != "hybrid") {
        ASSERT_NE(region.state, before) << "neighbours that were not joined";
      }
      before = region.state;
    });
    ASSERT_TRUE(left.empty()) << left.size() << " live blocks were not reported";
    const HostStatistics figures = allocator_->statistics();
    ASSERT_EQ(figures.live_blocks, live_.size());
    ASSERT_EQ(figures.requested_bytes, requested_);
    ASSERT_EQ(figures.used_bytes, used);
    ASSERT_EQ(figures.mapped_bytes.value(), mapped);
    ASSERT_EQ(figures.refused, refused_);
    ASSERT_LE(mapped, capacity_);
  }

  std::size_t capacity_ = 0, requested_ = 0;
  std::uint64_t refused_ = 0;
  std::unique_ptr<HostAllocator> allocator_;
  std::map<std::uintptr_t, Live> live_;
  std::mt19937_64 random_;
};

TEST_P(HostModel, RandomRequestsAgreeWithTheModel) {
  std::uint64_t refused = 0;
  for (unsigned seed = 1; seed <= 6; ++seed) {
    make((8 + 8 * seed) * mib, seed % 2 ? granularity : 8 * mib, seed);
    refused_ = 0;
    for (unsigned step = 0; step < 1500 && !HasFatalFailure(); ++step) {
      // Alternates between phases with mostly requests and phases with mostly frees.
      const bool filling = step / 100 % 2 == 0;
      const std::size_t dice = below(random_, 100);
      if (dice < (filling ? 60u : 35u)) {
        request();
      } else if (dice < 96) {
        free_one();
      } else if (dice < 98) {
        free_wrongly();
      } else {
        const std::size_t before = allocator_->statistics().mapped_bytes.value();
        const std::size_t bytes = allocator_->shrink();
        ASSERT_EQ(allocator_->statistics().mapped_bytes.value(), before - bytes);
        ASSERT_EQ(allocator_->shrink(), 0u);
      }
      if (step % 10 == 0) check();
    }
    ASSERT_NO_FATAL_FAILURE(check());
    while (!live_.empty()) free_one();
    allocator_->shrink();
    ASSERT_NO_FATAL_FAILURE(check());
    EXPECT_EQ(allocator_->statistics().mapped_bytes.value(), 0u);
    refused += refused_;
  }
  EXPECT_GT(refused, 50u);  // otherwise exhaustion was not tested
}

INSTANTIATE_TEST_SUITE_P(Ids, HostModel, ::testing::Values("segfit", "tlsf", "bitmask", "hybrid"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace heapwood::host_alloc
