// SPDX-License-Identifier: MIT
// The functions of a Backend for one launcher. Included by render_cpu.cpp and render_cuda.cu.
#pragma once

#include <utility>

#include "render/backend.hpp"
#include "render/kernel.hpp"
#include "render/serial_shading.hpp"

namespace heapwood::render {

template <class Intersection>
SceneView<Intersection> view(const SceneData& scene) {
  const auto* records = static_cast<const typename Intersection::Record*>(scene.records);
  return {{scene.nodes, records, scene.refs, scene.bounds, scene.vertices, scene.triangles},
          scene.vertices,
          scene.triangles};
}

// Calls f with a view whose intersection test matches the scene's records.
template <class F>
auto with_intersection(const SceneData& scene, F f) {
  return scene.watertight ? f(view<kdtree::WatertightIntersection>(scene))
                          : f(view<kdtree::FastIntersection>(scene));
}

template <class Launcher>
struct BackendOf {
  static double order(const simt::DeviceId& device, const kdtree::DeviceTree& tree,
                      kdtree::TreeArrays& to, simt::Memory memory) {
    return kdtree::depth_first(Launcher(device), tree, to, 0, std::move(memory));
  }

  static void fill_records(const simt::DeviceId& device, const SceneData& scene, void* records) {
    const Launcher launcher(device);
    const auto fill = [&](auto* typed) {
      using Record = std::remove_pointer_t<decltype(typed)>;
      launcher.for_each(scene.ref_count, kdtree::FillRecords<Record>{
                                             scene.vertices, scene.triangles, scene.triangle_count,
                                             scene.refs, typed, kdtree::reach_of(scene.bounds)});
    };
    if (scene.watertight) {
      fill(static_cast<kdtree::CornerRecord*>(records));
    } else {
      fill(static_cast<kdtree::PlaneRecord*>(records));
    }
  }

  static double render(const simt::DeviceId& device, const SceneData& scene, const Frame& frame,
                       Pixel* film, std::uint32_t* ticket, const simt::LaunchLimits& limits) {
    const Launcher launcher(device);
    return with_intersection(scene, [&]<class Intersection>(const SceneView<Intersection>& view) {
      const auto launch = [&]<class Integrator, class View>(Integrator, const View& shown) {
        return launcher.launch(RenderKernel<View, Integrator>{shown, frame, film, ticket}, 0,
                               limits);
      };
      const bool coloured = !frame.clay && scene.materials.materials != nullptr;
      const ColouredView<Intersection> colours{view, scene.materials};
      if constexpr (Launcher::Warp::width == 1) {
        if (frame.mode == Mode::shaded && !(coloured && scene.materials.has_holes)) {
          const auto launch_serial = [&]<class View>(const View& shown) {
            return launcher.launch(SerialShadedKernel<View>{shown, frame, film, ticket}, 0, limits);
          };
          return coloured ? launch_serial(colours) : launch_serial(view);
        }
      }
      switch (frame.mode) {
        case Mode::shaded:
          return coloured ? launch(Shaded{}, colours) : launch(Shaded{}, view);
        case Mode::path:
          if (scene.environment.texels != nullptr)
            return launch(PathTraced{}, SurroundedView<Intersection>{colours, scene.environment});
          return coloured ? launch(PathTraced{}, colours) : launch(PathTraced{}, view);
        case Mode::ao:
          return launch(Occlusion{}, view);
        case Mode::albedo:
          return coloured ? launch(Features{}, colours) : launch(Features{}, view);
        case Mode::normals:
        case Mode::depth:
          if (coloured && scene.materials.has_holes) return launch(Features{}, colours);
          return launch(Features{}, view);
        default:
          return launch(Features{}, view);
      }
    });
  }

  static double trace(const simt::DeviceId& device, const SceneData& scene, bool any,
                      const kdtree::Ray* rays, kdtree::Hit* hits, std::size_t count,
                      const simt::LaunchLimits& limits) {
    const Launcher launcher(device);
    if constexpr (Launcher::Warp::width == 1) {
      if (!any) {
        return with_intersection(scene, [&](const auto& view) {
          return launcher.launch(SerialTraceKernel{view.tree, rays, hits, count}, 0, limits);
        });
      }
    }
    const auto launch = [&](const auto& kernel) {
      constexpr unsigned width = Launcher::Warp::width;
      if constexpr (width == 1) {
        return launcher.launch(kernel, 0, limits);
      } else {
        const std::size_t warps = (count + width - 1) / width;
        return launcher.launch_independent(kernel, static_cast<unsigned>(warps), limits);
      }
    };
    const auto either = [&]<class Intersection>(const SceneView<Intersection>& view) {
      return any ? launch(TraceKernel<Intersection, true>{view.tree, rays, hits, count})
                 : launch(TraceKernel<Intersection, false>{view.tree, rays, hits, count});
    };
    return scene.watertight ? either(view<kdtree::WatertightIntersection>(scene))
                            : either(view<ScratchIntersection>(scene));
  }

  static void count_steps(const simt::DeviceId& device, const SceneData& scene,
                          const kdtree::Ray* rays, std::size_t count, StepSums* sums,
                          const simt::LaunchLimits& limits) {
    const Launcher launcher(device);
    with_intersection(scene, [&]<class Intersection>(const SceneView<Intersection>& view) {
      return launcher.launch(CountKernel<Intersection>{view.tree, rays, count, sums}, 0, limits);
    });
  }

  static void count(const simt::DeviceId& device, const CountPixels& pixels, std::size_t n) {
    Launcher(device).for_each(n, pixels);
  }
  static void develop(const simt::DeviceId& device, const DevelopPixels& pixels, std::size_t n) {
    Launcher(device).for_each(n, pixels);
  }
  static std::uint64_t hash(const simt::DeviceId& device, const kdtree::DeviceTree& tree) {
    return kdtree::structural_hash(Launcher(device), tree);
  }

  static constexpr Backend table{&order,       &fill_records, &render,  &trace,
                                 &count_steps, &count,        &develop, &hash};
};

}  // namespace heapwood::render
