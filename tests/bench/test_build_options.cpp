// SPDX-License-Identifier: MIT
// Options of builds that are for some allocators or devices only: sizes, --sms. The table of build
// kernels, and --profile of bench.
#include <CLI/CLI.hpp>

#include "bench/prepared_scene.hpp"
#include "bench/results/bench_table.hpp"
#include "bench/results/format.hpp"
#include "bench/results/json_report.hpp"
#include "tests/app/executable.hpp"

namespace heapwood::bench {
namespace {

BuildSettings parsed(const std::string& arguments) {
  BuildSettings settings;
  CLI::App app;
  add_build_options(app, settings, true);
  add_multiprocessors_option(app, settings);
  app.parse(arguments);
  return settings;
}

std::string refusal(const BuildSettings& settings, const simt::DeviceInfo& device) {
  try {
    check_multiprocessors(settings, device);
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::usage);
    return error.what();
  }
  return "";
}

TEST(BuildOptions, SizesReachTheAllocator) {
  const BuildSettings settings = parsed(
      "--smallest-chunk 64 --presplit uniform --chunk-bytes 4K --queue-slots 5000 "
      "--chunk-search lowest --page-bytes 16K");
  PreparedScene scene("atrium:1k", simt::find_device("cpu", 1), settings, {});
  const alloc::AllocatorOptions options = scene.workspace().allocator_options();
  EXPECT_EQ(options.smallest_chunk, 64u);
  EXPECT_EQ(options.presplit, alloc::AllocatorOptions::Presplit::uniform);
  EXPECT_EQ(options.chunk_bytes, 4096u);
  EXPECT_EQ(options.queue_slots, 5000u);
  EXPECT_EQ(options.chunk_search, alloc::AllocatorOptions::ChunkSearch::lowest);
  EXPECT_EQ(options.page_bytes, 16384u);
  EXPECT_TRUE(options.has_persistent_warps);
}

TEST(BuildOptions, SizesAreInTheReportIfTheyWereGiven) {
  const Json given = to_json(parsed("--chunk-bytes 1K --sms 8")), none = to_json(BuildSettings{});
  EXPECT_EQ(given.at("chunk_bytes"), 1024);
  EXPECT_EQ(given.at("multiprocessors"), 8);
  for (const char* key : {"smallest_chunk", "presplit", "chunk_bytes", "queue_slots",
                          "chunk_search", "multiprocessors"})
    EXPECT_FALSE(none.contains(key)) << key;
  EXPECT_EQ(none.contains("uncapped"), !kdtree::limits_registers);
  Result result;
  result.settings = parsed("--smallest-chunk 32 --queue-slots 77 --chunk-search lowest --sms 3");
  const Result read = result_from_json(to_json(result));
  EXPECT_EQ(read.settings.sizes, result.settings.sizes);
  EXPECT_EQ(read.settings.multiprocessors, 3u);
}

// `bench --resume` and `compare` tell results with different pre-splits apart by their settings.
TEST(BuildOptions, ThePresplitIsInTheReport) {
  Result result;
  for (const char* arguments : {"--presplit uniform", "--presplit heap", ""}) {
    result.settings = parsed(arguments);
    const Json json = to_json(result);
    EXPECT_EQ(json.at("settings").value("presplit", "heap"), name(result.settings.sizes.presplit));
    EXPECT_EQ(result_from_json(json).settings.sizes, result.settings.sizes);
  }
  EXPECT_NE(to_json(parsed("--presplit uniform")), to_json(parsed("")));
}

TEST(BuildOptions, WrongSizesAreRefused) {
  for (const char* arguments :
       {"--chunk-bytes 3000", "--chunk-bytes 128", "--chunk-bytes 16K", "--smallest-chunk 8",
        "--smallest-chunk 48", "--presplit even", "--chunk-search first"})
    EXPECT_THROW(parsed(arguments), Error) << arguments;
  for (const char* arguments : {"--queue-slots 31", "--sms 0", "--sms many"})
    EXPECT_THROW(parsed(arguments), CLI::ValidationError) << arguments;
}

TEST(BuildOptions, MultiprocessorsAreOfGpusAndOfTheSingleKernel) {
  simt::DeviceInfo gpu;
  gpu.id.kind = simt::DeviceKind::cuda;
  gpu.key = "cuda:0";
  gpu.multiprocessors = 132;
  BuildSettings settings = parsed("--sms 8");
  EXPECT_EQ(refusal(settings, gpu), "");
  EXPECT_NE(refusal(settings, simt::find_device("cpu", 1)).find("--threads"), std::string::npos);
  settings.builder = Builder::both;
  EXPECT_NE(refusal(settings, gpu).find("--builder single"), std::string::npos);
  settings = parsed("--sms 133");
  EXPECT_NE(refusal(settings, gpu).find("132"), std::string::npos);
}

TEST(KernelTable, ShowsRegistersOfEachAllocatorOnce) {
  std::vector<Result> results;
  for (const char* scene : {"a", "b"}) {
    for (const int registers : {64, 96}) {
      Result result;
      result.source = result.scene = scene;
      result.allocator = result.label = registers == 64 ? "light" : "heavy";
      result.status = Status::ok;
      result.runs_ms = {1.5};
      result.kernel = registry::KernelUse{registers, 32, 4096, 20};
      results.push_back(result);
    }
  }
  results.back().status = Status::failed;
  const Table table = kernel_table(results);
  ASSERT_EQ(table.columns.size(), 6u);
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(table.rows[1].cells[0].text, "heavy");
  EXPECT_EQ(table.rows[1].cells[1].text, "96");
  EXPECT_EQ(table.rows[1].cells[3].text, "20");
  EXPECT_EQ(table.rows[0].cells[5].text, "1.50");
  EXPECT_EQ(table.rows[1].cells[5].text, missing);
  for (Result& result : results) result.kernel.reset();
  EXPECT_TRUE(kernel_table(results).columns.empty());
}

class SharesCommand : public tests::Executable {};

TEST_F(SharesCommand, AllocatorsWithoutAProbeHaveTheSavedTime) {
  const std::string file = folder_ / "shares.json";
  const char* const other = registry::find("cfmmalloc") ? "cfmmalloc" : "heapwood-general";
  const bool has_fdg = registry::find("fdg") != nullptr;  // cannot build
  const tests::Outcome done =
      run({"bench", "atrium:1k", "--runs", "2", "--device", "cpu", "--threads", "2", "--profile",
           file, "--allocators", std::string("heapwood,") + other + (has_fdg ? ",fdg" : "")});
  ASSERT_EQ(done.exit, 0) << done.err;
  for (const char* text : {"share of malloc and free", "saved", "depth of the node"})
    EXPECT_NE(done.out.find(text), std::string::npos) << text << done.out;
  const Json json = Json::parse(tests::read_file(file));
  ASSERT_EQ(json.at("results").size(), has_fdg ? 3u : 2u);
  const Json &heapwood = json["results"][0], &without = json["results"][1];
  EXPECT_EQ(heapwood.at("pool_bytes"), without.at("pool_bytes"));
  EXPECT_GT(heapwood.at("allocator_share").at("of_work"), 0);
  EXPECT_GT(heapwood.at("levels")[0].at("visits").size(), 0u);
  EXPECT_EQ(without.at("runs_ms").size(), 2u);
  EXPECT_EQ(without.at("allocator_share").at("without_cost_ms").size(), 2u);
  if (has_fdg) {
    EXPECT_EQ(json["results"][2].at("status"), "skipped");
  }
  EXPECT_EQ(run({"bench", "atrium:1k", "--profile", file, "--refs", "ids"}).exit, 2);
}

}  // namespace
}  // namespace heapwood::bench
