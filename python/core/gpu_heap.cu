// SPDX-License-Identifier: MIT
#include "python/core/gpu_heap.hpp"

#include <bit>

#include "heapwood/heap.hpp"
#include "simt/stream_device.hpp"

namespace heapwood::python {

namespace {

class Heap final : public GpuHeap {
 public:
  // The heap is created on the current device.
  Heap(std::size_t bytes, std::size_t max_bytes)
      : heap_(max_bytes == 0 ? heap(bytes, {}, {{}, true})
                             : heap(heap_size{bytes, max_bytes}, {}, {{}, true})) {}

  std::string handle() const override {
    const heap_handle handle = heap_.handle();
    return {reinterpret_cast<const char*>(&handle), sizeof(handle)};
  }
  std::uintptr_t address() const override { return std::bit_cast<std::uintptr_t>(heap_.ref()); }
  std::vector<std::uint64_t> stats() const override {
    const heap_stats s = heap_.stats();
    return {s.bytes, s.max_request, s.full, s.too_large, s.first_refused_bytes,
            s.used,  s.free,        s.held, s.metadata,  s.largest_hole};
  }
  void reset(std::uintptr_t stream) override {
    heap_.reset(reinterpret_cast<cudaStream_t>(stream));
  }
  bool make_room(std::size_t bytes) override { return heap_.make_room(bytes); }
  void shrink() override { heap_.shrink(); }

 private:
  heap heap_;
};

}  // namespace

std::unique_ptr<GpuHeap> make_gpu_heap(int gpu, std::size_t bytes, std::size_t max_bytes) {
  const simt::stream_detail::CurrentDevice current(gpu);
  return std::make_unique<Heap>(bytes, max_bytes);
}

}  // namespace heapwood::python
