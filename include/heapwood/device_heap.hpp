// SPDX-License-Identifier: MIT
// The heap that malloc.hpp and operator_new.hpp use in device code. The host selects it:
//
//   heapwood::heap heap(1ull << 28);
//   heapwood::set_device_heap(heap);      // before the first kernel, once for all source files
//
// While none is selected, device code gets CUDA's own memory, and a block that the heap does not
// own is returned to CUDA at any time. With a host compiler, code inside for_each_thread
// (parallel.hpp) or a device_scope counts as device code, and the C library has CUDA's part. The
// heap must outlive its blocks.
//
// For a heap of another type, include its header and define HEAPWOOD_HEAP_OF_NEW before, in the
// same way in every file: #define HEAPWOOD_HEAP_OF_NEW heapwood::recording_heap.
#pragma once

#include "simt/config.hpp"  // first

#include <cstddef>
#include <cstdlib>
#include <vector>

#if !defined(__CUDACC_RTC__)
#include "heapwood/heap.hpp"
#else
#include "heapwood/heap_handle.hpp"
#endif

#if !defined(HEAPWOOD_HEAP_OF_NEW)
#define HEAPWOOD_HEAP_OF_NEW heapwood::heap
#endif

namespace heapwood {
inline namespace HEAPWOOD_TARGET {

namespace device_heap {

#if defined(__CUDACC_RTC__)
// NVRTC: the host writes the handle to the module's variable of this name (cuModuleGetGlobal).
using handle_type = heap_handle;
extern "C" {
__constant__ handle_type heapwood_device_heap;
}
static constexpr const handle_type& selected = heapwood_device_heap;
#else
using heap_type = HEAPWOOD_HEAP_OF_NEW;
using handle_type = heap_type::handle_type;
#endif

#if defined(__CUDACC_RTC__)
#elif defined(__CUDACC_RDC__)
inline __constant__ handle_type selected;
#elif defined(__CUDACC__)
// Without -rdc=true each source file has device code, and so a variable, of its own.
static __constant__ handle_type selected;
#else
inline handle_type selected;
#endif

#if defined(__CUDACC__) && !defined(__CUDACC_RTC__)
// For each source file the function that copies a handle to its `selected`.
template <class Handle>
std::vector<void (*)(const Handle&, stream_handle)>& all_sources() {
  static std::vector<void (*)(const Handle&, stream_handle)> all;
  return all;
}
static void select_here(const handle_type& handle, stream_handle stream) {
  simt::check_stream(
      cudaMemcpyToSymbolAsync(selected, &handle, sizeof(handle), 0, cudaMemcpyHostToDevice, stream),
      "set_device_heap");
}
[[maybe_unused]] static const bool is_listed =
    (all_sources<handle_type>().push_back(select_here), true);
#endif

#if defined(__CUDA_ARCH__) || !defined(__CUDACC__)
HEAPWOOD_INLINE bool is_selected() { return selected.max_request() != 0; }

// Allocates a block in device code: from the selected heap or, if there is none, from CUDA. CUDA's
// blocks are aligned to 16, so nullptr for a larger alignment.
HEAPWOOD_FN inline void* allocate(std::size_t bytes, std::size_t alignment) {
  if (!is_selected()) return alignment <= alloc::granule ? ::malloc(bytes) : nullptr;
  return alignment <= alloc::granule ? selected.malloc(bytes)
                                     : selected.aligned_alloc(alignment, bytes);
}
HEAPWOOD_FN inline void deallocate(void* block, std::size_t alignment) {
  if (!is_selected() || !selected.owns(block)) return ::free(block);
  return alignment <= alloc::granule ? selected.free(block) : selected.aligned_free(block);
}
#endif

// Whether this call counts as one in device code.
HEAPWOOD_INLINE bool is_device_call() {
#if defined(__CUDA_ARCH__)
  return true;
#elif defined(__CUDACC__)
  return false;
#else
  return device_scope::is_active() && is_selected();
#endif
}

}  // namespace device_heap

#if !defined(__CUDACC_RTC__)
// Selects the heap for later kernels, in the order of the stream. An empty handle {} selects none.
inline void set_device_heap(const device_heap::handle_type& handle,
                            [[maybe_unused]] stream_handle stream = {}) {
#if defined(__CUDACC__)
  for (const auto select : device_heap::all_sources<device_heap::handle_type>())
    select(handle, stream);
#else
  device_heap::selected = handle;
#endif
}
inline void set_device_heap(const device_heap::heap_type& heap, stream_handle stream = {}) {
  set_device_heap(heap.handle(), stream);
}
#endif

}  // namespace HEAPWOOD_TARGET
}  // namespace heapwood
