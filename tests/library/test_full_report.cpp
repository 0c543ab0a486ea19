// SPDX-License-Identifier: MIT
// What a heap prints if it was full.
#include <gtest/gtest.h>

#include <cstdlib>
#include <heapwood/checked_heap.hpp>
#include <heapwood/heap.hpp>
#include <string>
#include <utility>

namespace heapwood {
namespace {

constexpr std::size_t mib = 1 << 20;

heap_options reporting() {
  heap_options options;
  options.report_full = true;
  return options;
}

// What the destruction of a heap prints after `use(heap)`.
template <class Heap = heap, class Use>
std::string printed_after(Use use, heap_options options = reporting()) {
  testing::internal::CaptureStderr();
  {
    Heap heap(2 * mib, {}, options);
    use(heap);
  }
  return testing::internal::GetCapturedStderr();
}

TEST(FullReport, TextHasNumbersAndTheFirstSize) {
  EXPECT_EQ(detail::full_text({3201, 0, 144}, 128 * mib),
            "the heap of 128 MiB was full: 3,201 requests refused, the first of 144 bytes");
  EXPECT_EQ(detail::full_text({1, 0, 1}, 1000),
            "the heap of 1,000 bytes was full: 1 request refused, of 1 bytes");
  EXPECT_EQ(detail::full_text({0, 1234567, std::uint64_t{1} << 40}, std::size_t{3} << 40),
            "the heap of 3,072 GiB is too small: 1,234,567 requests refused, the first of "
            "1,099,511,627,776 bytes");
  EXPECT_EQ(detail::full_text({0, 0, 0}, 1000), "");
}

TEST(FullReport, DestructorPrintsRefusals) {
  const auto fill = [](auto& heap) {
    const auto h = heap.handle();
    while (h.malloc(1000) != nullptr) {
    }
    EXPECT_EQ(h.malloc(3000), nullptr);
    EXPECT_EQ(h.malloc(8 * mib), nullptr);
    EXPECT_EQ(heap.stats().full, 2u);
    EXPECT_EQ(heap.stats().too_large, 1u);
    EXPECT_EQ(heap.stats().first_refused_bytes, 1000u);
  };
  const std::string expected =
      "heapwood: the heap of 2 MiB was full: 3 requests refused, the first of 1,000 bytes; 1 "
      "of them larger than it can ever serve\n";
  EXPECT_EQ(printed_after(fill), expected);
  EXPECT_EQ(printed_after<checked_heap>(fill), expected);
  heap_options silent;
  silent.report_full = false;
  EXPECT_EQ(printed_after(fill, silent), "");
}

TEST(FullReport, AHeapThatWasNotFullIsSilent) {
  const auto nothing = [](heap& heap) { heap.handle().free(heap.handle().malloc(100)); };
  EXPECT_EQ(printed_after(nothing), "");
  const auto reset = [](heap& heap) {
    EXPECT_EQ(heap.handle().malloc(8 * mib), nullptr);
    heap.reset();
  };
  EXPECT_EQ(printed_after(reset), "");
}

TEST(FullReport, HandlesCountAfterTheHeapMoved) {
  const auto move = [](heap& first) {
    const heap_handle h = first.handle();
    heap second = std::move(first);
    EXPECT_EQ(h.malloc(8 * mib), nullptr);
    EXPECT_EQ(second.stats().too_large, 1u);
  };
  EXPECT_EQ(printed_after(move),
            "heapwood: the heap of 2 MiB is too small: 1 request refused, of 8,388,608 bytes\n");
}

TEST(FullReportDeathTest, ExitPrintsForHeapsThatStillExist) {
  const auto end = [] {
    heap heap(2 * mib, {}, reporting());
    heap.handle().malloc(8 * mib);
    std::exit(3);
  };
  EXPECT_EXIT(end(), testing::ExitedWithCode(3),
              "^heapwood: the heap of 2 MiB is too small: 1 request");
}

}  // namespace
}  // namespace heapwood
