// SPDX-License-Identifier: MIT
// Body of a Backend for one launcher; included by render_cpu.cpp and render_cuda.cu.
#pragma once

#include "render/backend.hpp"
#include "render/kernel.hpp"

namespace heapwood::render {

template <class Intersection>
SceneView<Intersection> view(const SceneData& scene) {
  const auto* records = static_cast<const typename Intersection::Record*>(scene.records);
  const float slack = scene.bounds.empty() ? 0 : Intersection::diagonal_slack * length(scene.bounds.extent());
  return {{scene.nodes, records, scene.refs, scene.bounds, slack}, scene.vertices, scene.triangles};
}

// Calls f with the intersection that the scene's records are for.
template <class F>
auto with_intersection(const SceneData& scene, F f) {
  return scene.watertight ? f(view<kdtree::WatertightIntersection>(scene)) : f(view<kdtree::FastIntersection>(scene));
}

template <class Launcher>
struct BackendOf {
  static void fill_records(const simt::DeviceId& device, const SceneData& scene, void* records) {
    const Launcher launcher(device);
    const auto fill = [&](auto* typed) {
      using Record = std::remove_pointer_t<decltype(typed)>;
      launcher.for_each(scene.ref_count, kdtree::FillRecords<Record>{scene.vertices, scene.triangles,
                                                                     scene.triangle_count, scene.refs, typed});
    };
    if (scene.watertight) {
      fill(static_cast<kdtree::CornerRecord*>(records));
    } else {
      fill(static_cast<kdtree::PlaneRecord*>(records));
    }
  }

  static double render(const simt::DeviceId& device, const SceneData& scene, const Frame& frame, Pixel* film,
                       std::uint32_t* ticket, const simt::LaunchLimits& limits) {
    const Launcher launcher(device);
    return with_intersection(scene, [&]<class Intersection>(const SceneView<Intersection>& view) {
      const auto launch = [&]<class Integrator>(Integrator) {
        return launcher.launch(RenderKernel<Intersection, Integrator>{view, frame, film, ticket}, 0, limits);
      };
      switch (frame.mode) {
        case Mode::shaded:
          return launch(Shaded{});
        case Mode::path:
          return launch(PathTraced{});
        case Mode::ao:
          return launch(Occlusion{});
        default:
          return launch(Features{});
      }
    });
  }

  static double trace(const simt::DeviceId& device, const SceneData& scene, bool any, const kdtree::Ray* rays,
                      kdtree::Hit* hits, std::size_t count, const simt::LaunchLimits& limits) {
    const Launcher launcher(device);
    return with_intersection(scene, [&]<class Intersection>(const SceneView<Intersection>& view) {
      return any ? launcher.launch(TraceKernel<Intersection, true>{view.tree, rays, hits, count}, 0, limits)
                 : launcher.launch(TraceKernel<Intersection, false>{view.tree, rays, hits, count}, 0, limits);
    });
  }

  static void develop(const simt::DeviceId& device, const DevelopPixels& pixels, std::size_t count) {
    Launcher(device).for_each(count, pixels);
  }

  static constexpr Backend table{&fill_records, &render, &trace, &develop};
};

}  // namespace heapwood::render
