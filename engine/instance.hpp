// SPDX-License-Identifier: MIT
// Makes the Engine of one allocator on one kind of device; included by the generated translation units only.
#pragma once

#include "alloc/exercise_run.hpp"
#include "engine/engine.hpp"
#include "kdtree/build_driver.hpp"

namespace heapwood::engine {

template <class Allocator, class Device>
KernelUse kernel_use(const simt::DeviceId& id, kdtree::RefKind refs) {
  KernelUse use;
  kdtree::with_ref_kind(refs, [&]<kdtree::RefKind kind>() {
    using Kernel = kdtree::BuildKernel<Allocator, kind>;
    if constexpr (requires(const Device& device) { device.template occupancy<Kernel>(); }) {
      const auto o = Device(id).template occupancy<Kernel>();
      use = {o.registers, o.local_bytes, o.shared_bytes, o.warps_per_multiprocessor};
    }
  });
  return use;
}

template <class Allocator, class Device>
constexpr Engine make_engine(simt::DeviceKind kind) {
  return {.traits = &Allocator::traits,
          .device = kind,
          .build =
              [](kdtree::Workspace& workspace, const kdtree::BuildOptions& options) {
                return kdtree::build<Allocator>(Device(workspace.device()), workspace, options);
              },
          .build_instrumented =
              [](kdtree::Workspace& workspace, const kdtree::BuildOptions& options) {
                return kdtree::build_instrumented<Allocator>(Device(workspace.device()), workspace, options);
              },
          .build_recorded =
              [](kdtree::Workspace& workspace, const kdtree::BuildOptions& options, std::size_t capacity) {
                return kdtree::build_recorded<Allocator>(Device(workspace.device()), workspace, options, capacity);
              },
          .kernel_use = kernel_use<Allocator, Device>,
          .exercise = [](const alloc::ExerciseJob& job) { return alloc::exercise<Allocator, Device>(job); }};
}

}  // namespace heapwood::engine
