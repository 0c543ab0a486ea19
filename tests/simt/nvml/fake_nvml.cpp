// SPDX-License-Identifier: MIT
// A library with NVML's functions that answers what the environment variable FAKE_NVML says, for
// tests without a GPU: "clock=1980;temperature=45;fail=uuid,power;pids=self,17". With
// FAKE_NVML_OLD defined, one that lacks most functions.
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

namespace {

std::string setting(const std::string& key, const std::string& otherwise) {
  const char* all = std::getenv("FAKE_NVML");
  const std::string text = ";" + std::string(all ? all : "") + ";";
  const std::size_t found = text.find(";" + key + "=");
  if (found == std::string::npos) return otherwise;
  const std::size_t start = found + key.size() + 2;
  return text.substr(start, text.find(';', start) - start);
}

int result(const std::string& function) {
  const std::string failing = "," + setting("fail", "") + ",";
  return failing.find("," + function + ",") == std::string::npos ? 0 : 999;
}

template <class T>
int give(const std::string& key, const std::string& otherwise, T* value) {
  *value = static_cast<T>(std::stoull(setting(key, otherwise), nullptr, 0));
  return result(key);
}

}  // namespace

extern "C" {

int nvmlInit_v2() { return result("init"); }
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, void** device) {
  static int gpu;
  *device = &gpu;
  return bus_id == setting("bus_id", "0000:1b:00.0") ? 0 : 6;  // NVML_ERROR_NOT_FOUND
}
int nvmlDeviceGetClockInfo(void*, unsigned which, unsigned* mhz) {
  return which == 1 ? give("clock", "1980", mhz) : give("memory_clock", "2619", mhz);
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* reasons) {
  return give("reasons", "1", reasons);
}

#ifndef FAKE_NVML_OLD
int nvmlShutdown() { return 0; }
int nvmlDeviceGetCurrentClocksEventReasons(void*, unsigned long long* reasons) {
  return give("reasons", "1", reasons);
}
int nvmlSystemGetDriverVersion(char* text, unsigned bytes) {
  // No zero at the end if it does not fit.
  std::strncpy(text, setting("driver", "580.82.07").c_str(), bytes);
  return result("driver");
}
int nvmlDeviceGetUUID(void*, char* text, unsigned bytes) {
  std::strncpy(text, setting("uuid", "GPU-fake").c_str(), bytes);
  return result("uuid");
}
int nvmlDeviceGetMigMode(void*, unsigned* current, unsigned*) { return give("mig", "0", current); }
int nvmlDeviceGetEccMode(void*, unsigned* current, unsigned*) { return give("ecc", "1", current); }
int nvmlDeviceGetEnforcedPowerLimit(void*, unsigned* mw) { return give("limit", "700000", mw); }
int nvmlDeviceGetTemperature(void*, unsigned, unsigned* c) { return give("temperature", "45", c); }
int nvmlDeviceGetPerformanceState(void*, unsigned* state) { return give("state", "0", state); }
int nvmlDeviceGetPowerUsage(void*, unsigned* mw) { return give("power", "120500", mw); }
int nvmlDeviceGetViolationStatus(void*, unsigned policy, unsigned long long* time) {
  return give("limited" + std::to_string(policy), "0", time + 1);
}
int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned* count, unsigned* processes) {
  std::string pids = setting("pids", "self") + ",";
  const unsigned bytes = 24, room = *count;
  *count = 0;
  for (std::size_t end; (end = pids.find(',')) != std::string::npos; pids.erase(0, end + 1)) {
    const std::string pid = pids.substr(0, end);
    if (*count < room && !pid.empty())
      processes[(*count)++ * bytes / sizeof(unsigned)] =
          pid == "self" ? static_cast<unsigned>(getpid()) : static_cast<unsigned>(std::stoul(pid));
  }
  if (const std::string absurd = setting("count", ""); !absurd.empty())
    *count = static_cast<unsigned>(std::stoul(absurd));
  return result("processes");
}
int nvmlDeviceGetGraphicsRunningProcesses_v3(void*, unsigned* count, unsigned*) {
  *count = 0;
  return result("graphics");
}
#endif

}  // extern "C"
