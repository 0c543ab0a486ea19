// SPDX-License-Identifier: MIT
// Two results files, separated by a line "====", for `compare` and `merge`: rejected with a
// one-line error, or compared and merged; what merge wrote can be read and merged again.
#include "bench/compare/compare.hpp"
#include "bench/results/format.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace {

using namespace heapwood;

template <class Use>
void try_to(const Use& use) {
  try {
    use();
  } catch (const Error& error) {
    if (!fuzz::is_one_line(error.what())) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::InputFile first(0), second(1), merged_file(2);
  const std::string_view text = fuzz::text_of(data, size), separator = "====\n";
  const std::size_t end = std::min(text.find(separator), size);
  const std::size_t begin = std::min(end + separator.size(), size);
  first.set(text.substr(0, end));
  second.set(text.substr(begin));
  try_to([&] {
    const bench::ResultsFile older = bench::read_results(first.path());
    const bench::ResultsFile newer = bench::read_results(second.path());
    try_to([&] {
      const bench::Comparison comparison = bench::compare_results(older, newer, {}, true);
      bench::compare_table(comparison);
      const bench::Json report = bench::compare_report(comparison, older, newer);
      bench::table_of_json(report["cells"], bench::compare_columns);
      bench::json_text(report);
      bench::summary_text(comparison);
    });
    const bench::Merged merged = bench::merge_results({}, {older, newer}, true);
    merged_file.set(bench::json_text(merged.json));
    bench::ResultsFile again;
    try {
      again = bench::read_results(merged_file.path());
    } catch (const Error&) {
      std::abort();
    }
    if (bench::merge_results(again, {older, newer}, true).results != merged.results) std::abort();
  });
  return 0;
}
