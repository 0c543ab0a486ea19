// SPDX-License-Identifier: MIT
// The library's replacement of `new`, on the host and in device code of CPU threads.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <heapwood/operator_new.hpp>
#include <new>

namespace heapwood {
namespace {

struct alignas(64) Line {
  int values[16];
};

TEST(OperatorNew, RefusesSizesThatWrapWhenTheyAreAligned) {
  for (const std::size_t alignment : {std::size_t{32}, std::size_t{64}, std::size_t{4096}}) {
    for (std::size_t less = 0; less <= alignment; less += 7)
      EXPECT_EQ(operator_new::allocate_on_host(~std::size_t{0} - less, alignment), nullptr);
    void* const block = operator_new::allocate_on_host(1, alignment);
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(reinterpret_cast<std::size_t>(block) % alignment, 0u);
    std::free(block);
  }
}

// Whether the function is in this program, and not in the C++ library or a sanitizer's runtime.
template <class Function>
bool is_in_program(Function* function) {
  Dl_info program{}, other{};
  const auto of = [](auto* f, Dl_info& info) { dladdr(reinterpret_cast<void*>(f), &info); };
  of(&operator_new::allocate_on_host, program);
  of(function, other);
  return program.dli_fbase == other.dli_fbase;
}

TEST(OperatorNew, ReplacesTheFormsForNothrow) {
  using Size = std::size_t;
  using Align = std::align_val_t;
  using Nothrow = const std::nothrow_t&;
  if (is_in_program(&std::set_new_handler)) GTEST_SKIP() << "the C++ library is linked statically";
  EXPECT_TRUE(is_in_program<void*(Size, Nothrow) noexcept>(&::operator new));
  EXPECT_TRUE(is_in_program<void*(Size, Nothrow) noexcept>(&::operator new[]));
  EXPECT_TRUE((is_in_program<void*(Size, Align, Nothrow) noexcept>(&::operator new)));
  EXPECT_TRUE((is_in_program<void*(Size, Align, Nothrow) noexcept>(&::operator new[])));
  EXPECT_TRUE((is_in_program<void(void*, Nothrow) noexcept>(&::operator delete)));
  EXPECT_TRUE((is_in_program<void(void*, Nothrow) noexcept>(&::operator delete[])));
  EXPECT_TRUE((is_in_program<void(void*, Align, Nothrow) noexcept>(&::operator delete)));
  EXPECT_TRUE((is_in_program<void(void*, Align, Nothrow) noexcept>(&::operator delete[])));
}

// AddressSanitizer ends the program if a block is freed by another form than it expects.
void allocate_with_nothrow(const heap_handle* owner) {
  const auto is_expected = [&](const void* block) {
    return block != nullptr && (owner == nullptr || owner->owns(block));
  };
  int* const number = new (std::nothrow) int(1);
  int* const numbers = new (std::nothrow) int[100];
  Line* const line = new (std::nothrow) Line;
  Line* const lines = new (std::nothrow) Line[3];
  EXPECT_TRUE(is_expected(number) && is_expected(numbers));
  EXPECT_TRUE(is_expected(line) && is_expected(lines));
  EXPECT_EQ(reinterpret_cast<std::size_t>(line) % alignof(Line), 0u);
  delete number;
  delete[] numbers;
  delete line;
  delete[] lines;
}
TEST(OperatorNew, NothrowFormsUseTheSameMemory) {
  allocate_with_nothrow(nullptr);
  heap heap(1 << 20);
  const heap_handle h = heap.handle();
  use_for_new(heap);
  {
    const device_scope device;
    allocate_with_nothrow(&h);
  }
  EXPECT_EQ(heap.report_leaks(), 0u);
  use_for_new(heap_handle{});
}

int handler_calls = 0;
void count_and_give_up() {
  if (++handler_calls == 3) std::set_new_handler(nullptr);
}
[[noreturn]] void throw_from_handler() { throw std::bad_alloc(); }

// Refused without asking the C library: sanitizers end the program at such a request. A variable,
// because compilers warn about the constant.
volatile std::size_t impossible = ~std::size_t{0};

TEST(OperatorNew, CallsTheNewHandlerOnTheHost) {
  constexpr std::align_val_t alignment{64};
  handler_calls = 0;
  std::set_new_handler(count_and_give_up);
  EXPECT_THROW(::operator delete(::operator new(impossible, alignment), alignment), std::bad_alloc);
  EXPECT_EQ(handler_calls, 3);
  handler_calls = 0;
  std::set_new_handler(count_and_give_up);
  EXPECT_EQ(::operator new(impossible, alignment, std::nothrow), nullptr);
  EXPECT_EQ(handler_calls, 3);
  std::set_new_handler(throw_from_handler);
  EXPECT_EQ(::operator new(impossible, alignment, or_null), nullptr);
  EXPECT_EQ(::operator new(impossible, alignment, std::nothrow), nullptr);
  std::set_new_handler(nullptr);
}

TEST(OperatorNew, DeviceCodeUsesTheHeap) {
  heap heap(1 << 20);
  use_for_new(heap);
  const heap_handle h = heap.handle();
  int* const outside = new int(1);
  EXPECT_FALSE(h.owns(outside));
  {
    const device_scope device;
    int* const inside = new int(2);
    EXPECT_TRUE(h.owns(inside));
    EXPECT_EQ(new (or_null) char[2 << 20], nullptr);
    int* const array = new (or_null) int[10];
    EXPECT_TRUE(h.owns(array));
    delete[] array;
    delete outside;
    delete inside;
  }
  EXPECT_EQ(heap.report_leaks(), 0u);
  use_for_new(heap_handle{});
}

TEST(OperatorNew, AFullHeapCanBeSelected) {
  heap heap(1 << 20);
  const heap_handle h = heap.handle();
  while (h.malloc(16) != nullptr) {
  }
  use_for_new(heap);
  {
    const device_scope device;
    EXPECT_EQ(new (or_null) int, nullptr);
  }
  use_for_new(heap_handle{});
}

}  // namespace
}  // namespace heapwood
