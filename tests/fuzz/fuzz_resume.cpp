// SPDX-License-Identifier: MIT
// The results file that bench --resume continues. It is rejected with a one-line error, or gives
// results of which a new file is made that reads back.
#include "bench/bench_runner.hpp"
#include "registry/registry.hpp"
#include "tests/fuzz/fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace heapwood;
  static const fuzz::InputFile file;
  static const bench::BenchJob job = [] {
    bench::BenchJob made;
    made.scenes = {"statue:1k"};
    made.allocators = {registry::find("atomic"), registry::find("heapwood")};
    made.settings.pool = bench::parse_pool("1M");
    made.settings.runs = 2;
    made.device = simt::find_device("cpu", 2);
    made.device.name = "CPU";
    return made;
  }();
  file.set(fuzz::text_of(data, size));
  try {
    const bench::Earlier<bench::Result> earlier = bench::read_earlier_results(file.path(), job);
    bench::Json report = bench::bench_report({"heapwood"}, job.device, earlier.kept);
    bench::add_earlier(report, earlier.results);
    const std::string text = bench::json_text(report);
    if (bench::Json::parse(text) != report) std::abort();
    for (const bench::Result& result : earlier.kept) {
      if (bench::result_from_json(bench::to_json(result)).allocator != result.allocator)
        std::abort();
    }
  } catch (const Error& error) {
    if (!fuzz::is_one_line(error.what())) std::abort();
  }
  return 0;
}
