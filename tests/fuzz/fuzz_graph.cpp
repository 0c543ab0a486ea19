// SPDX-License-Identifier: MIT
// The first byte chooses the reader; the rest is the file. It gives a valid graph of bounded size,
// or is rejected with one line.
#include "tests/fuzz/fuzz.hpp"
#include "tests/workloads/graph_input.hpp"
#include "workloads/graph/source.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace heapwood;
  using namespace heapwood::workloads::graph;
  if (size == 0) return 0;
  const auto parse = data[0] % 3 == 0   ? parse_matrix_market
                     : data[0] % 3 == 1 ? parse_metis
                                        : parse_edge_list;
  const std::string_view text = fuzz::text_of(data + 1, size - 1);
  return fuzz::run([&] {
    if (!testing::find_fault(parse(text, "file"), text.size()).empty()) std::abort();
  });
}
