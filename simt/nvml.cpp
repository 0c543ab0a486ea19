// SPDX-License-Identifier: MIT
// Types, constants and functions as the NVML API Reference Guide documents them (docs.nvidia.com,
// "NVML API Reference", version 580); the guide's names are in the comments.
#include "simt/nvml.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <type_traits>
#include <utility>

namespace heapwood::simt {

namespace {

using Status = int;  // nvmlReturn_t
constexpr Status success = 0;
constexpr unsigned sm_clock = 1, memory_clock = 2;  // NVML_CLOCK_SM, NVML_CLOCK_MEM
constexpr unsigned temperature_of_gpu = 0;          // NVML_TEMPERATURE_GPU
// nvmlPerfPolicyType_t: POWER, THERMAL, BOARD_LIMIT, RELIABILITY
constexpr unsigned clock_limit_policies[clock_limits] = {0, 1, 3, 5};

struct ViolationTime {  // nvmlViolationTime_t
  unsigned long long reference_us, violation_ns;
};
struct ProcessInfo {  // nvmlProcessInfo_v2_t, which the functions with _v3 fill
  unsigned pid;
  unsigned long long used_bytes;
  unsigned gpu_instance, compute_instance;
};

struct Reason {  // nvmlClocksEventReasons
  std::uint64_t bit;
  const char* name;
  bool is_throttling;
};
constexpr Reason known_reasons[] = {{0x1, "idle", false},
                                    {0x2, "clocks set by the user", false},
                                    {0x4, "software power cap", true},
                                    {0x8, "hardware slowdown", true},
                                    {0x10, "sync boost", true},
                                    {0x20, "software thermal slowdown", true},
                                    {0x40, "hardware thermal slowdown", true},
                                    {0x80, "hardware power brake", true},
                                    {0x100, "display clocks", false}};

// Converts milliwatts. Values above 100 kW are invalid.
std::optional<double> watts(unsigned milliwatts) {
  if (milliwatts == 0 || milliwatts > 100'000'000) return std::nullopt;
  return milliwatts / 1000.0;
}

std::optional<bool> enabled(unsigned state) {  // nvmlEnableState_t, NVML_DEVICE_MIG_ENABLE
  return state <= 1 ? std::optional(state == 1) : std::nullopt;
}

// The result of an NVML function, if it exists in this library and succeeds.
std::optional<unsigned> ask(Status (*function)(void*, unsigned*), void* device) {
  unsigned value = 0;
  if (!function || function(device, &value) != success) return std::nullopt;
  return value;
}
std::optional<unsigned> ask(Status (*function)(void*, unsigned, unsigned*), void* device,
                            unsigned which, unsigned max) {
  unsigned value = 0;
  if (!function || function(device, which, &value) != success || value > max) return std::nullopt;
  return value;
}

}  // namespace

std::vector<std::string> clock_reason_names(std::uint64_t reasons) {
  std::vector<std::string> names;
  for (const Reason& reason : known_reasons) {
    if (reasons & reason.bit) names.emplace_back(reason.name);
  }
  return names;
}

std::uint64_t throttle_reasons(std::uint64_t reasons) {
  std::uint64_t throttling = 0;
  for (const Reason& reason : known_reasons) {
    if (reason.is_throttling) throttling |= reason.bit;
  }
  return reasons & throttling;
}

struct Nvml::Functions {
  Status (*init)() = nullptr;
  Status (*shutdown)() = nullptr;
  Status (*driver_version)(char*, unsigned) = nullptr;
  Status (*find)(const char*, Device*) = nullptr;
  Status (*uuid)(Device, char*, unsigned) = nullptr;
  Status (*mig_mode)(Device, unsigned*, unsigned*) = nullptr;
  Status (*ecc_mode)(Device, unsigned*, unsigned*) = nullptr;
  Status (*power_limit)(Device, unsigned*) = nullptr;
  Status (*clock)(Device, unsigned, unsigned*) = nullptr;
  Status (*temperature)(Device, unsigned, unsigned*) = nullptr;
  Status (*performance_state)(Device, unsigned*) = nullptr;
  Status (*power)(Device, unsigned*) = nullptr;
  Status (*clock_reasons)(Device, unsigned long long*) = nullptr;
  Status (*violation)(Device, unsigned, ViolationTime*) = nullptr;
  Status (*compute_processes)(Device, unsigned*, ProcessInfo*) = nullptr;
  Status (*graphics_processes)(Device, unsigned*, ProcessInfo*) = nullptr;
};

Nvml::Nvml(const std::string& library) {
  if (library.empty()) return;
  library_ = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library_) return;
  functions_ = std::make_unique<Functions>();
  Functions& f = *functions_;
  const auto load = [&](auto& function, const char* name) {
    if (!function)
      function =
          reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library_, name));
  };
  load(f.init, "nvmlInit_v2");
  load(f.shutdown, "nvmlShutdown");
  load(f.driver_version, "nvmlSystemGetDriverVersion");
  load(f.find, "nvmlDeviceGetHandleByPciBusId_v2");
  load(f.uuid, "nvmlDeviceGetUUID");
  load(f.mig_mode, "nvmlDeviceGetMigMode");
  load(f.ecc_mode, "nvmlDeviceGetEccMode");
  load(f.power_limit, "nvmlDeviceGetEnforcedPowerLimit");
  load(f.clock, "nvmlDeviceGetClockInfo");
  load(f.temperature, "nvmlDeviceGetTemperature");
  load(f.performance_state, "nvmlDeviceGetPerformanceState");
  load(f.power, "nvmlDeviceGetPowerUsage");
  load(f.clock_reasons, "nvmlDeviceGetCurrentClocksEventReasons");
  load(f.clock_reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");  // older drivers
  load(f.violation, "nvmlDeviceGetViolationStatus");
  load(f.compute_processes, "nvmlDeviceGetComputeRunningProcesses_v3");
  load(f.graphics_processes, "nvmlDeviceGetGraphicsRunningProcesses_v3");
  is_loaded_ = f.init && f.find && f.init() == success;
}

