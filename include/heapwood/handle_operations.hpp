// SPDX-License-Identifier: MIT
// Code that heaps share: the functions that every handle derives from its own malloc and free, the
// place of a call (HEAPWOOD_HERE), device_scope, and functions for blocks and sizes.
#pragma once

#include "simt/config.hpp"  // first

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <type_traits>

#include "alloc/allocator.hpp"
#include "simt/this_thread.hpp"

// The place of a call, which a checked heap names in its messages. Other heaps ignore it.
#define HEAPWOOD_HERE (::heapwood::call_site(__FILE__, __func__, __LINE__))

namespace heapwood {

// The place of a call. It contains the text, because the host cannot read the device's strings.
struct call_site {
  static constexpr std::size_t max_file = 28, max_function = 28;

  char file[max_file] = {};          // without folders; the end of a longer name
  char function[max_function] = {};  // the beginning of a longer name
  std::uint32_t line = 0;            // 0: not given

  HEAPWOOD_INLINE constexpr call_site() {}
  HEAPWOOD_FN HEAPWOOD_CONSTEVAL call_site(const char* path, const char* name,
                                           std::uint32_t line_number)
      : line(line_number) {
    std::size_t end = 0, begin = 0, length = 0;
    for (; path[end] != 0; ++end) {
      if (path[end] == '/') begin = end + 1;
    }
    if (end - begin > max_file - 1) begin = end - (max_file - 1);
    for (std::size_t i = begin; i < end; ++i) file[i - begin] = path[i];
    for (; name[length] != 0 && length < max_function - 1; ++length)
      function[length] = name[length];
  }
};

namespace detail {

// may_alias: the program reads what is written here, and writes what is read here, through types
// of its own. Without it the compiler may move the program's accesses across these.
struct HEAPWOOD_MAY_ALIAS alignas(alloc::granule) Granule {
  std::uint64_t low, high;
};
using AnyPointer HEAPWOOD_MAY_ALIAS = void*;

// a + b, or the maximum if that does not fit: no heap serves so large a size.
HEAPWOOD_INLINE constexpr std::size_t add_sizes(std::size_t a, std::size_t b) {
  return a > ~std::size_t{0} - b ? ~std::size_t{0} : a + b;
}
HEAPWOOD_INLINE constexpr std::size_t multiply_sizes(std::size_t count, std::size_t size) {
  return size != 0 && count > ~std::size_t{0} / size ? ~std::size_t{0} : count * size;
}

// Clears exactly `bytes` bytes, because the bytes after them may be guards of a checked heap.
HEAPWOOD_INLINE void clear_block(void* block, std::size_t bytes) {
  const std::size_t granules = bytes / sizeof(Granule);
  HEAPWOOD_ROLLED
  for (std::size_t i = 0; i < granules; ++i) static_cast<Granule*>(block)[i] = {0, 0};
  HEAPWOOD_ROLLED
  for (std::size_t i = granules * sizeof(Granule); i < bytes; ++i)
    static_cast<unsigned char*>(block)[i] = 0;
}
HEAPWOOD_INLINE void copy_block(void* to, const void* from, std::size_t bytes) {
  const std::size_t granules = bytes / sizeof(Granule);
  HEAPWOOD_ROLLED
  for (std::size_t i = 0; i < granules; ++i)
    static_cast<Granule*>(to)[i] = static_cast<const Granule*>(from)[i];
  HEAPWOOD_ROLLED
  for (std::size_t i = granules * sizeof(Granule); i < bytes; ++i)
    static_cast<unsigned char*>(to)[i] = static_cast<const unsigned char*>(from)[i];
}

// An aligned block inside a larger block from malloc, whose address is stored just before it.
class AlignedRequest {
 public:
  // `alignment` must be a power of two.
  HEAPWOOD_INLINE AlignedRequest(std::size_t alignment, std::size_t bytes)
      : alignment_(alignment < alloc::granule ? alloc::granule : alignment), bytes_(bytes) {}
  HEAPWOOD_INLINE std::size_t bytes() const {
    return add_sizes(bytes_, alignment_ + alloc::granule);
  }
  HEAPWOOD_INLINE void* align(void* block) const {
    if (block == nullptr) return nullptr;
    const auto origin = reinterpret_cast<std::uintptr_t>(block);
    const std::uintptr_t address = (origin + alloc::granule + alignment_ - 1) & ~(alignment_ - 1);
    void* const aligned = reinterpret_cast<void*>(address);
    static_cast<AnyPointer*>(aligned)[-1] = block;
    return aligned;
  }
  static HEAPWOOD_INLINE void* origin(void* aligned) {
    return aligned == nullptr ? nullptr : static_cast<AnyPointer*>(aligned)[-1];
  }

