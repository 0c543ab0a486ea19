// SPDX-License-Identifier: MIT
#include <cub/device/device_radix_sort.cuh>

#include "simt/cuda.hpp"
#include "workloads/graph/device_steps_run.hpp"
#include "workloads/prefix_sum.cuh"

namespace heapwood::workloads::graph::steps_cuda {

namespace {

// Sorts by the radix sort of the CUDA toolkit, over as many bits as vertex numbers have.
class CudaSorter : public CudaScan {
 public:
  double sort(const simt::Cuda& device, EdgeKey*& keys, EdgeKey*& spare, std::uint64_t count,
              unsigned bits) {
    cub::DoubleBuffer<EdgeKey> buffer(keys, spare);
    const auto pass = [&](void* memory, std::size_t& bytes, unsigned first) {
      simt::check_cuda(
          cub::DeviceRadixSort::SortKeys(memory, bytes, buffer, count, static_cast<int>(first),
                                         static_cast<int>(first + bits)),
          "sorting edges");
    };
    std::size_t bytes = 0;
    pass(nullptr, bytes, 0);
    reserve(device, bytes);
    const double ms = timed("sorting edges", [&] {
      pass(memory_.data(), bytes, 0);   // by destination
      pass(memory_.data(), bytes, 32);  // then by source, which keeps that order
    });
    keys = buffer.Current();
    spare = buffer.Alternate();
    return ms;
  }
};

}  // namespace

std::unique_ptr<DeviceSteps> device_steps(const simt::DeviceId& device, double seconds) {
  return std::make_unique<steps_detail::StepsOn<simt::Cuda, CudaSorter>>(simt::Cuda(device),
                                                                         seconds);
}

}  // namespace heapwood::workloads::graph::steps_cuda
