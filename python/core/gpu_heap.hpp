// SPDX-License-Identifier: MIT
// A heap of the library on a GPU (include/heapwood/heap.hpp), for kernels that Python programs
// compile themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace heapwood::python {

class GpuHeap {
 public:
  virtual ~GpuHeap() = default;
  GpuHeap(GpuHeap&&) = delete;

  // The bytes of a heapwood::heap_handle, and the address of a copy of it in the GPU's memory.
  virtual std::string handle() const = 0;
  virtual std::uintptr_t address() const = 0;
  // HeapStats (python/heapwood/_heap.py): the members of heapwood::heap_stats, in this order.
  virtual std::vector<std::uint64_t> stats() const = 0;
  // `stream`: a cudaStream_t.
  virtual void reset(std::uintptr_t stream) = 0;
  virtual bool make_room(std::size_t bytes) = 0;
  virtual void shrink() = 0;

 protected:
  GpuHeap() = default;
};

// `max_bytes`: 0 for a heap of fixed size. Throws Error{Exit::device} if there is no such GPU.
std::unique_ptr<GpuHeap> make_gpu_heap(int gpu, std::size_t bytes, std::size_t max_bytes);

}  // namespace heapwood::python