 private:
  std::size_t alignment_, bytes_;
};

// nvcc also compiles device functions for the host. A call there ends the program.
#if !defined(__CUDACC_RTC__)
[[noreturn]] inline void called_on_host(const char* function) {
  std::fprintf(stderr, "heapwood: %s of a GPU's heap was called on the host\n", function);
  std::abort();
}
#else
__device__ void called_on_host(const char* function);  // declared only: there is no host code
#endif

}  // namespace detail

inline namespace HEAPWOOD_TARGET {

#if !defined(__CUDACC_RTC__)
// With a host compiler, marks the calling thread as running device code until the end of the
// scope. operator_new.hpp checks the mark.
class device_scope {
 public:
  device_scope() { ++depth(); }
  ~device_scope() { --depth(); }
  device_scope(device_scope&&) = delete;
  static bool is_active() { return depth() > 0; }

 private:
  static int& depth() {
    thread_local int depth = 0;
    return depth;
  }
};
#endif

// A base class of heap handles. `Handle` derives from it and defines allocate(bytes) and
// deallocate(block); users call malloc and free, which do the same.
template <class Handle>
class handle_operations {
 public:
  // At least `bytes` bytes, aligned to 16; nullptr if the heap is full or the request is larger
  // than max_request(). A request of 0 bytes counts as 1 byte.
  HEAPWOOD_INLINE void* malloc(std::size_t bytes) const { return self().allocate(bytes); }
  // Frees a block of malloc, calloc, realloc or warp_malloc; nullptr is a no-op.
  HEAPWOOD_INLINE void free(void* block) const { self().deallocate(block); }

  // Variants with the place of the call (HEAPWOOD_HERE), for checked heaps; other heaps ignore it.
  HEAPWOOD_INLINE void* malloc(std::size_t bytes, const call_site& where) const {
    return self().at(where).allocate(bytes);
  }
  HEAPWOOD_INLINE void free(void* block, const call_site& where) const {
    self().at(where).deallocate(block);
  }
  HEAPWOOD_INLINE const Handle& at(const call_site&) const { return self(); }

  // Allocates count * size bytes, which the calling thread sets to 0.
  HEAPWOOD_INLINE void* calloc(std::size_t count, std::size_t size) const {
    const std::size_t bytes = detail::multiply_sizes(count, size);
    void* const block = self().allocate(bytes);
    if (block != nullptr) detail::clear_block(block, bytes);
    return block;
  }

  // Moves a block of old_bytes to one of new_bytes and frees it. If there is no space, returns
  // nullptr and keeps the old block. The size is an argument because a block has no header.
  HEAPWOOD_INLINE void* realloc(void* block, std::size_t old_bytes, std::size_t new_bytes) const {
    void* const moved = self().allocate(new_bytes);
    if (moved == nullptr || block == nullptr) return moved;
    detail::copy_block(moved, block, old_bytes < new_bytes ? old_bytes : new_bytes);
    self().deallocate(block);
    return moved;
  }
  // realloc without the old size, for allocators that know it (usable_size). Keeps the block if it
  // has new_bytes bytes and at most half of it becomes free.
  HEAPWOOD_INLINE void* realloc(void* block, std::size_t new_bytes) const {
    const std::size_t usable = block == nullptr ? 0 : self().usable_size(block);
    if (new_bytes <= usable && new_bytes >= usable / 2) return block;
    return realloc(block, usable, new_bytes);
  }

  // Allocates a block aligned to a power of two, which only aligned_free may free. Takes alignment
  // + 16 bytes more than malloc.
  HEAPWOOD_INLINE void* aligned_alloc(std::size_t alignment, std::size_t bytes) const {
    const detail::AlignedRequest request(alignment, bytes);
    return request.align(self().allocate(request.bytes()));
  }
  HEAPWOOD_INLINE void aligned_free(void* block) const {
    self().deallocate(detail::AlignedRequest::origin(block));
  }

  // Allocates and constructs a T; nullptr if there is no space. If the constructor throws, which
  // it can on CPU threads, the block is freed.
  template <class T, class... Args>
  HEAPWOOD_INLINE T* make(Args&&... args) const {
    void* block = nullptr;
    if constexpr (alignof(T) <= alloc::granule) {
      block = self().allocate(sizeof(T));
    } else {
      block = self().aligned_alloc(alignof(T), sizeof(T));
    }
    if (block == nullptr) return nullptr;
    FreeUnlessMade<T> guard{*this, block};
    T* const object = ::new (block) T(static_cast<Args&&>(args)...);
    guard.block = nullptr;
    return object;
  }
  // Destroys and frees an object of make<T>; nullptr is a no-op. T must not be a base class of it.
  template <class T>
  HEAPWOOD_INLINE void destroy(T* object) const {
    if (object == nullptr) return;
    object->~T();
    free_object<T>(const_cast<std::remove_cv_t<T>*>(object));
  }

  // Allocates one block for all 32 threads of the warp, which must call this together with the same
  // size; all receive its address. That is one request instead of 32. On CPU threads a warp is one
  // thread.
  HEAPWOOD_INLINE void* warp_malloc(std::size_t bytes) const {
    if constexpr (simt::this_thread_runs) {
      const simt::ThisThread thread;
      void* block = nullptr;
      if (thread.lane() == 0) block = self().allocate(bytes);
      block = thread.shfl(block, 0);
      thread.sync();
      return block;
    } else {
      detail::called_on_host("warp_malloc");
    }
  }
  // Frees a block of warp_malloc after all threads of the warp have called this.
  HEAPWOOD_INLINE void warp_free(void* block) const {
    if constexpr (simt::this_thread_runs) {
      const simt::ThisThread thread;
      thread.sync();
      if (thread.lane() == 0) self().deallocate(block);
    } else {
      detail::called_on_host("warp_free");
    }
  }

  // Calls of the members end here where malloc.hpp renames malloc and free by macros.
  template <class... Args>
  HEAPWOOD_INLINE void* heapwood_malloc(const Args&... args) const {
    return self().malloc(args...);
  }
  template <class... Args>
  HEAPWOOD_INLINE void heapwood_free(const Args&... args) const {
    self().free(args...);
  }
  template <class... Args>
  HEAPWOOD_INLINE void* heapwood_calloc(const Args&... args) const {
    return self().calloc(args...);
  }
  template <class... Args>
  HEAPWOOD_INLINE void* heapwood_realloc(const Args&... args) const {
    return self().realloc(args...);
  }

 private:
  template <class T>
  HEAPWOOD_INLINE void free_object(void* object) const {
    if constexpr (alignof(T) <= alloc::granule) {
      self().deallocate(object);
    } else {
      self().aligned_free(object);
    }
  }
  // Frees the block in its destructor if the constructor of T has thrown.
  template <class T>
  struct FreeUnlessMade {
    const handle_operations& operations;
    void* block;

    HEAPWOOD_INLINE ~FreeUnlessMade() {
      if (block != nullptr) operations.template free_object<T>(block);
    }
  };
  HEAPWOOD_INLINE const Handle& self() const { return static_cast<const Handle&>(*this); }
};

}  // namespace HEAPWOOD_TARGET
}  // namespace heapwood
