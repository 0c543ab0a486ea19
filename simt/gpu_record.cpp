// SPDX-License-Identifier: MIT
#include "simt/gpu_record.hpp"

#include <algorithm>
#include <utility>

namespace heapwood::simt {

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
    // A counter that went back was reset.
    if (!first || !last || *last < *first) continue;
    const double limited = static_cast<double>(*last - *first) / 1e6;
    // More than the elapsed time is implausible. The tolerance of a second is for counters that are
    // updated at intervals.
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
