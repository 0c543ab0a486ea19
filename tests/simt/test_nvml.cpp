// SPDX-License-Identifier: MIT
// The state of a GPU from a library that answers as a test says, and from none.
#include <gtest/gtest.h>

#include "tests/simt/fake_nvml.hpp"

namespace heapwood::simt {
namespace {

using tests::FakeNvml;

TEST(NvmlLoad, WithoutALibraryNothingIsKnown) {
  for (const char* name : {"", "libheapwood-no-such-library.so.1", "/dev/null"}) {
    const Nvml nvml(name);
    EXPECT_FALSE(nvml.is_loaded()) << name;
    EXPECT_EQ(nvml.find(FakeNvml::bus_id), nullptr) << name;
    GpuRecord record(nvml, {FakeNvml::bus_id, "GPU-1"});
    record.sample();
    EXPECT_FALSE(record.has_samples());
    EXPECT_FALSE(record.was_throttled());
    EXPECT_EQ(record.uuid(), "GPU-1");
  }
}

TEST(NvmlLoad, AFailedInitializationIsNoLibrary) {
  const FakeNvml fake("fail=init");
  EXPECT_FALSE(Nvml(FakeNvml::library).is_loaded());
}

TEST(NvmlLoad, FiguresOfMissingFunctionsAreAbsent) {
  const FakeNvml fake("reasons=0x40");
  const Nvml nvml(FAKE_NVML_OLD_LIBRARY);
  ASSERT_TRUE(nvml.is_loaded());
  const Nvml::Device gpu = nvml.find(FakeNvml::bus_id);
  ASSERT_NE(gpu, nullptr);
  const GpuSetup setup = nvml.setup(gpu);
  EXPECT_EQ(setup.driver_version, "");
  EXPECT_EQ(setup.mig, std::nullopt);
  EXPECT_EQ(setup.power_limit_w, std::nullopt);
  const GpuSample sample = nvml.sample(gpu);
  EXPECT_EQ(sample.sm_clock_mhz, 1980u);
  EXPECT_EQ(sample.clock_reasons, 0x40u);  // by the function's older name
  EXPECT_EQ(sample.temperature_c, std::nullopt);
  EXPECT_EQ(sample.other_processes, std::nullopt);
  EXPECT_EQ(sample.limited_ns[0], std::nullopt);
}

TEST(NvmlFigures, AreThoseOfTheLibrary) {
  const FakeNvml fake("pids=self,17,18;state=2;mig=1;limited0=5000000");
  const Nvml nvml(FakeNvml::library);
  const Nvml::Device gpu = nvml.find(FakeNvml::bus_id);
  ASSERT_NE(gpu, nullptr);
  EXPECT_EQ(nvml.find("0000:aa:00.0"), nullptr);
  EXPECT_EQ(nvml.find(""), nullptr);
  const GpuSetup setup = nvml.setup(gpu);
  EXPECT_EQ(setup.driver_version, "580.82.07");
  EXPECT_EQ(setup.uuid, "GPU-fake");
  EXPECT_EQ(setup.mig, true);
  EXPECT_EQ(setup.ecc, true);
  EXPECT_EQ(setup.power_limit_w, 700.0);
  const GpuSample sample = nvml.sample(gpu);
  EXPECT_EQ(sample.sm_clock_mhz, 1980u);
  EXPECT_EQ(sample.memory_clock_mhz, 2619u);
  EXPECT_EQ(sample.temperature_c, 45u);
  EXPECT_EQ(sample.performance_state, 2u);
  EXPECT_EQ(sample.power_w, 120.5);
  EXPECT_EQ(sample.other_processes, 2u);
  EXPECT_EQ(clock_reason_names(*sample.clock_reasons), std::vector<std::string>{"idle"});
  EXPECT_EQ(sample.limited_ns[0], 5'000'000u);
}

void expect_no_figures(const GpuSetup& setup, const GpuSample& sample) {
  EXPECT_FALSE(setup.mig || setup.ecc || setup.power_limit_w);
  EXPECT_FALSE(sample.sm_clock_mhz || sample.memory_clock_mhz || sample.temperature_c ||
               sample.performance_state || sample.power_w || sample.other_processes);
}

TEST(NvmlFigures, FailuresAreAbsent) {
  const FakeNvml fake(
      "fail=driver,uuid,mig,ecc,limit,clock,memory_clock,temperature,state,power,"
      "reasons,limited0,limited1,limited3,limited5,processes");
  const Nvml nvml(FakeNvml::library);
  const Nvml::Device gpu = nvml.find(FakeNvml::bus_id);
  const GpuSample sample = nvml.sample(gpu);
  expect_no_figures(nvml.setup(gpu), sample);
  EXPECT_EQ(nvml.setup(gpu).driver_version + nvml.setup(gpu).uuid, "");
  EXPECT_FALSE(sample.clock_reasons);
  for (const auto& limited : sample.limited_ns) EXPECT_EQ(limited, std::nullopt);
}

TEST(NvmlFigures, AbsurdValuesAreAbsent) {
  const FakeNvml fake(
      "clock=4294967295;memory_clock=3000000000;temperature=4000;state=32;"
      "power=4294967295;limit=0;mig=7;ecc=4294967295;count=100000;driver=" +
      std::string(300, 'x') + ";uuid=" + std::string(300, 'y'));
  const Nvml nvml(FakeNvml::library);
  const Nvml::Device gpu = nvml.find(FakeNvml::bus_id);
  expect_no_figures(nvml.setup(gpu), nvml.sample(gpu));
  EXPECT_EQ(nvml.setup(gpu).driver_version, std::string(80, 'x'));
  EXPECT_EQ(nvml.setup(gpu).uuid, std::string(96, 'y'));
}

// In a container NVML lists no process, or none by a number that is known there.
TEST(NvmlFigures, OtherProcessesOnlyIfThisOneIsListed) {
  FakeNvml fake("pids=");
  const Nvml nvml(FakeNvml::library);
  const Nvml::Device gpu = nvml.find(FakeNvml::bus_id);
  EXPECT_EQ(nvml.sample(gpu).other_processes, std::nullopt);
  fake.answer("pids=1,2");
  EXPECT_EQ(nvml.sample(gpu).other_processes, std::nullopt);
  fake.answer("pids=self,self");
  EXPECT_EQ(nvml.sample(gpu).other_processes, 0u);
}

TEST(NvmlRecords, NoticeThrottlingBetweenSamples) {
  FakeNvml fake("clock=345;reasons=1");
  const Nvml nvml(FakeNvml::library);
  GpuRecord record(nvml, {FakeNvml::bus_id, ""});
  ASSERT_TRUE(record.has_samples());
  EXPECT_EQ(record.uuid(), "GPU-fake");
  fake.answer("clock=1980;reasons=2");  // clocks that the user has set
  record.sample();
  EXPECT_FALSE(record.was_throttled());
  fake.answer("clock=1200;reasons=0x24");
  record.sample();
  fake.answer("clock=1980;reasons=0");
  record.sample();
  EXPECT_EQ(record.first().sm_clock_mhz, 345u);
  EXPECT_EQ(record.last().sm_clock_mhz, 1980u);
  EXPECT_TRUE(record.was_throttled());
  EXPECT_EQ(clock_reason_names(record.throttle_reasons()),
            (std::vector<std::string>{"software power cap", "software thermal slowdown"}));
}

TEST(NvmlRecords, HaveTheTimeOfLimitedClocks) {
  FakeNvml fake("limited0=7000000000;limited1=5");
  const Nvml nvml(FakeNvml::library);
  GpuRecord record(nvml, {FakeNvml::bus_id, ""});
  fake.answer("limited0=7500000000;limited1=4;limited3=9000000000000000");
  record.sample();
  const auto limited = record.limited_ms();
  EXPECT_EQ(limited[0], 500.0);
  EXPECT_EQ(limited[1], std::nullopt);  // the counter went back
  EXPECT_EQ(limited[2], std::nullopt);  // the counter grew by more than the time that passed
  EXPECT_EQ(limited[3], 0.0);
  EXPECT_TRUE(record.was_throttled());
}

}  // namespace
}  // namespace heapwood::simt
