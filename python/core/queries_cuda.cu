// SPDX-License-Identifier: MIT
#include <thrust/execution_policy.h>
#include <thrust/sort.h>

#include "python/core/queries_impl.hpp"
#include "simt/cuda.hpp"

namespace heapwood::python {

void sort_keys(std::uint64_t* keys, std::size_t n) { thrust::sort(thrust::device, keys, keys + n); }

const Queries& cuda_queries() { return QueriesOf<simt::Cuda>::table; }

}  // namespace heapwood::python
