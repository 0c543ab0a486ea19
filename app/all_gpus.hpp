// SPDX-License-Identifier: MIT
// --device cuda:all: a measuring command as one process per GPU, each with its shard, side by side
// (docs/sweeps.md).
#pragma once

#include <string>
#include <vector>

#include "app/commands.hpp"
#include "bench/program/options.hpp"
#include "bench/shard.hpp"

namespace heapwood::app {

struct AllGpusCommand {
  std::string name;  // "bench"
  std::vector<std::string> argv;
  std::string shard;           // as given
  std::string results;         // --json, or the folder of reproduce; "" = none
  std::string format = {};     // "" = the command has no --format
  bool has_folder = false;     // `results` is reproduce's --out
  bool keeps_results = false;  // results that only the file has stay in it
};

// A process's device and its name in messages and files.
struct DeviceProcess {
  std::string label, device;
};

inline bool is_all_gpus(const bench::DeviceOptions& options) {
  return options.device == "cuda:all";
}

// Throws Error{Exit::usage} if `option`, which is given, is for one device.
[[noreturn]] void refuse_on_all_gpus(const std::string& command, const std::string& option);

// Runs it on all usable GPUs. Prints each process's table below its GPU's name and writes the
// merged results; those of each process stay in a file of its own, which --resume continues. Throws
// the first failed process's exit code with what the processes said, after keeping the results.
Exit measure_on_all_gpus(const AllGpusCommand& command, const Invocation& invocation);
// The same with this program, on these devices.
Exit measure_on(const AllGpusCommand& command, const std::string& program,
                const std::vector<DeviceProcess>& devices);

// The command line of one process.
std::vector<std::string> process_arguments(const AllGpusCommand& command, const std::string& device,
                                           const bench::Shard& shard, const std::string& results);
// out.json and cuda:0 to out.cuda0.json; a folder `out` to out/cuda0.
std::string process_results(const AllGpusCommand& command, const std::string& label);

}  // namespace heapwood::app
