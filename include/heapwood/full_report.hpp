// SPDX-License-Identifier: MIT
// The report that a heap was full, which is printed even after a fault in a kernel. Such a fault
// makes all memory of the GPU unreadable, so the GPU copies the counts of refused requests to host
// memory.
#pragma once

#include "simt/config.hpp"  // first

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <vector>

#include "heapwood/heap_handle.hpp"
#include "simt/stream_device.hpp"

namespace heapwood::detail {

// A number with commas: "3,201".
inline std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, 1, ',');
  return digits;
}
// A size in the largest unit that leaves no remainder: "128 MiB", "1,000 bytes".
inline std::string size_text(std::uint64_t bytes) {
  const char* const units[] = {" bytes", " KiB", " MiB", " GiB"};
  unsigned unit = 0;
  for (; unit < 3 && bytes != 0 && bytes % 1024 == 0; ++unit) bytes /= 1024;
  return grouped(bytes) + units[unit];
}
// Returns "the heap of 128 MiB was full: 3,201 requests refused, the first of 144 bytes" or "".
inline std::string full_text(const HeapState& counts, std::size_t heap_bytes) {
  const std::uint64_t refused = counts.full + counts.too_large;
  if (refused == 0) return {};
  std::string text = "the heap of " + size_text(heap_bytes) +
                     (counts.full != 0 ? " was full: " : " is too small: ") + grouped(refused) +
                     (refused == 1 ? " request refused, of " : " requests refused, the first of ") +
                     grouped(counts.first_refused) + " bytes";
  if (counts.full != 0 && counts.too_large != 0)
    text += "; " + grouped(counts.too_large) + " of them larger than it can ever serve";
  return text;
}

inline namespace HEAPWOOD_TARGET {

// The counts of one heap in host memory. Prints them in its destructor, or when the program ends by
// exit() and the heap still exists.
class FullReport {
 public:
  FullReport(const simt::StreamDevice& device, std::size_t heap_bytes)
      : memory_(device), heap_bytes_(heap_bytes) {
    if (on_device() == nullptr) return;
    static const bool prints_at_exit = std::atexit(print_all) == 0;
    static_cast<void>(prints_at_exit);
    Living& living = all();
    const std::lock_guard lock(living.mutex);
    living.reports.push_back(this);
  }
  ~FullReport() {
    if (on_device() == nullptr) return;
    Living& living = all();
    const std::lock_guard lock(living.mutex);
    living.reports.erase(std::find(living.reports.begin(), living.reports.end(), this));
    print();
  }
  FullReport(FullReport&&) = delete;

  // Address to which the device copies its counts; nullptr if it cannot write to host memory.
  HeapState* on_device() const { return static_cast<HeapState*>(memory_.on_device()); }
  // False after cudaDeviceReset(), which has freed the heap's memory.
  bool is_current() const { return memory_.is_current(); }
  HeapState counts() const { return *static_cast<const HeapState*>(memory_.on_host()); }
  void set(const HeapState& counts) { *static_cast<HeapState*>(memory_.on_host()) = counts; }

 private:
  // All reports. Never destroyed, because heaps may be destroyed after any static object.
  struct Living {
    std::mutex mutex;
    std::vector<const FullReport*> reports;
  };
  static Living& all() {
    static auto* const living = new Living;
    return *living;
  }
  static void print_all() {
    Living& living = all();
    const std::lock_guard lock(living.mutex);
    for (const FullReport* const report : living.reports) report->print();
  }
  void print() const {
    const std::string text = full_text(counts(), heap_bytes_);
    if (!text.empty()) std::fprintf(stderr, "heapwood: %s\n", text.c_str());
  }

  simt::MappedPage memory_;
  std::size_t heap_bytes_;
};

}  // namespace HEAPWOOD_TARGET
}  // namespace heapwood::detail
