// SPDX-License-Identifier: MIT
// Replaces `new` and `delete` in device code, except placement new, with the heap of
// set_device_heap (device_heap.hpp). Until one is selected, and for blocks that it does not own,
// they are CUDA's.
//
//   heapwood::heap heap(1ull << 28);
//   heapwood::use_for_new(heap);      // set_device_heap, and an error if `new` is not replaced
//
// With -rdc=true the program has one operator of each kind: a second .cu file that includes this
// header must define HEAPWOOD_OPERATOR_NEW_ELSEWHERE before, and gets those of the first. When the
// heap is full, `new (heapwood::or_null) T` returns nullptr. Plain `new T` does not check for that
// and would construct the object at address 0, so use it only with a heap that is large enough. On
// the host, `new` uses the C library's memory and calls the new handler, as elsewhere.
//
// With a host compiler, `delete` recognizes blocks of the heap by their address, everywhere. The
// definitions are weak: a program's own take precedence, and so do those of clang's sanitizers.
// use_for_new throws then.
#pragma once

#include "simt/config.hpp"  // first

#include <cstddef>
#include <cstdlib>
#include <new>

#include "heapwood/device_heap.hpp"

namespace heapwood {

// Replaces std::nothrow, which device code cannot name.
struct or_null_t {};
inline constexpr or_null_t or_null{};

inline namespace HEAPWOOD_TARGET {

namespace operator_new {

inline void* allocate_on_host(std::size_t bytes, std::size_t alignment) noexcept {
  if (alignment <= alignof(std::max_align_t)) return std::malloc(bytes == 0 ? 1 : bytes);
  if (bytes > ~std::size_t{0} - alignment) return nullptr;  // would overflow when rounded up
  return std::aligned_alloc(alignment, alloc::round_up(bytes == 0 ? 1 : bytes, alignment));
}
// Calls the new handler until there is memory. Throws what it throws, or bad_alloc without one.
inline void* new_block_on_host(std::size_t bytes, std::size_t alignment) {
  for (;;) {
    void* const block = allocate_on_host(bytes, alignment);
    if (block != nullptr) return block;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}
// Plain new, which throws on the host if there is no memory.
HEAPWOOD_FN inline void* new_block_or_throw(std::size_t bytes, std::size_t alignment) {
#if defined(__CUDA_ARCH__) || !defined(__CUDACC__)
  if (device_heap::is_device_call()) return device_heap::allocate(bytes, alignment);
#endif
#if !defined(__CUDA_ARCH__)
  return new_block_on_host(bytes, alignment);
#else
  return nullptr;
#endif
}
HEAPWOOD_FN inline void delete_block(void* block, [[maybe_unused]] std::size_t alignment) {
#if defined(__CUDACC__) && !defined(__CUDA_ARCH__)
  std::free(block);
#else
  device_heap::deallocate(block, alignment);
#endif
}

// new with nothrow or or_null. On the host they call plain new, which may be the program's own.
inline void* plain_new_on_host(std::size_t bytes, std::size_t alignment, bool is_array) {
  if (alignment == 1) return is_array ? ::operator new[](bytes) : ::operator new(bytes);
  const std::align_val_t a{alignment};
  return is_array ? ::operator new[](bytes, a) : ::operator new(bytes, a);
}
inline void* plain_new_on_host_or_null(std::size_t bytes, std::size_t alignment,
                                       bool is_array) noexcept {
  try {
    return plain_new_on_host(bytes, alignment, is_array);
  } catch (...) {
    return nullptr;
  }
}
inline void plain_delete_on_host(void* block, std::size_t alignment, bool is_array) {
  if (alignment == 1) return is_array ? ::operator delete[](block) : ::operator delete(block);
  const std::align_val_t a{alignment};
  return is_array ? ::operator delete[](block, a) : ::operator delete(block, a);
}
HEAPWOOD_FN inline void* new_block_or_null(std::size_t bytes, std::size_t alignment,
                                           [[maybe_unused]] bool is_array) {
#if defined(__CUDA_ARCH__) || !defined(__CUDACC__)
  if (device_heap::is_device_call()) return device_heap::allocate(bytes, alignment);
#endif
#if !defined(__CUDA_ARCH__)
  return plain_new_on_host_or_null(bytes, alignment, is_array);
#else
  return nullptr;
#endif
}
HEAPWOOD_FN inline void delete_block_or_null(void* block, std::size_t alignment,
                                             [[maybe_unused]] bool is_array) {
#if defined(__CUDA_ARCH__)
  delete_block(block, alignment);
#else
  plain_delete_on_host(block, alignment, is_array);
#endif
}

#if !defined(__CUDACC__)
// Whether `new` in device code calls the operators of this header.
inline bool is_replaced() {
  const device_scope device;
  // volatile: the result is null if the heap is full, which compilers assume is impossible.
  void* volatile const block = ::operator new(1);
  void* const result = block;
  const bool is_of_heap = result == nullptr || device_heap::selected.owns(result);
  ::operator delete(result);
  return is_of_heap;
}
#endif

}  // namespace operator_new

// Like set_device_heap. On CPU threads throws Error if `new` is not that of this header.
inline void use_for_new(const device_heap::handle_type& handle, stream_handle stream = {}) {
  set_device_heap(handle, stream);
#if !defined(__CUDACC__)
  if (!device_heap::is_selected() || operator_new::is_replaced()) return;
  set_device_heap(device_heap::handle_type{});
  throw Error(Exit::usage,
              "heapwood: use_for_new: the program or its sanitizer replaces `new` itself; use the "
              "handle's make and destroy, or g++ instead of clang++ for sanitizers");
#endif
}
inline void use_for_new(const device_heap::heap_type& heap, stream_handle stream = {}) {
  use_for_new(heap.handle(), stream);
}

}  // namespace HEAPWOOD_TARGET
}  // namespace heapwood

// Defines new (tag) T, which returns nullptr if there is no memory. The forms of delete are called
// if the constructor throws, which it cannot on a GPU. `array`: nothing, or [] with `is_array`.
#define HEAPWOOD_FORMS_OR_NULL(attributes, tag, array, is_array)                                \
  attributes void* operator new array(std::size_t n, tag) noexcept {                            \
    return heapwood::operator_new::new_block_or_null(n, 1, is_array);                           \
  }                                                                                             \
  attributes void* operator new array(std::size_t n, std::align_val_t a, tag) noexcept {        \
    return heapwood::operator_new::new_block_or_null(n, static_cast<std::size_t>(a), is_array); \
  }                                                                                             \
  attributes void operator delete array(void* block, tag) noexcept {                            \
    heapwood::operator_new::delete_block_or_null(block, 1, is_array);                           \
  }                                                                                             \
  attributes void operator delete array(void* block, std::align_val_t a, tag) noexcept {        \
    heapwood::operator_new::delete_block_or_null(block, static_cast<std::size_t>(a), is_array); \
  }

#if !defined(__CUDACC_RDC__) || !defined(HEAPWOOD_OPERATOR_NEW_ELSEWHERE)

// Weak on the host, so a program's own definitions take precedence. Device code has no weak
// functions.
#define HEAPWOOD_REPLACED HEAPWOOD_FN __attribute__((weak))
#define HEAPWOOD_REPLACED_FORMS(array)                                                     \
  HEAPWOOD_REPLACED void* operator new array(std::size_t n) {                              \
    return heapwood::operator_new::new_block_or_throw(n, 1);                               \
  }                                                                                        \
  HEAPWOOD_REPLACED void* operator new array(std::size_t n, std::align_val_t a) {          \
    return heapwood::operator_new::new_block_or_throw(n, static_cast<std::size_t>(a));     \
  }                                                                                        \
  HEAPWOOD_REPLACED void operator delete array(void* block) noexcept {                     \
    heapwood::operator_new::delete_block(block, 1);                                        \
  }                                                                                        \
  HEAPWOOD_REPLACED void operator delete array(void* block, std::size_t) noexcept {        \
    heapwood::operator_new::delete_block(block, 1);                                        \
  }                                                                                        \
  HEAPWOOD_REPLACED void operator delete array(void* block, std::align_val_t a) noexcept { \
    heapwood::operator_new::delete_block(block, static_cast<std::size_t>(a));              \
  }                                                                                        \
  HEAPWOOD_REPLACED void operator delete array(void* block, std::size_t,                   \
                                               std::align_val_t a) noexcept {              \
    heapwood::operator_new::delete_block(block, static_cast<std::size_t>(a));              \
  }
HEAPWOOD_REPLACED_FORMS()
HEAPWOOD_REPLACED_FORMS([])
#undef HEAPWOOD_REPLACED_FORMS
#undef HEAPWOOD_REPLACED

// For the host only, because device code cannot name std::nothrow.
HEAPWOOD_FORMS_OR_NULL(__attribute__((weak)), const std::nothrow_t&, , false)
HEAPWOOD_FORMS_OR_NULL(__attribute__((weak)), const std::nothrow_t&, [], true)

#endif

HEAPWOOD_FORMS_OR_NULL(HEAPWOOD_FN inline, heapwood::or_null_t, , false)
HEAPWOOD_FORMS_OR_NULL(HEAPWOOD_FN inline, heapwood::or_null_t, [], true)
#undef HEAPWOOD_FORMS_OR_NULL
