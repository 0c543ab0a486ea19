// SPDX-License-Identifier: MIT
#include "python/core/queries_impl.hpp"
#include "simt/cuda.hpp"

namespace heapwood::python {

const Queries& cuda_queries() { return QueriesOf<simt::Cuda>::table; }

}  // namespace heapwood::python
