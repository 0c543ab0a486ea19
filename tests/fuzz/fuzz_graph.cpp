// SPDX-License-Identifier: MIT
// The first byte chooses the reader; the rest is the file. It gives a valid graph of bounded size
// or Error{Exit::scene} with a one-line text; otherwise the process aborts.
#include <cstdlib>
#include <string_view>

#include "simt/error.hpp"
#include "tests/workloads/graph_input.hpp"
#include "workloads/graph/read_graph.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace heapwood;
  using namespace heapwood::workloads::graph;
  if (size == 0) return 0;
  const auto parse = data[0] % 3 == 0   ? parse_matrix_market
                     : data[0] % 3 == 1 ? parse_metis
                                        : parse_edge_list;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    if (!testing::find_fault(parse(text, "file"), text.size()).empty()) std::abort();
  } catch (const Error& error) {
    if (error.exit() != Exit::scene || !testing::is_well_formed(error.what())) std::abort();
  }
  return 0;
}
