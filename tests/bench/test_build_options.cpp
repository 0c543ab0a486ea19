// SPDX-License-Identifier: MIT
// Options of builds that are for some allocators or devices only: settings, --sms. The table of
// build kernels, and --profile of bench.

#include "bench/prepared_scene.hpp"
#include "bench/results/bench_table.hpp"
#include "bench/results/format.hpp"
#include "bench/results/json_report.hpp"
#include "tests/app/executable.hpp"

namespace heapwood::bench {
namespace {

BuildSettings parsed(const std::string& arguments) {
  BuildSettings settings;
  Program program("test", "", "", "");
  add_build_options(program, settings, true);
  add_multiprocessors_option(program, settings);
  tests::parse(program, arguments);
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

TEST(BuildOptions, AllocatorSettingsReachTheWorkspace) {
  BuildSettings settings;
  settings.pool = parse_pool("8M");
  settings.allocator.queue_slots = 5000;  // of the job, for all allocators
  PreparedScene scene("atrium:1k", simt::find_device("cpu", 1), settings, {});
  const registry::RegisteredAllocator& list = find_allocator("cfmmalloc:smallest=64");
  EXPECT_FALSE(scene.build(list).incomplete);
  alloc::AllocatorOptions options = scene.workspace().allocator_options();
  EXPECT_EQ(options.smallest_chunk, 64u);
  EXPECT_EQ(options.queue_slots, 5000u);
  EXPECT_TRUE(options.has_persistent_warps);
  for (const char* name : {"scatter:page=4K", "scatter:page=16K", "atomic"}) {
    EXPECT_FALSE(scene.build(find_allocator(name)).incomplete);
    options = scene.workspace().allocator_options();
    EXPECT_EQ(options.page_bytes, find_allocator(name).options.page_bytes);
    EXPECT_EQ(options.smallest_chunk, 0u);
  }
}

// `bench --resume` and `compare` tell results with different settings apart.
TEST(BuildOptions, AllocatorSettingsAreInTheReportIfTheyWereGiven) {
  Result result;
  result.settings = parsed("--sms 3");
  EXPECT_EQ(to_json(result.settings).at("multiprocessors"), 3);
  for (const char* key : {"page_bytes", "smallest_chunk", "chunk_search", "multiprocessors"})
    EXPECT_FALSE(to_json(BuildSettings{}).contains(key)) << key;
  EXPECT_EQ(to_json(BuildSettings{}).contains("uncapped"), !kdtree::limits_registers);
  for (const registry::RegisteredAllocator& entry : registry::allocators()) {
    for (const alloc::AllocatorSetting& setting : entry.settings()) {
      alloc::AllocatorOptions& options = result.settings.allocator = {};
      setting.set(options, setting.words ? 1 : setting.min);
      const Json json = to_json(result);
      EXPECT_TRUE(json.at("settings").contains(setting.json)) << setting.json;
      const Result read = result_from_json(json);
      EXPECT_EQ(setting.get(read.settings.allocator), setting.get(options)) << setting.json;
      EXPECT_EQ(read.settings.multiprocessors, 3u);
      EXPECT_NE(to_json(result.settings), to_json(parsed("--sms 3")));
    }
  }
}

TEST(BuildOptions, WrongNumbersAreRefused) {
  for (const char* arguments : {"--sms 0", "--sms many"})
    EXPECT_THROW(parsed(arguments), Error) << arguments;
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
