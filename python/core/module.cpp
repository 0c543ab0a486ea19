// SPDX-License-Identifier: MIT
// heapwood._core: the Python module. Everything that takes time runs without the interpreter's
// lock. Names, defaults and documentation of the package are in python/heapwood/.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <system_error>
#include <tuple>
#include <type_traits>

#include "python/core/caller_arrays.hpp"
#include "python/core/gpu_heap.hpp"
#include "scenes/scene.hpp"
#include "simt/device.hpp"

namespace heapwood::python {

namespace {

using OptionalArray = std::optional<ReadArray>;
using OptionalOutput = std::optional<WriteArray>;
using Outputs = std::vector<OptionalOutput>;
using Streams = std::vector<std::uintptr_t>;  // the caller's streams to wait for
using Triple = std::tuple<double, double, double>;

// Raises an exception of heapwood/_errors.py.
void raise(const char* class_name, const std::string& message) {
  const nb::object type = nb::module_::import_("heapwood._errors").attr(class_name);
  PyErr_SetString(type.ptr(), message.c_str());
}

void translate(const std::exception_ptr& exception, void*) {
  try {
    std::rethrow_exception(exception);
  } catch (const std::bad_alloc&) {
    raise("OutOfMemory", "cpu: memory is exhausted");
  } catch (const std::system_error& error) {  // a thread could not start
    raise("Error", std::string("cpu: ") + error.what());
  } catch (const Error& error) {
    const std::string message = error.what();
    // simt::device_allocate throws no type of its own, so its message is recognized. The advice at
    // its end is about the command line and is removed.
    const std::string no_memory = ": cannot allocate ", advice = "; use a smaller --pool";
    if (error.exit() == Exit::failed && message.find(no_memory) != std::string::npos) {
      raise("OutOfMemory", message.substr(0, message.find(advice)));
    } else if (error.exit() == Exit::usage) {
      PyErr_SetString(PyExc_ValueError, message.c_str());
    } else {
      raise(error.exit() == Exit::scene    ? "SceneError"
            : error.exit() == Exit::device ? "DeviceError"
                                           : "Error",
            message);
    }
  }
}

void raise_pending_signal() {
  const nb::gil_scoped_acquire lock;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

const registry::RegisteredAllocator& find_allocator(const std::string& id,
                                                    const simt::DeviceInfo& device) {
  const registry::RegisteredAllocator* const found = registry::find(id);
  if (found == nullptr || found->traits->frees == alloc::Frees::all_at_once) {
    std::string ids;
    for (const registry::RegisteredAllocator& entry : registry::allocators()) {
      if (entry.traits->frees != alloc::Frees::all_at_once)
        ids += (ids.empty() ? "" : ", ") + std::string(entry.traits->id);
    }
    throw Error(Exit::usage, "allocator '" + id + "': expected one of " + ids);
  }
  if (found->on(device.id.kind) == nullptr)
    throw Error(Exit::device, "allocator '" + id + "': not compiled for " + device.key);
  return *found;
}

kdtree::SahCosts find_costs(const std::string& name) {
  std::string names;
  for (const kdtree::CostPreset& preset : kdtree::cost_presets) {
    if (name == preset.name) return preset.costs;
    names += (names.empty() ? "" : ", ") + std::string(preset.name);
  }
  throw Error(Exit::usage, "prefer '" + name + "': expected one of " + names);
}

// Checked rays or points, with the arrays whose memory they use.
class RayInput {
 public:
  // The arrays of points_of() or rays_of(), and what is the same for all rays without an array.
  RayInput(std::vector<OptionalArray> arrays, float t_min, float t_max, std::uint32_t scene,
           std::uint32_t mask, int side, bool is_points)
      : arrays_(std::move(arrays)) {
    std::vector<OptionalFacts> facts;
    for (const OptionalArray& array : arrays_) {
      facts.emplace_back();
      if (array) facts.back() = ArrayFacts::of(*array);
    }
    rays = is_points ? points_of(*facts.at(0), facts.at(3)) : rays_of(facts);
    rays.arrays.t_min.all = t_min;
    rays.arrays.t_max.all = t_max;
    rays.filter.scene.all = scene;
    rays.filter.mask.all = mask;
    rays.filter.side = side;
  }

  nb::tuple shape() const {
    nb::list extents;
    for (const std::size_t extent : rays.shape) extents.append(extent);
    return nb::tuple(extents);
  }

  Rays rays;

 private:
  std::vector<OptionalArray> arrays_;
};

template <class T>
nb::ndarray<nb::numpy> to_numpy(std::vector<T> values) {
  auto* const owner = new std::vector<T>(std::move(values));
  const nb::capsule capsule(owner,
                            [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  const std::size_t shape[] = {owner->size() / 3, 3};
  return nb::ndarray<nb::numpy>(owner->data(), 2, shape, capsule, nullptr, nb::dtype<T>());
}

// The arrays of a mesh that load() returns: vertices, in the caller's coordinates, and triangles.
template <class F>
nb::tuple mesh_arrays(F load) {
  std::vector<double> coordinates;
  std::vector<std::uint32_t> indices;
  {
    const nb::gil_scoped_release released;
    const scenes::Mesh mesh = load();
    for (const Vec3& v : mesh.vertices) {
      const Vec3d p = mesh.origin + to_double(v);
      coordinates.insert(coordinates.end(), {p.x, p.y, p.z});
    }
    for (const Triangle& t : mesh.triangles) indices.insert(indices.end(), t.v, t.v + 3);
  }
  return nb::make_tuple(to_numpy(std::move(coordinates)), to_numpy(std::move(indices)));
}

class Scene {
 public:
  Scene(const ReadArray& vertices, const ReadArray& triangles, const std::string& device,
        int threads, bool watertight, const std::string& allocator, const std::string& prefer,
        std::size_t batch_bytes, bool keep_workspace, const Streams& streams,
        const ReadArray& poses, const ReadArray& masks) {
    const ArrayFacts corners = ArrayFacts::of(vertices), indices = ArrayFacts::of(triangles);
    const MeshArray corner_array = mesh_array("vertices", corners),
                    index_array = mesh_array("triangles", indices);
    const std::vector<double> numbers = numbers_of<double>(poses);
    const std::vector<std::uint32_t> bits = numbers_of<std::uint32_t>(masks);
    const nb::gil_scoped_release released;
    // Restored because looking for devices changes the current one.
    const simt::CallerDevice restored(
        {device == "cpu" ? simt::DeviceKind::cpu : simt::DeviceKind::cuda, 0, 0});
    MeshOptions options;
    // If no device is requested, the scene goes to the GPU that has the arrays.
    const bool follow = device == "auto" && corners.on_gpu;
    options.device = simt::find_device(follow ? device_text(true, corners.gpu) : device, threads);
    check_device("vertices", corners.on_gpu, corners.gpu, options.device);
    check_device("triangles", indices.on_gpu, indices.gpu, options.device);
    options.watertight = watertight;
    options.allocator = &find_allocator(allocator, options.device);
    options.costs = find_costs(prefer);
    options.batch_bytes = batch_bytes;
    options.keeps_workspace = keep_workspace;
    wait(options.device, streams);
    mesh_ = std::make_shared<TracedMesh>(corner_array, index_array, options, numbers, bits);
  }

  // Scenes for cast() and find_any(), on one device and of one test.
  explicit Scene(const std::vector<const Scene*>& scenes) : mesh_(scenes.at(0)->mesh_) {
    std::vector<std::shared_ptr<const TracedMesh>> meshes;
    for (const Scene* const scene : scenes) meshes.push_back(scene->mesh_);
    batch_ = std::make_unique<TracedBatch>(std::move(meshes));
  }

  void update(const ReadArray& vertices, const Streams& streams, const ReadArray& poses) {
    const ArrayFacts facts = ArrayFacts::of(vertices);
    const MeshArray array = mesh_array("vertices", facts);
    check_device("vertices", facts.on_gpu, facts.gpu, mesh_->device());
    const std::vector<double> numbers = numbers_of<double>(poses);
    const nb::gil_scoped_release released;
    const simt::CallerDevice restored(mesh_->device().id);
    wait(mesh_->device(), streams);
    mesh_->update(array, numbers);
  }

  // results: t_hit, primitive_ids, primitive_uvs, primitive_normals.
  void cast(const RayInput& input, const Streams& streams, const Outputs& results) const {
    trace(input, streams, hit_arrays(input, "t_hit", results));
  }

  void find_any(const RayInput& input, const Streams& streams, const WriteArray& any) const {
    trace(input, streams, any_array(input, any));
  }

  // results: distance, points, primitive_ids, primitive_uvs, primitive_normals.
  void closest(const RayInput& input, const Streams& streams, const Outputs& results) const {
    HitArrays out = hit_arrays(input, "distance", results);
    out.point.is_double = input.rays.arrays.origins.is_double;
    out.point.data = output<std::byte>(
        "points", results.at(1), out.point.is_double ? "float64" : "float32", input.rays, {3});
    query_points(input, streams, out, true, false);
  }

  void signed_distance(const RayInput& input, const Streams& streams,
                       const WriteArray& distance) const {
    query_points(input, streams, hit_arrays(input, "out", {distance, {}, {}, {}}), true, true);
  }

  void contains(const RayInput& input, const Streams& streams, const WriteArray& inside) const {
    query_points(input, streams, any_array(input, inside), false, true);
  }

  void count(const RayInput& input, const Streams& streams, const WriteArray& counts,
             bool unique) const {
    auto* const out = output<std::uint32_t>("out", counts, "uint32", input.rays, {});
    run(input.rays, streams, [&](const RayQuery& query) { mesh_->count(query, unique, out); });
  }

  // allocate(entries) must return the arrays of the splits, rays, distances, triangles and weights.
  nb::object list(const RayInput& input, const Streams& streams, bool unique,
                  const nb::callable& allocate) const {
    nb::object results;
    run(input.rays, streams, [&](const RayQuery& query) {
      mesh_->list(query, unique, [&](const std::vector<std::int64_t>& splits) {
        const nb::gil_scoped_acquire lock;
        results = allocate(splits.back());
        const auto arrays = nb::cast<std::vector<WriteArray>>(results);
        if (arrays.size() != 5) throw Error(Exit::usage, "allocate: expected five arrays");
        const auto bytes = splits.size() * sizeof splits.front();
        simt::device_upload(input.rays.on_gpu ? mesh_->device().id : simt::DeviceId{},
                            arrays[0].data(), splits.data(), bytes);
        return ListArrays{
            static_cast<std::uint32_t*>(arrays[1].data()), static_cast<float*>(arrays[2].data()),
            static_cast<std::uint32_t*>(arrays[3].data()), static_cast<float*>(arrays[4].data())};
      });
    });
    return results;
  }

  void render(const WriteArray& picture, const std::string& mode,
              const std::optional<std::tuple<Triple, Triple>>& view, const std::string& up,
              double fov, unsigned spp, std::uint32_t seed) const {
    const ArrayFacts facts = ArrayFacts::of(picture);
    render::RenderJob job;
    job.mode = render::parse_mode(mode);
    job.height = static_cast<unsigned>(facts.shape.at(0));
    job.width = static_cast<unsigned>(facts.shape.at(1));
    job.spp = spp;
    job.seed = seed;
    if (up != "x" && up != "y" && up != "z")
      throw Error(Exit::usage, "up '" + up + "': expected x, y or z");
    job.camera.up = static_cast<unsigned>(up[0] - 'x');
    job.camera.fov = static_cast<float>(fov);
    std::optional<Camera> camera;
    if (view) {
      const auto& [eye, target] = *view;
      camera = Camera{{std::get<0>(eye), std::get<1>(eye), std::get<2>(eye)},
                      {std::get<0>(target), std::get<1>(target), std::get<2>(target)}};
    }
    job.progress = [](unsigned, unsigned) { raise_pending_signal(); };
    const nb::gil_scoped_release released;
    const simt::CallerDevice restored(mesh_->device().id);
    const render::Image image = mesh_->render(job, camera);
    std::memcpy(facts.data, image.pixels.data(), image.pixels.size() * sizeof(render::Rgb8));
  }

  // The members of Tree (python/heapwood/_scene.py), in their order.
  nb::tuple stats() const {
    const MeshStats stats = without_lock([&] {
      const simt::CallerDevice restored(mesh_->device().id);
      return mesh_->stats();
    });
    const kdtree::TreeStats& tree = stats.tree;
    return nb::make_tuple(tree.inner + tree.leaves, tree.leaves, tree.empty_leaves, tree.refs,
                          tree.largest_leaf, tree.depth, tree.sah_cost_1_1, tree.hash,
                          !stats.incomplete, stats.build_ms, stats.tree_bytes, stats.record_bytes,
                          stats.mesh_bytes, stats.builder_bytes);
  }

  nb::tuple mesh() const {
    return mesh_arrays([&] {
      const simt::CallerDevice restored(mesh_->device().id);
      return mesh_->download();
    });
  }

  std::tuple<Triple, Triple> bounds() const {
    const TracedMesh::Bounds box = without_lock([&] { return mesh_->bounds(); });
    return {{box.lo.x, box.lo.y, box.lo.z}, {box.hi.x, box.hi.y, box.hi.z}};
  }
  std::string device() const { return mesh_->device().key; }
  bool watertight() const { return mesh_->watertight(); }
  std::size_t vertices() const { return mesh_->vertices(); }
  std::size_t triangles() const { return mesh_->triangles(); }

 private:
  // A copy of an array in host memory whose numbers have this type.
  template <class T>
  static std::vector<T> numbers_of(const ReadArray& array) {
    const auto* const first = static_cast<const T*>(array.data());
    return {first, first + array.size()};
  }

  // Runs f, which may wait for an update(), without the interpreter's lock.
  template <class F>
  static std::invoke_result_t<F> without_lock(F f) {
    const nb::gil_scoped_release released;
    return f();
  }

  static void wait(const simt::DeviceInfo& device, const Streams& streams) {
    for (const std::uintptr_t stream : streams) simt::wait_for_stream(device.id, stream);
  }

  void check(const Rays& rays) const {
    check_device("rays", rays.on_gpu, rays.gpu, mesh_->device());
  }

  template <class T>
  T* output(const char* what, const OptionalOutput& array, const char* type, const Rays& rays,
            const std::vector<std::size_t>& more) const {
    check(rays);
    if (!array) return nullptr;
    return static_cast<T*>(output_of(what, ArrayFacts::of(*array), type, rays, more));
  }

  // What rays and closest points have in common.
  HitArrays hit_arrays(const RayInput& input, const char* distance_name,
                       const Outputs& results) const {
    const Rays& rays = input.rays;
    const std::size_t first = results.size() - 3;  // of the triangle
    HitArrays out;
    out.t = output<float>(distance_name, results.at(0), "float32", rays, {});
    out.triangle = output<std::uint32_t>("primitive_ids", results.at(first), "uint32", rays, {});
    out.uv = output<float>("primitive_uvs", results.at(first + 1), "float32", rays, {2});
    out.normal = output<float>("primitive_normals", results.at(first + 2), "float32", rays, {3});
    return out;
  }

  HitArrays any_array(const RayInput& input, const WriteArray& any) const {
    HitArrays out;
    out.any = output<std::uint8_t>("out", any, "bool8", input.rays, {});
    return out;
  }

  void trace(const RayInput& input, const Streams& streams, const HitArrays& out) const {
    run(input.rays, streams, [&](const RayQuery& query) {
      batch_ ? batch_->trace(query, out) : mesh_->trace(query, out);
    });
  }

  void query_points(const RayInput& input, const Streams& streams, const HitArrays& out,
                    bool closest, bool inside) const {
    run(input.rays, streams,
        [&](const RayQuery& query) { mesh_->query_points(query, out, closest, inside); });
  }

  template <class F>
  void run(const Rays& rays, const Streams& streams, F query) const {
    check(rays);
    const nb::gil_scoped_release released;
    const simt::CallerDevice restored(mesh_->device().id);
    wait(mesh_->device(), streams);
    query(RayQuery{rays.arrays, rays.count, rays.on_gpu, raise_pending_signal, rays.filter});
  }

  std::shared_ptr<TracedMesh> mesh_;
  std::unique_ptr<TracedBatch> batch_;  // of a Scene of scenes
};

nb::tuple load_mesh(const std::string& source) {
  return mesh_arrays([&] {
    scenes::Mesh mesh = scenes::load(source);
    scenes::require_triangles(mesh, source);
    return mesh;
  });
}

nb::dlpack::dtype type_of(const std::string& name) {
  static const std::map<std::string, nb::dlpack::dtype> types{
      {"float32", nb::dtype<float>()},
      {"float64", nb::dtype<double>()},
      {"int32", nb::dtype<std::int32_t>()},
      {"int64", nb::dtype<std::int64_t>()},
      {"uint32", nb::dtype<std::uint32_t>()},
      {"uint64", nb::dtype<std::uint64_t>()},
      {"bool", nb::dtype<bool>()}};
  const auto found = types.find(name);
  if (found == types.end()) throw Error(Exit::usage, "dtype '" + name + "': not supported");
  return found->second;
}

// Another library's array on a GPU, which `owner` keeps alive.
nb::ndarray<nb::array_api> wrap_gpu_array(std::uintptr_t pointer,
                                          const std::vector<std::size_t>& shape,
                                          const std::string& type, int gpu, nb::object owner) {
  return {
      reinterpret_cast<void*>(pointer), shape.size(), shape.data(), owner, nullptr, type_of(type),
      nb::device::cuda::value,          gpu};
}

// A new array on a GPU.
nb::ndarray<nb::array_api> new_gpu_array(const std::vector<std::size_t>& shape,
                                         const std::string& type, int gpu) {
  const nb::dlpack::dtype number = type_of(type);
  std::size_t bytes = number.bits / 8;
  for (const std::size_t extent : shape) bytes *= extent;
  auto* const memory = new simt::Memory(simt::DeviceId{simt::DeviceKind::cuda, gpu, 0},
                                        std::max<std::size_t>(bytes, 1));
  const nb::capsule owner(memory, [](void* p) noexcept { delete static_cast<simt::Memory*>(p); });
  return {memory->data(),          shape.size(), shape.data(), owner, nullptr, number,
          nb::device::cuda::value, gpu};
}

std::unique_ptr<GpuHeap> make_heap(const std::string& device, std::size_t bytes,
                                   std::size_t max_bytes) {
  const simt::DeviceInfo info = simt::find_device(device);
  if constexpr (simt::has_cuda) {
    if (info.id.kind == simt::DeviceKind::cuda)
      return make_gpu_heap(info.id.index, bytes, max_bytes);
  }
  throw Error(Exit::device, "device '" + device + "': a Heap is on a GPU");
}

}  // namespace

}  // namespace heapwood::python

NB_MODULE(_core, m) {
  using namespace heapwood::python;
  nb::register_exception_translator(translate);
  nb::class_<RayInput>(m, "RayInput")
      .def(nb::init<std::vector<OptionalArray>, float, float, std::uint32_t, std::uint32_t, int,
                    bool>())
      .def_prop_ro("shape", &RayInput::shape)
      .def_prop_ro("count", [](const RayInput& input) { return input.rays.count; })
      .def_prop_ro("is_double",
                   [](const RayInput& input) { return input.rays.arrays.origins.is_double; });
  nb::class_<Scene>(m, "Scene")
      .def(nb::init<const ReadArray&, const ReadArray&, const std::string&, int, bool,
                    const std::string&, const std::string&, std::size_t, bool, const Streams&,
                    const ReadArray&, const ReadArray&>())
      .def(nb::init<const std::vector<const Scene*>&>())
      .def("update", &Scene::update)
      .def("cast", &Scene::cast)
      .def("find_any", &Scene::find_any)
      .def("closest", &Scene::closest)
      .def("signed_distance", &Scene::signed_distance)
      .def("contains", &Scene::contains)
      .def("count", &Scene::count)
      .def("list", &Scene::list)
      .def("render", &Scene::render, nb::arg("picture"), nb::arg("mode"), nb::arg("view").none(),
           nb::arg("up"), nb::arg("fov"), nb::arg("spp"), nb::arg("seed"))
      .def("stats", &Scene::stats)
      .def("mesh", &Scene::mesh)
      .def_prop_ro("bounds", &Scene::bounds)
      .def_prop_ro("device", &Scene::device)
      .def_prop_ro("watertight", &Scene::watertight)
      .def_prop_ro("vertices", &Scene::vertices)
      .def_prop_ro("triangles", &Scene::triangles);
  nb::class_<GpuHeap>(m, "GpuHeap")
      .def("handle",
           [](const GpuHeap& heap) {
             const std::string bytes = heap.handle();
             return nb::bytes(bytes.data(), bytes.size());
           })
      .def("address", &GpuHeap::address)
      .def("stats", &GpuHeap::stats)
      .def("reset", &GpuHeap::reset)
      .def("make_room", &GpuHeap::make_room)
      .def("shrink", &GpuHeap::shrink);
  m.def("make_heap", &make_heap);
  m.def("load_mesh", &load_mesh);
  m.def("wrap_gpu_array", &wrap_gpu_array);
  m.def("new_gpu_array", &new_gpu_array);
}
