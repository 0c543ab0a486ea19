// SPDX-License-Identifier: MIT
// The device record in reports, with a library that stands for NVML.
#include <gtest/gtest.h>

#include "bench/compare/cells.hpp"
#include "bench/results/device_record.hpp"
#include "tests/simt/fake_nvml.hpp"

namespace heapwood::bench {
namespace {

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

TEST_F(DeviceRecords, InEveryReport) {
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
  // Of another device, and of none.
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
  EXPECT_NE(line.find("hardware thermal slowdown"), std::string::npos) << line;
  EXPECT_NE(line.find(record.at("warning").get<std::string>()), std::string::npos) << line;
}

TEST_F(DeviceRecords, WithoutNvml) {
  const simt::Nvml none("");
  begin_device_record(gpu_, simt::GpuRecord(none, {FakeNvml::bus_id, "GPU-0123"}));
  EXPECT_EQ(device_record(gpu_), Json({{"uuid_hash", uuid_hash("GPU-0123")}}));
  begin_device_record(gpu_, simt::GpuRecord(none, {}));
  EXPECT_FALSE(report_head(bench_schema, {}, gpu_).contains("device_record"));
}

// A file that is continued has results of two processes.
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

}  // namespace
}  // namespace heapwood::bench
