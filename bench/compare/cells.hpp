// SPDX-License-Identifier: MIT
// The measurements in a results file of any command that writes raw samples: one cell per
// measurement and kind of time.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "bench/results/json_report.hpp"

namespace heapwood::bench {

// A results file as read: an object with a known schema, a device, and results or cases.
struct ResultsFile {
  std::string path;
  std::string schema;
  Json json;

  // Without the host's memory, which varies, and the number of the GPU in its host.
  Json device() const;
  // "9f3c2ab", "NVIDIA H100, driver CUDA 13.0"; printable.
  std::string version_text() const;
  std::string device_text() const;
  // What device records in it have at this key: `uuid_hash`, `driver_version`, `warning`.
  std::set<std::string> recorded(const char* key) const;
};

// Throws Error{Exit::scene} if there is no such file, if it is damaged or not one of this program.
ResultsFile read_results(const std::string& path);

// What identifies the measurement of a result; equal for the same measurement in two files. Limits
// of time and the number of runs are not part of it.
Json identity_of(const Json& result);

struct ResultCell {
  Json identity;
  std::string metric;  // "build", "insert@1000"
  std::vector<double> ms;
  bool paired = false;  // samples belong to frames or rounds that differ
  std::string reason;   // why there are no samples; "" if there are
};

// All cells in order. Throws Error{Exit::scene} if a result does not have the expected form or
// occurs twice.
std::vector<ResultCell> cells_of(const ResultsFile& file);

// Short names of cells: what a table has to show to tell them apart.
std::vector<std::string> cell_labels(const std::vector<const ResultCell*>& cells);

}  // namespace heapwood::bench