// The library is not unloaded, because its own threads may still run.
Nvml::~Nvml() {
  if (is_loaded_ && functions_->shutdown) functions_->shutdown();
}

const Nvml& Nvml::of_this_process() {
  const auto library = []() -> std::string {
    const char* other = std::getenv("HEAPWOOD_NVML");
    return other ? other : "libnvidia-ml.so.1";
  };
  static const Nvml nvml(library());
  return nvml;
}

Nvml::Device Nvml::find(const std::string& pci_bus_id) const {
  Device device = nullptr;
  if (!is_loaded_ || pci_bus_id.empty()) return nullptr;
  return functions_->find(pci_bus_id.c_str(), &device) == success ? device : nullptr;
}

GpuSetup Nvml::setup(Device device) const {
  GpuSetup setup;
  const Functions& f = *functions_;
  // NVML_DEVICE_UUID_V2_BUFFER_SIZE is 96, NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE is 80. One byte
  // more ends the text in any case.
  char text[97] = {};
  if (f.driver_version && f.driver_version(text, 80) == success)
    setup.driver_version.assign(text, std::find(text, text + 80, '\0'));
  std::fill(std::begin(text), std::end(text), '\0');
  if (f.uuid && f.uuid(device, text, 96) == success)
    setup.uuid.assign(text, std::find(text, text + 96, '\0'));
  unsigned current = 0, pending = 0;
  if (f.mig_mode && f.mig_mode(device, &current, &pending) == success) setup.mig = enabled(current);
  if (f.ecc_mode && f.ecc_mode(device, &current, &pending) == success) setup.ecc = enabled(current);
  if (const auto limit = ask(f.power_limit, device)) setup.power_limit_w = watts(*limit);
  return setup;
}

GpuSample Nvml::sample(Device device) const {
  GpuSample sample;
  const Functions& f = *functions_;
  sample.sm_clock_mhz = ask(f.clock, device, sm_clock, 100'000);
  sample.memory_clock_mhz = ask(f.clock, device, memory_clock, 100'000);
  sample.temperature_c = ask(f.temperature, device, temperature_of_gpu, 200);
  // NVML_PSTATE_UNKNOWN is 32.
  if (const auto state = ask(f.performance_state, device); state && *state <= 15)
    sample.performance_state = state;
  if (const auto power = ask(f.power, device)) sample.power_w = watts(*power);
  unsigned long long reasons = 0;
  if (f.clock_reasons && f.clock_reasons(device, &reasons) == success)
    sample.clock_reasons = reasons;
  for (std::size_t i = 0; i < clock_limits; ++i) {
    ViolationTime time{};
    if (f.violation && f.violation(device, clock_limit_policies[i], &time) == success)
      sample.limited_ns[i] = time.violation_ns;
  }
  sample.other_processes = count_other_processes(device);
  return sample;
}

std::optional<unsigned> Nvml::count_other_processes(Device device) const {
  // A GPU has far fewer processes; a longer list is skipped.
  constexpr unsigned max_processes = 1024;
  std::vector<unsigned> pids;
  for (const auto list : {functions_->compute_processes, functions_->graphics_processes}) {
    std::vector<ProcessInfo> processes(max_processes);
    unsigned count = max_processes;
    if (!list || list(device, &count, processes.data()) != success || count > max_processes)
      continue;
    for (unsigned i = 0; i < count; ++i) pids.push_back(processes[i].pid);
  }
  std::sort(pids.begin(), pids.end());
  pids.erase(std::unique(pids.begin(), pids.end()), pids.end());
  const auto own = static_cast<unsigned>(getpid());
  if (!std::binary_search(pids.begin(), pids.end(), own)) return std::nullopt;
  return static_cast<unsigned>(pids.size() - 1);
}

GpuRecord::GpuRecord(const Nvml& nvml, GpuAddress address)
    : nvml_(nvml),
      address_(std::move(address)),
      device_(nvml.find(address_.pci_bus_id)),
      start_(Clock::now()) {
  if (device_) setup_ = nvml_.setup(device_);
  sample();
  first_ = last_;
}

void GpuRecord::sample() {
  end_ = Clock::now();
  if (!device_) return;
  last_ = nvml_.sample(device_);
  throttle_reasons_ |= simt::throttle_reasons(last_.clock_reasons.value_or(0));
}

double GpuRecord::seconds() const { return std::chrono::duration<double>(end_ - start_).count(); }

std::array<std::optional<double>, clock_limits> GpuRecord::limited_ms() const {
  std::array<std::optional<double>, clock_limits> ms;
  for (std::size_t i = 0; i < clock_limits; ++i) {
    const auto &first = first_.limited_ns[i], &last = last_.limited_ns[i];
    // Skips a counter that has decreased: it was reset.
    if (!first || !last || *last < *first) continue;
    const double limited = static_cast<double>(*last - *first) / 1e6;
    // Skips implausible values, above the elapsed time. The tolerance of a second is for counters
    // that are updated at intervals.
    if (limited <= seconds() * 1e3 + 1000) ms[i] = limited;
  }
  return ms;
}

bool GpuRecord::was_throttled() const {
  const auto limited = limited_ms();
  return throttle_reasons_ != 0 || std::any_of(limited.begin(), limited.end(), [&](const auto& ms) {
           return ms && *ms >= 1 && *ms > seconds() * 1e3 / 100;
         });
}

}  // namespace heapwood::simt
