// SPDX-License-Identifier: MIT
// Numbers in JSON that may have been edited, lack of memory, the fastest of several candidates, the
// device record of reports, and results of earlier runs.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bench/compare/compare.hpp"
#include "bench/earlier_results.hpp"
#include "bench/results/format.hpp"
#include "bench/results/json.hpp"
#include "bench/results/json_report.hpp"
#include "tests/errors.hpp"
#include "tests/folder.hpp"
#include "tests/simt/fake_nvml.hpp"

namespace heapwood::bench {
namespace {

TEST(Json, IntegersAreReadOnlyFromIntegersThatFit) {
  const Json json = Json::parse(R"({"huge": 1.25e72, "large": 5000000000, "negative": -1,
                                    "fraction": 1.5, "text": "1", "good": 7})");
  EXPECT_EQ(json.at("good").get<std::uint64_t>(), 7u);
  EXPECT_EQ(json.at("good").get<int>(), 7);
  EXPECT_EQ(json.at("large").get<std::uint64_t>(), 5'000'000'000u);
  EXPECT_EQ(json.at("negative").get<int>(), -1);
  EXPECT_EQ(json.value("absent", 3u), 3u);
  EXPECT_THROW(json.at("large").get<std::uint32_t>(), std::out_of_range);
  EXPECT_THROW(json.value("large", 3u), std::out_of_range);
  EXPECT_THROW(json.at("negative").get<std::uint64_t>(), std::out_of_range);
  for (const char* key : {"huge", "fraction", "text"})
    EXPECT_THROW(json.at(key).get<std::uint64_t>(), std::out_of_range) << key;
}
TEST(Json, OtherNumbersAreReadFromAny) {
  const Json json = Json::parse(R"([7, 1.25e72, true, [1, 2.5]])");
  EXPECT_EQ(json.at(0).get<double>(), 7);
  EXPECT_EQ(json.at(1).get<double>(), 1.25e72);
  EXPECT_TRUE(json.at(2).get<bool>());
  EXPECT_EQ(json.at(3).get<std::vector<double>>(), (std::vector<double>{1, 2.5}));
}

TEST(Json, EqualityIgnoresTheOrderOfKeysAndTheKindOfNumbers) {
  const Json a = Json::parse(R"({"x": 1, "y": [true, null, -2.0]})"),
             b{{"y", {true, nullptr, -2}}, {"x", 1.0}};
  EXPECT_EQ(a, b);
  EXPECT_EQ(sorted_text(Json::parse(R"({"b": 1, "a": 2})")), R"({"a":2,"b":1})");
  EXPECT_NE(a, Json::parse(R"({"x": 1, "y": [true, null, -3]})"));
  EXPECT_NE(a, Json::parse(R"({"x": 1})"));
}

TEST(Json, TextSurvives) {
  const std::string text =
      "{\"a\":1.5,\"big\":18446744073709551615,\"n\":-3,\"s\":\"\\u00fc\\\"\"}";
  EXPECT_EQ(Json::parse(text).dump(), text);
  EXPECT_EQ(Json("\xff").dump(), "\"\\ufffd\"");
  EXPECT_THROW(Json::parse(std::string(101, '[') + std::string(101, ']')), std::runtime_error);
  for (const char* wrong : {"", "{", "[1,]", "{\"a\" 1}", "nul", "1e999"})
    EXPECT_THROW(Json::parse(wrong), std::runtime_error) << wrong;
}

TEST(Json, FilesCompressedByGzipAreRead) {
  const tests::Folder folder;
  // A header with a name, one stored block, an unused checksum, the size.
  const std::string text = R"({"a":[1,2]})", size{static_cast<char>(text.size()), '\0'};
  std::string file = std::string("\x1f\x8b\x08\x08\0\0\0\0\0\3a.json\0\1", 18) + size +
                     static_cast<char>(~size[0]) + '\xff' + text + "sums" + size + '\0' + '\0';
  EXPECT_EQ(read_json(folder.write("a.json.gz", file)), Json::parse(text));
  file[file.size() - 4] ^= 1;
  for (const std::string& bad : {file, file.substr(0, 30), file.substr(0, 5)}) {
    tests::expect_error(Exit::scene, {"a.json.gz", "gzip"},
                        [&] { read_json(folder.write("a.json.gz", bad), Exit::scene); });
  }
}

// A median of fewer samples says nothing about their spread.
TEST(ClearlyFastest, NeedsTwoWithThreeSamplesEach) {
  const std::vector<double> three{1, 1, 1}, slower{3, 3, 3}, two{3, 3};
  EXPECT_EQ(clearly_fastest({&three, &slower}), 0u);
  EXPECT_FALSE(clearly_fastest({&three, &two}));
  EXPECT_FALSE(clearly_fastest({&two, &slower}));
  EXPECT_FALSE(clearly_fastest({&three}));
  EXPECT_FALSE(clearly_fastest({}));
}

// The device record in reports, with a library that stands for NVML.

using tests::FakeNvml;

class DeviceRecords : public testing::Test {
 protected:
  DeviceRecords() {
    gpu_.id.kind = simt::DeviceKind::cuda;
    gpu_.key = "cuda:3";
    gpu_.name = "A GPU";
  }
  ~DeviceRecords() override { begin_device_record(gpu_, std::nullopt); }
  void begin() {
    begin_device_record(gpu_, simt::GpuRecord(nvml_, {FakeNvml::bus_id, "GPU-0123"}));
  }

