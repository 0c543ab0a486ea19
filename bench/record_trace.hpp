// SPDX-License-Identifier: MIT
// --record-trace: the requests of a build, of the dynamic graph or of a stress test as a program
// trace.
#pragma once

#include <functional>
#include <string>

#include "alloc/recording/program_trace.hpp"
#include "bench/graph_bench.hpp"
#include "bench/prepared_scene.hpp"
#include "bench/stress.hpp"

namespace heapwood::bench {

// All repeat the work until nothing is missing: with a larger buffer (up to 2^27 events) if events
// were dropped, and with a larger pool, if its size is automatic, if requests were refused.

// `announce` is called before each step.
alloc::ProgramTrace record_build(PreparedScene& scene, const Allocator& entry,
                                 const simt::DeviceInfo& device, const BuildSettings& settings,
                                 const std::function<void(const std::string&)>& announce);

// Initializes the graph, and inserts and deletes a batch of edges per round, of the first batch
// size.
alloc::ProgramTrace record_graph(const GraphBench& bench);

// A test with lifetimes at its first point. Its pool is doubled if requests are refused.
alloc::ProgramTrace record_stress(const StressBench& bench);

// One line: what a trace contains and lacks.
std::string recorded_text(const std::string& path, const alloc::ProgramTrace& trace);

}  // namespace heapwood::bench
