// SPDX-License-Identifier: MIT
// The state of a GPU as the NVIDIA Management Library (NVML) reports it. The library comes with the
// driver and is loaded at run time. Without it, and for each of its functions that is missing,
// fails or returns a value that no GPU can have, the figures are absent.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace heapwood::simt {

// The limits for which NVML counts how long they kept a GPU's clocks below their setting.
inline constexpr std::size_t clock_limits = 4;
inline constexpr const char* clock_limit_names[clock_limits] = {"power", "thermal", "board_limit",
                                                                "reliability"};

// Properties of a GPU that do not change during a measurement.
struct GpuSetup {
  std::string driver_version;  // "580.82.07"; "" if unknown
  std::string uuid;            // of the GPU, also if CUDA sees a MIG instance of it
  std::optional<bool> mig, ecc;
  std::optional<double> power_limit_w;
};

// The state of a GPU at one moment.
struct GpuSample {
  std::optional<unsigned> sm_clock_mhz, memory_clock_mhz, temperature_c;
  std::optional<unsigned> performance_state;  // 0 (fastest) to 15
  std::optional<double> power_w;
  // Known only if NVML lists this process: in a container it may list none, or other numbers.
  std::optional<unsigned> other_processes;
  std::optional<std::uint64_t> clock_reasons;  // bits, see clock_reason_names()
  // Total since the driver was loaded, in nanoseconds.
  std::array<std::optional<std::uint64_t>, clock_limits> limited_ns;
};

// Names of the reasons why clocks are as they are: "idle", "software power cap".
std::vector<std::string> clock_reason_names(std::uint64_t reasons);
// The bits of the reasons that make the GPU slower than its settings allow: power, heat, faults.
std::uint64_t throttle_reasons(std::uint64_t reasons);

class Nvml {
 public:
  using Device = void*;

  // Loads the library of this name or path. is_loaded() is false if this fails.
  explicit Nvml(const std::string& library);
  ~Nvml();
  Nvml(Nvml&&) = delete;

  // The driver's library, or the one whose path is in the environment variable HEAPWOOD_NVML ("":
  // none). Loaded at the first call.
  static const Nvml& of_this_process();

  bool is_loaded() const { return is_loaded_; }
  // Finds a GPU; nullptr if there is none.
  Device find(const std::string& pci_bus_id) const;
  // `device` must be a result of find(), not nullptr.
  GpuSetup setup(Device device) const;
  GpuSample sample(Device device) const;

 private:
  // nullptr: the library does not have this function.
  struct Functions;
  std::optional<unsigned> count_other_processes(Device device) const;

  void* library_ = nullptr;
  bool is_loaded_ = false;
  std::unique_ptr<Functions> functions_;
};

// The system's name of a GPU. CUDA's ordinals depend on a process's environment; names do not.
struct GpuAddress {
  std::string pci_bus_id;  // "0000:1b:00.0"; "" if unknown
  std::string uuid;        // "GPU-01234567-..."; "" if unknown
};

// The address of the GPU with this CUDA ordinal; empty in builds without CUDA.
GpuAddress gpu_address(int index);

// Samples of the state of one GPU during a measurement.
class GpuRecord {
 public:
  // Takes the first sample. `nvml` must outlive the record.
  GpuRecord(const Nvml& nvml, GpuAddress address);

  // Takes another sample, which becomes last().
  void sample();

  // False if NVML does not know the GPU: then there are no samples.
  bool has_samples() const { return device_ != nullptr; }
  // The UUID that CUDA reports, which is its own for a MIG instance, or else NVML's.
  const std::string& uuid() const { return address_.uuid.empty() ? setup_.uuid : address_.uuid; }
  const GpuSetup& setup() const { return setup_; }
  const GpuSample& first() const { return first_; }
  const GpuSample& last() const { return last_; }
  double seconds() const;  // from first() to last()

  // All throttle reasons that any sample has shown.
  std::uint64_t throttle_reasons() const { return throttle_reasons_; }
  // Per limit of clock_limit_names, how long it kept clocks down between the samples.
  std::array<std::optional<double>, clock_limits> limited_ms() const;
  // Whether the GPU was slower than its settings allow: a reason was seen, or a limit applied for
  // more than 1% of the time and at least 1 ms.
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