  FakeNvml fake_{"clock=345"};
  simt::Nvml nvml_{FakeNvml::library};
  simt::DeviceInfo gpu_;
};

TEST_F(DeviceRecords, AreInEveryReport) {
  begin();
  fake_.answer("clock=1980;temperature=61;pids=self,7;reasons=0;limited0=250000");
  const Json report = report_head(bench_schema, {"heapwood", "bench"}, gpu_);
  const Json& record = report.at("device_record");
  EXPECT_EQ(record.at("uuid_hash"), uuid_hash("GPU-0123"));
  EXPECT_EQ(report.dump().find("GPU-0123"), std::string::npos);
  EXPECT_EQ(record.at("driver_version"), "580.82.07");
  EXPECT_EQ(record.at("mig"), false);
  EXPECT_EQ(record.at("ecc"), true);
  EXPECT_EQ(record.at("power_limit_w"), 700);
  EXPECT_EQ(record.at("before").at("sm_clock_mhz"), 345);
  const Json& after = record.at("after");
  EXPECT_EQ(after.at("sm_clock_mhz"), 1980);
  EXPECT_EQ(after.at("memory_clock_mhz"), 2619);
  EXPECT_EQ(after.at("temperature_c"), 61);
  EXPECT_EQ(after.at("power_w"), 120.5);
  EXPECT_EQ(after.at("performance_state"), 0);
  EXPECT_EQ(after.at("other_processes"), 1);
  EXPECT_EQ(after.at("clock_reasons"), Json::array());
  EXPECT_EQ(record.at("limited_ms").at("thermal"), 0);
  EXPECT_FALSE(report.at("device").contains("device_record"));
  // There is no record if it was begun for another device, or for none.
  simt::DeviceInfo other = gpu_;
  other.key = "cuda:4";
  EXPECT_FALSE(report_head(bench_schema, {}, other).contains("device_record"));
  begin_device_record(simt::find_device("cpu"));
  EXPECT_FALSE(report_head(bench_schema, {}, simt::find_device("cpu")).contains("device_record"));
}

TEST_F(DeviceRecords, ThrottlingIsAWarning) {
  begin();
  testing::internal::CaptureStderr();
  warn_if_throttled();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_FALSE(device_record(gpu_).contains("throttled"));
  fake_.answer("reasons=0x48");
  const Json record = device_record(gpu_);
  EXPECT_EQ(record.at("throttled"), Json({"hardware slowdown", "hardware thermal slowdown"}));
  testing::internal::CaptureStderr();
  warn_if_throttled();
  const std::string line = testing::internal::GetCapturedStderr();
  EXPECT_EQ(line.rfind("heapwood: warning: cuda:3: ", 0), 0u) << line;
  tests::expect_words(line, {"hardware thermal slowdown", record.at("warning")});
}

TEST_F(DeviceRecords, HaveOnlyTheHashWithoutNvml) {
  const simt::Nvml none("");
  begin_device_record(gpu_, simt::GpuRecord(none, {FakeNvml::bus_id, "GPU-0123"}));
  EXPECT_EQ(device_record(gpu_), Json({{"uuid_hash", uuid_hash("GPU-0123")}}));
  begin_device_record(gpu_, simt::GpuRecord(none, {}));
  EXPECT_FALSE(report_head(bench_schema, {}, gpu_).contains("device_record"));
}

// The results of a continued file are from two processes.
TEST_F(DeviceRecords, EarlierRecordsStay) {
  begin();
  fake_.answer("reasons=4");
  Json first = report_head(bench_schema, {}, gpu_);
  fake_.answer("reasons=0");
  begin();
  keep_earlier_record(first);
  const Json second = report_head(bench_schema, {}, gpu_);
  begin();
  keep_earlier_record(second);
  const Json third = report_head(bench_schema, {}, gpu_);
  const Json& earlier = third.at("device_record").at("earlier");
  ASSERT_EQ(earlier.size(), 2u);
  EXPECT_FALSE(earlier[0].contains("throttled"));
  EXPECT_TRUE(earlier[1].contains("throttled"));
  EXPECT_FALSE(earlier[0].contains("earlier"));
  EXPECT_EQ(device_records_in(third).size(), 3u);
  EXPECT_EQ((ResultsFile{"x", bench_schema, third}).recorded("warning").size(), 1u);
  // A file that another program has changed.
  for (const char* text : {R"({"device_record":7})", R"({"device_record":{"earlier":[3]}})",
                           R"({"shards":3,"runs":[1]})", "{}"}) {
    keep_earlier_record(Json::parse(text));
    device_records_in(Json::parse(text));
  }
  EXPECT_TRUE(device_record(gpu_).is_object());
}

TEST(DeviceRecordHash, TellsGpusApart) {
  EXPECT_EQ(uuid_hash(""), "");
  EXPECT_EQ(uuid_hash("GPU-1").size(), 16u);
  EXPECT_NE(uuid_hash("GPU-1"), uuid_hash("GPU-2"));
  EXPECT_EQ(uuid_hash("a"), "af63dc4c8601ec8c");  // FNV-1a's test vector
}

// --resume: an earlier result stays until the new one has as many runs; a file has one result per
// measurement.

Json result(const char* source, const char* status, std::size_t runs) {
  return {{"source", source},      {"builder", "single-kernel"},
          {"allocator", "atomic"}, {"settings", {{"runs", 9}}},
          {"status", status},      {"runs_ms", std::vector<double>(runs, 1.0)}};
}

// The number of runs of each result after add_earlier().
std::vector<std::size_t> kept(std::vector<Json> now, const std::vector<Json>& earlier) {
  Json report{{"results", now}};
  add_earlier(report, earlier);
  std::vector<std::size_t> runs;
  for (const Json& one : report["results"]) runs.push_back(one["runs_ms"].size());
  return runs;
}

TEST(EarlierResults, StayUntilTheNewOnesAreAsGood) {
  using Runs = std::vector<std::size_t>;
  const Json five = result("a", "ok", 5);
  EXPECT_EQ(kept({result("a", "ok", 4)}, {five}), Runs{5});
  EXPECT_EQ(kept({result("a", "ok", 5)}, {five}), Runs{5});
  EXPECT_EQ(kept({result("a", "ok", 6)}, {five}), Runs{6});
  EXPECT_EQ(kept({result("a", "skipped", 0)}, {five}), Runs{5});
  EXPECT_EQ(kept({result("a", "failed", 6)}, {five}), Runs{5});
  EXPECT_EQ(kept({result("a", "ok", 2)}, {result("a", "failed", 5)}), Runs{2});
  // Earlier results of cases that are not measured yet, or of other cases, are kept.
  EXPECT_EQ(kept({}, {five}), Runs{5});
  EXPECT_EQ(kept({result("b", "ok", 2)}, {five}), (Runs{2, 5}));
  // A wrong tree is a result: the earlier one may be as wrong.
  Json wrong = result("a", "failed", 0);
  wrong["wrong_tree"] = true;
  EXPECT_EQ(kept({wrong}, {five}), Runs{0});
}

// `compare` and `merge` identify a result without these settings.
TEST(EarlierResults, OtherRunsAndLimitsAreTheSameMeasurement) {
  using Runs = std::vector<std::size_t>;
  Json nine = result("a", "ok", 9), other_runs = result("a", "ok", 2);
  other_runs["settings"] = {{"runs", 2}, {"timeout_s", 5}, {"seconds", 5}, {"samples", 5}};
  EXPECT_EQ(kept({other_runs}, {nine}), Runs{2});
  EXPECT_EQ(kept({nine}, {other_runs}), Runs{9});
  other_runs["status"] = "skipped";
  EXPECT_EQ(kept({other_runs}, {nine}), Runs{9});
  other_runs["settings"]["refs"] = "ids";
  EXPECT_EQ(kept({other_runs}, {nine}), (Runs{2, 9}));
}

TEST(EarlierResults, ChangedFilesAreReplacedAndMovedOnesFound) {
  using Runs = std::vector<std::size_t>;
  Json now = result("folder/a.obj", "ok", 5), earlier = result("folder/a.obj", "ok", 5);
  now["digest"] = "1";
  earlier["digest"] = "2";
  EXPECT_EQ(kept({now}, {earlier}), Runs{5});
  earlier["source"] = "moved/a.obj";
  EXPECT_EQ(kept({now}, {earlier}), (Runs{5, 5}));
  earlier["digest"] = "1";
  EXPECT_EQ(kept({now}, {earlier}), Runs{5});
  earlier = result("folder/a.obj", "ok", 5);  // a result of an earlier version has no digest
  EXPECT_EQ(kept({now}, {earlier}), Runs{5});
}

// A graph has the name of its file, which files in other folders may have too.
TEST(EarlierResults, GraphsOfTheSameNameStay) {
  using Runs = std::vector<std::size_t>;
  Json now{{"graph", "roads"},           {"digest", "1"},  {"layout", "csr"},
           {"settings", Json::object()}, {"status", "ok"}, {"runs_ms", {1.0}}};
  Json earlier = now;
  earlier["runs_ms"] = {1.0, 2.0};
  EXPECT_EQ(kept({now}, {earlier}), Runs{2});
  earlier["digest"] = "2";
  EXPECT_EQ(kept({now}, {earlier}), (Runs{1, 2}));
}

}  // namespace
}  // namespace heapwood::bench
