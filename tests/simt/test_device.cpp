// SPDX-License-Identifier: MIT
// Devices by name, with a reason for each unusable one, and ownership of device memory.
#include <gtest/gtest.h>

#include <numeric>
#include <type_traits>
#include <vector>

#include "simt/device.hpp"
#include "simt/memory.hpp"
#include "tests/errors.hpp"

namespace heapwood::simt {
namespace {

TEST(Devices, ListEndsWithTheCpuAndNamesCuda) {
  const std::vector<DeviceInfo> all = list_devices();
  ASSERT_GE(all.size(), 2u);
  const DeviceInfo& cpu = all.back();
  EXPECT_EQ(cpu.key, "cpu");
  EXPECT_EQ(cpu.id.kind, DeviceKind::cpu);
  EXPECT_TRUE(cpu.usable);
  EXPECT_TRUE(cpu.reason.empty());
  EXPECT_FALSE(cpu.name.empty());
  EXPECT_GE(cpu.multiprocessors, 1u);
  EXPECT_GT(cpu.memory_bytes, std::size_t{1} << 20);
  EXPECT_EQ(all.front().id.kind, DeviceKind::cuda);
  for (const DeviceInfo& info : all) {
    EXPECT_EQ(info.usable, info.reason.empty()) << info.key;
    EXPECT_FALSE(info.key.empty());
  }
}

TEST(Devices, AreFoundByName) {
  const DeviceInfo cpu = find_device("cpu", 7);
  EXPECT_EQ(cpu.id, (DeviceId{DeviceKind::cpu, 0, 7}));
  EXPECT_EQ(cpu.multiprocessors, 7u);
  EXPECT_EQ(describe(cpu.id).id, cpu.id);
  const DeviceInfo best = find_device("auto", 5);
  EXPECT_TRUE(best.usable);
  bool gpu = false;
  for (const DeviceInfo& info : list_devices())
    gpu = gpu || (info.usable && info.id.kind == DeviceKind::cuda);
  EXPECT_EQ(best.id.kind, gpu ? DeviceKind::cuda : DeviceKind::cpu);
  EXPECT_TRUE(gpu || best.id.threads == 5);
}

Error error_of(const std::string& key) {
  return tests::caught<Error>([&] { find_device(key); });
}

TEST(Devices, ErrorsNameTheDeviceAndHaveTheirExitCode) {
  for (const char* key : {"", "gpu", "CPU", "cuda:", "cuda:x", "cuda:-1", "cuda:1x", "cuda:12345",
                          "cuda:0 ", "tpu:0"}) {
    const Error error = error_of(key);
    EXPECT_EQ(error.exit(), Exit::usage) << key;
    EXPECT_NE(std::string(error.what()).find("'" + std::string(key) + "'"), std::string::npos);
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
  }
  const Error absent = error_of("cuda:999");
  EXPECT_EQ(absent.exit(), Exit::device);
  EXPECT_NE(std::string(absent.what()).find("cuda:999"), std::string::npos);
  for (const DeviceInfo& info : list_devices()) {
    if (info.usable) continue;
    const Error unusable = error_of(info.key);
    EXPECT_EQ(unusable.exit(), Exit::device);
    EXPECT_NE(std::string(unusable.what()).find(info.reason), std::string::npos);
  }
}

TEST(Devices, CudaIsTheFirstGpu) {
  const auto found = [](const char* key) -> std::string {
    try {
      return find_device(key).key;
    } catch (const Error& error) {
      return error.what();
    }
  };
  EXPECT_EQ(found("cuda"), found("cuda:0"));
}

static_assert(!std::is_copy_constructible_v<Memory> && !std::is_copy_assignable_v<Memory>);
static_assert(!std::is_copy_constructible_v<Buffer<int>>);
static_assert(std::is_nothrow_move_constructible_v<Memory> &&
              std::is_nothrow_move_assignable_v<Memory>);

// All usable devices of this machine.
std::vector<DeviceId> usable_devices() {
  std::vector<DeviceId> ids;
  for (const DeviceInfo& info : list_devices()) {
    if (info.usable) ids.push_back(info.id);
  }
  return ids;
}

TEST(Memory, HasOneOwner) {
  for (const DeviceId& device : usable_devices()) {
    Memory a(device, 1000);
    std::byte* const data = a.data();
    ASSERT_NE(data, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data) % 256, 0u);  // as alloc::Pool requires
    Memory b(std::move(a));
    EXPECT_EQ(b.data(), data);
    EXPECT_EQ(b.bytes(), 1000u);
    EXPECT_EQ(b.device(), device);
    EXPECT_EQ(a.data(), nullptr);  // NOLINT: moved-from memory is empty
    EXPECT_EQ(a.bytes(), 0u);
    Memory c(device, 10);
    c = std::move(b);
    EXPECT_EQ(c.data(), data);
    EXPECT_EQ(b.data(), nullptr);  // NOLINT
    Memory& self = c;
    c = std::move(self);
    EXPECT_EQ(c.data(), data);
    EXPECT_EQ(c.bytes(), 1000u);
    c = {};
    EXPECT_EQ(c.data(), nullptr);
    EXPECT_EQ(c.bytes(), 0u);
  }
}

TEST(Memory, EmptyMemoryIsValid) {
  Memory none(DeviceId{}, 0);
  EXPECT_EQ(none.data(), nullptr);
  none.fill(1);
  Buffer<int> empty;
  EXPECT_EQ(empty.size(), 0u);
  EXPECT_TRUE(empty.download().empty());
  empty.upload({});
}

TEST(Memory, ExhaustionIsAnErrorThatNamesTheSize) {
  for (const DeviceId& device : usable_devices()) {
    const auto error =
        tests::caught<Error>([&] { const Memory pebibyte(device, std::size_t{1} << 50); });
    EXPECT_EQ(error.exit(), Exit::failed);
    EXPECT_NE(std::string(error.what()).find_first_of("0123456789"), std::string::npos);
    EXPECT_GT(device_available(device), 0u);
  }
}

TEST(Memory, KeepsWhatWasUploaded) {
  for (const DeviceId& device : usable_devices()) {
    std::vector<std::uint32_t> host(1000);
    std::iota(host.begin(), host.end(), 7u);
    Buffer<std::uint32_t> buffer(device, std::span<const std::uint32_t>(host));
    EXPECT_EQ(buffer.size(), 1000u);
    EXPECT_EQ(buffer.bytes(), 4000u);
    EXPECT_EQ(buffer.download(), host);
    EXPECT_EQ(buffer.download(10, 5),
              std::vector<std::uint32_t>(host.begin() + 10, host.begin() + 15));
    Buffer<std::uint32_t> moved(std::move(buffer));
    EXPECT_EQ(moved.download(), host);
    const std::vector<std::uint32_t> front = {1, 2, 3};
    moved.upload(front);
    EXPECT_EQ(moved.download(0, 4), (std::vector<std::uint32_t>{1, 2, 3, 10}));
    moved.fill(0xff);
    EXPECT_EQ(moved.download(), std::vector<std::uint32_t>(1000, 0xffffffffu));
  }
}

TEST(Memory, CpuMemoryIsZero) {
  const Buffer<std::uint64_t> buffer(DeviceId{}, 4096);
  EXPECT_EQ(buffer.download(), std::vector<std::uint64_t>(4096, 0));
}

}  // namespace
}  // namespace heapwood::simt
