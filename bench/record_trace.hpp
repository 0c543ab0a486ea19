// SPDX-License-Identifier: MIT
// --record-trace: writes the requests of a build, a dynamic graph or a stress test as a program
// trace.
#pragma once

#include <functional>
#include <string>

#include "alloc/recording/program_trace.hpp"
#include "bench/graph_bench.hpp"
#include "bench/prepared_scene.hpp"
#include "bench/steps_bench.hpp"
#include "bench/stress.hpp"

namespace heapwood::bench {

// All functions repeat the work until nothing is missing. If events were dropped, the buffer grows
// (up to 2^27 events); if requests were refused, a pool of automatic size grows.

// `announce` is called before each step.
alloc::ProgramTrace record_build(PreparedScene& scene, const Allocator& entry,
                                 const simt::DeviceInfo& device, const BuildSettings& settings,
                                 const std::function<void(const std::string&)>& announce);

// Initializes the graph; then inserts and deletes edges per round, in the first batch size.
alloc::ProgramTrace record_graph(const GraphBench& bench);

// Runs the first point of a test with lifetimes. Its pool is doubled if requests are refused.
alloc::ProgramTrace record_stress(const StressBench& bench);

// Runs all steps of a workload once, in the first pool.
alloc::ProgramTrace record_steps(const StepsBench& bench);

}  // namespace heapwood::bench
