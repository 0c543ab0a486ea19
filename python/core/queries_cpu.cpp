// SPDX-License-Identifier: MIT
#include "python/core/queries_impl.hpp"
#include "simt/cpu.hpp"

namespace heapwood::python {

const Queries& cpu_queries() { return QueriesOf<simt::Cpu>::table; }

}  // namespace heapwood::python
