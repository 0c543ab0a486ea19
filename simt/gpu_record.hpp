// SPDX-License-Identifier: MIT
// The state of one GPU from the start of a measurement on.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>

#include "simt/gpu_address.hpp"
#include "simt/nvml.hpp"

namespace heapwood::simt {

class GpuRecord {
 public:
  // Takes the first sample. `nvml` must outlive the record.
  GpuRecord(const Nvml& nvml, GpuAddress address);

  // Takes another sample, which becomes last().
  void sample();

  // False if NVML does not know the GPU: then there are no samples.
  bool has_samples() const { return device_ != nullptr; }
  // The UUID that CUDA reports, which for a MIG instance is its own, or else NVML's.
  const std::string& uuid() const { return address_.uuid.empty() ? setup_.uuid : address_.uuid; }
  const GpuSetup& setup() const { return setup_; }
  const GpuSample& first() const { return first_; }
  const GpuSample& last() const { return last_; }
  double seconds() const;  // from first() to last()

  // Throttle reasons that a sample has shown.
  std::uint64_t throttle_reasons() const { return throttle_reasons_; }
  // How long clocks were limited between the samples, by clock_limit_names.
  std::array<std::optional<double>, clock_limits> limited_ms() const;
  // Whether the GPU was slower than its settings allow: a reason was seen, or a limit took more
  // than 1% of the time and at least 1 ms.
  bool was_throttled() const;

 private:
  using Clock = std::chrono::steady_clock;

  const Nvml& nvml_;
  GpuAddress address_;
  Nvml::Device device_;
  GpuSetup setup_;
  GpuSample first_, last_;
  Clock::time_point start_, end_;
  std::uint64_t throttle_reasons_ = 0;
};

}  // namespace heapwood::simt
