// SPDX-License-Identifier: MIT
// Strings of a table with one block each: in every step a thread makes the new string of its row
// and frees the old one. The code of a row is that of `heapwood strings`.
#include <cstdio>
#include <heapwood/heap.hpp>
#include <heapwood/parallel.hpp>

#include "workloads/strings/text.hpp"

namespace strings = heapwood::workloads::strings;
using strings::Byte;
using strings::Step;
using strings::Text;

struct MakeStrings {
  heapwood::heap_handle heap;
  Text* rows;
  Step step;

  HEAPWOOD_DEVICE void operator()(unsigned row) const {
    // "heap", U+0149, "water". Words are read as a whole, so the array ends with one.
    alignas(8) const Byte input[16] = {'h', 'e', 'a', 'p', 0xc5, 0x89, 'w', 'a', 't', 'e', 'r'};
    const Text second{input, 11}, old = step == Step::load ? second : rows[row];
    strings::Sizes needs;
    strings::put_row(step, old, second, needs);
    auto* const block = static_cast<Byte*>(heap.malloc(needs.bytes));
    if (block == nullptr) return;  // the row keeps its old string
    strings::ByteWriter to(block);
    strings::put_row(step, old, second, to);
    to.finish();
    if (step != Step::load) heap.free(const_cast<Byte*>(old.at));
    rows[row] = Text{block, needs.bytes};
  }
};

// Counts the characters that are as expected, and frees the strings.
struct CheckAndFree {
  heapwood::heap_handle heap;
  Text* rows;
  unsigned* right;

  HEAPWOOD_DEVICE void operator()(unsigned row) const {
    const char expected[] = "HEAP\xca\xbcNWAT[error] heap\xc5\x89water";
    for (unsigned i = 0; i < rows[row].bytes && i + 1 < sizeof expected; ++i)
      right[row] += rows[row].at[i] == static_cast<Byte>(expected[i]);
    heap.free(const_cast<Byte*>(rows[row].at));
  }
};

int main() {
  constexpr unsigned count = 10000, bytes = 29;
  heapwood::heap heap(16 << 20);
  heapwood::shared_array<Text> rows(count);
  heapwood::shared_array<unsigned> right(count);
  for (const Step step : {Step::load, Step::upper, Step::concatenate, Step::replace})
    heapwood::for_each_thread(count, MakeStrings{heap.handle(), rows.data(), step});
  heapwood::for_each_thread(count, CheckAndFree{heap.handle(), rows.data(), right.data()});
  unsigned all = 0;
  for (unsigned row = 0; row < count; ++row) all += right[row] == bytes;
  std::printf("%u of %u strings are right\n", all, count);
  return all == count && heap.report_leaks() == 0 ? 0 : 1;
}
