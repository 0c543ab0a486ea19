// SPDX-License-Identifier: MIT
// --record-trace: the requests of a build as a program trace.
#pragma once

#include <functional>
#include <string>

#include "alloc/recording/program_trace.hpp"
#include "bench/prepared_scene.hpp"

namespace heapwood::bench {

// Builds with this allocator until nothing is missing: repeats with a larger buffer if events were
// dropped, and with a larger pool, if it is automatic, if requests were refused. `announce` is
// called before each step.
alloc::ProgramTrace record_build(PreparedScene& scene, const registry::RegisteredAllocator& entry,
                                 const simt::DeviceInfo& device, const BuildSettings& settings,
                                 const std::function<void(const std::string&)>& announce);

// One line: what a trace contains and lacks.
std::string recorded_text(const std::string& path, const alloc::ProgramTrace& trace);

}  // namespace heapwood::bench
