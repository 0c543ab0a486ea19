// SPDX-License-Identifier: MIT
// The functions that every handle of a heap derives from its own malloc and free; a base class of
// the handle.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>

#include "heapwood/bytes.hpp"
#include "heapwood/host_call.hpp"
#include "simt/this_thread.hpp"

namespace heapwood {
inline namespace SIMT_TARGET {

// `Handle` derives from it and has malloc(bytes) and free(block).
template <class Handle>
class handle_operations {
 public:
  // count * size bytes, set to 0 by the calling thread.
  SIMT_INLINE void* calloc(std::size_t count, std::size_t size) const {
    const std::size_t bytes = detail::multiply_sizes(count, size);
    void* const block = self().malloc(bytes);
    if (block != nullptr) detail::clear_block(block, bytes);
    return block;
  }

  // Moves a block of old_bytes to one of new_bytes and frees it. If there is no space, returns
  // nullptr and keeps the old block. The size is an argument because a block has no header.
  SIMT_INLINE void* realloc(void* block, std::size_t old_bytes, std::size_t new_bytes) const {
    void* const moved = self().malloc(new_bytes);
    if (moved == nullptr || block == nullptr) return moved;
    detail::copy_block(moved, block, old_bytes < new_bytes ? old_bytes : new_bytes);
    self().free(block);
    return moved;
  }

  // A block aligned to a power of two, to be freed by aligned_free only. Takes alignment + 16 bytes
  // more than malloc.
  SIMT_INLINE void* aligned_alloc(std::size_t alignment, std::size_t bytes) const {
    const detail::AlignedRequest request(alignment, bytes);
    return request.place(self().malloc(request.bytes()));
  }
  SIMT_INLINE void aligned_free(void* block) const {
    self().free(detail::AlignedRequest::origin(block));
  }

  // Allocates and constructs a T; nullptr if there is no space. If the constructor throws, which it
  // can on CPU threads, the block is freed.
  template <class T, class... Args>
  SIMT_INLINE T* make(Args&&... args) const {
    void* block = nullptr;
    if constexpr (alignof(T) <= alloc::granule) {
      block = self().malloc(sizeof(T));
    } else {
      block = self().aligned_alloc(alignof(T), sizeof(T));
    }
    if (block == nullptr) return nullptr;
    FreeUnlessMade<T> guard{*this, block};
    T* const object = ::new (block) T(static_cast<Args&&>(args)...);
    guard.block = nullptr;
    return object;
  }
  // Destroys and frees an object of make<T>; nullptr is a no-op. Not through a pointer to a base
  // class.
  template <class T>
  SIMT_INLINE void destroy(T* object) const {
    if (object == nullptr) return;
    object->~T();
    free_object<T>(const_cast<std::remove_cv_t<T>*>(object));
  }

  // One block for all 32 threads of the warp, which must call together with the same size; all
  // receive its address. One request instead of 32. On CPU threads a warp is one thread.
  SIMT_INLINE void* warp_malloc(std::size_t bytes) const {
    if constexpr (simt::this_thread_runs) {
      const simt::ThisThread thread;
      void* block = nullptr;
      if (thread.lane() == 0) block = self().malloc(bytes);
      block = thread.shfl(block, 0);
      thread.sync();
      return block;
    } else {
      detail::called_on_host("warp_malloc");
    }
  }
  // Frees such a block after all threads of the warp have called.
  SIMT_INLINE void warp_free(void* block) const {
    if constexpr (simt::this_thread_runs) {
      const simt::ThisThread thread;
      thread.sync();
      if (thread.lane() == 0) self().free(block);
    } else {
      detail::called_on_host("warp_free");
    }
  }

 private:
  template <class T>
  SIMT_INLINE void free_object(void* object) const {
    if constexpr (alignof(T) <= alloc::granule) {
      self().free(object);
    } else {
      self().aligned_free(object);
    }
  }
  // Frees the block if the constructor throws.
  template <class T>
  struct FreeUnlessMade {
    const handle_operations& operations;
    void* block;

    SIMT_INLINE ~FreeUnlessMade() {
      if (block != nullptr) operations.template free_object<T>(block);
    }
  };
  SIMT_INLINE const Handle& self() const { return static_cast<const Handle&>(*this); }
};

}  // namespace SIMT_TARGET
}  // namespace heapwood
