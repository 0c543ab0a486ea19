// SPDX-License-Identifier: MIT
#include "python/core/traced_mesh.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <sstream>

#include "kdtree/traverse/triangle_records.hpp"
#include "python/core/queries.hpp"
#include "render/auto_camera.hpp"

namespace heapwood::python {

namespace {

constexpr std::size_t pool_unit = std::size_t{1} << 16, min_pool = std::size_t{4} << 20,
                      max_small_cache = std::size_t{128} << 20;
constexpr double build_seconds = 3600;
// The min SahCosts::traversal on CPU threads, where larger leaves make builds and rays faster.
constexpr float cpu_traversal = 6;
// Max rays per batch. A query can be interrupted between batches.
constexpr std::size_t max_batch = std::size_t{1} << 22;

std::string to_text(const Rows& vertices, std::size_t i) {
  return "(" + std::to_string(vertices.at(i, 0)) + ", " + std::to_string(vertices.at(i, 1)) + ", " +
         std::to_string(vertices.at(i, 2)) + ")";
}

Rows rows_of(const MeshArray& array) { return {array.data, 3, array.type == "float64"}; }

std::size_t bytes_of(const MeshArray& array) {
  return array.rows * 3 * (array.type.ends_with("64") ? 8 : 4);
}

// An array of the caller in the memory of a GPU or of the host, copied there if necessary.
class Placed {
 public:
  Placed(const MeshArray& array, bool on_gpu, const simt::DeviceId& device) : array_(array) {
    if (array.on_gpu == on_gpu) return;
    copy_ = simt::Memory(on_gpu ? device : simt::DeviceId{}, bytes_of(array));
    if (on_gpu)
      simt::device_upload(device, copy_.data(), array.data, copy_.bytes());
    else
      simt::device_download(device, copy_.data(), array.data, copy_.bytes());
    array_.data = copy_.data();
    array_.on_gpu = on_gpu;
  }
  const MeshArray& array() const { return array_; }

 private:
  MeshArray array_;
  simt::Memory copy_;
};

IndexRows::Type index_type(const MeshArray& triangles) {
  if (triangles.type == "int32") return IndexRows::Type::int32;
  if (triangles.type == "uint32") return IndexRows::Type::uint32;
  return triangles.type == "int64" ? IndexRows::Type::int64 : IndexRows::Type::uint64;
}

// The triangles of an array in host memory; checks each index.
std::vector<Triangle> triangles_of(const MeshArray& array, std::size_t vertices) {
  const IndexRows from{array.data, index_type(array)};
  std::vector<Triangle> triangles(array.rows);
  for (std::size_t i = 0; i < array.rows; ++i) {
    for (unsigned k = 0; k < 3; ++k) {
      const std::uint64_t v = from.at(i, k);
      if (v >= vertices) {
        const bool is_signed =
            from.type == IndexRows::Type::int32 || from.type == IndexRows::Type::int64;
        throw Error(Exit::scene, "triangles: triangle " + std::to_string(i) + " refers to vertex " +
                                     (is_signed ? std::to_string(static_cast<std::int64_t>(v))
                                                : std::to_string(v)) +
                                     ", but there are " + std::to_string(vertices));
      }
      triangles[i].v[k] = static_cast<std::uint32_t>(v);
    }
  }
  return triangles;
}

bool is_finite(const Rows& vertices, std::size_t i) {
  constexpr double max_float = std::numeric_limits<float>::max();
  return std::abs(vertices.at(i, 0)) <= max_float && std::abs(vertices.at(i, 1)) <= max_float &&
         std::abs(vertices.at(i, 2)) <= max_float;
}

// Checks vertices in host memory. A vertex that no triangle refers to may have any coordinates.
void check_finite(const Rows& vertices, std::size_t count, const std::vector<Triangle>& triangles) {
  std::size_t i = 0;
  while (i < count && is_finite(vertices, i)) ++i;
  if (i == count) return;
  std::size_t first = count;
  for (const Triangle& t : triangles) {
    for (const std::size_t v : t.v) {
      if (v < first && !is_finite(vertices, v)) first = v;
    }
  }
  if (first < count) {
    throw Error(Exit::scene, "vertices: vertex " + std::to_string(first) +
                                 " is not finite in single precision " + to_text(vertices, first));
  }
}

// Throws an error that says which vertex, or which placed vertex, is not finite.
[[noreturn]] void refuse(const MeshArray& vertices, const std::vector<Triangle>& triangles,
                         const simt::DeviceId& device) {
  const Placed corners(vertices, false, device);
  check_finite(rows_of(corners.array()), vertices.rows, triangles);
  throw Error(Exit::scene, "transforms: a placed vertex is not finite in single precision");
}

// Refuses sizes whose products leave single precision: rays would miss without an error.
void check_size(const Vec3d& lo, const Vec3d& hi) {
  constexpr double min_size = 1e-12, max_size = 1e15;
  const Vec3d extent = hi - lo;
  const double size = std::max({extent.x, extent.y, extent.z});
  if (size == 0 || (size >= min_size && size <= max_size)) return;
  std::ostringstream text;
  text << "vertices: the scene is " << size << " long: expected " << min_size << " to " << max_size
       << "; scale it and the rays";
  throw Error(Exit::scene, text.str());
}

// Makes the memory at least as large as `bytes`; with `spare`, by an eighth larger than that.
void enlarge(simt::Memory& memory, const simt::DeviceId& device, std::size_t bytes, bool spare) {
  if (bytes <= memory.bytes()) return;
  memory = {};  // released first, so that both blocks need not fit together
  memory = simt::Memory(device, spare ? bytes + bytes / 8 : bytes);
}

// Lets malloc keep freed memory for the next query: getting pages from the kernel again takes 5 to
// 20% of a query's time. glibc keeps up to twice the size of the largest block that has been freed,
// not counting blocks from 32 MiB on.
void keep_freed_memory() {
  void* volatile const block = std::malloc(std::size_t{31} << 20);
  std::free(block);
}

Vec3d moved_back(const Vec3d& origin, const Vec3& v) { return origin + to_double(v); }

}  // namespace

TracedMesh::TracedMesh(const MeshArray& vertices, const MeshArray& triangles,
                       const MeshOptions& options, const std::vector<double>& poses,
                       const std::vector<std::uint32_t>& masks)
    : options_(options),
      masks_(options.device.id, masks),
      hides_triangles_(std::ranges::find(masks, 0u) != masks.end()) {
  if (options_.device.id.kind == simt::DeviceKind::cpu) {
    keep_freed_memory();
    options_.costs.traversal = std::max(options_.costs.traversal, cpu_traversal);
  }
  load(vertices, triangles, poses);
  build();
}

void TracedMesh::load(const MeshArray& vertices, const MeshArray& triangles,
                      const std::vector<double>& numbers) {
  if (triangles.rows == 0)
    throw Error(Exit::scene, "triangles: there are none: a scene needs at least one");
  if (triangles.rows > kdtree::max_triangles) {
    throw Error(Exit::scene, "triangles: " + std::to_string(triangles.rows) + ": at most " +
                                 std::to_string(kdtree::max_triangles) + " in a scene");
  }
  if (vertices.rows > std::numeric_limits<std::uint32_t>::max()) {
    throw Error(Exit::scene,
                "vertices: " + std::to_string(vertices.rows) + ": at most 2^32 - 1 in a scene");
  }
  const simt::DeviceId& device = options_.device.id;
  const bool gpu = device.kind == simt::DeviceKind::cuda;
  const Placed corners(vertices, gpu, device), indices(triangles, gpu, device);
  const Rows rows = rows_of(corners.array());
  const StagingPool::Lease staging(staging_, device);
  const Poses poses = (*staging).poses(numbers);
  simt::Buffer<Triangle> loaded_triangles(device, triangles.rows);
  const std::optional<MeshBounds> bounds =
      queries(device).load_triangles(device, {indices.array().data, index_type(triangles)}, rows,
                                     poses, vertices.rows, loaded_triangles.data(), triangles.rows);
  if (!bounds) {
    const Placed on_host(triangles, false, device);
    refuse(vertices, triangles_of(on_host.array(), vertices.rows), device);
  }
  check_size(bounds->lo, bounds->hi);
  origin_ = scenes::origin_for(bounds->lo, bounds->hi);
  vertices_ = vertices.rows;
  simt::Buffer<Vec3> loaded_vertices(device, vertices.rows);
  queries(device).load_vertices(device, rows, poses, origin_, loaded_vertices.data(), vertices.rows,
                                (*staging).word());
  mesh_ =
      std::make_unique<kdtree::DeviceMesh>(std::move(loaded_vertices), std::move(loaded_triangles));
}

// The size of the first pool: that of `--pool fast` for small meshes, else about four times what is
// in use at the peak. Larger pools save little time with large meshes (docs/performance.md).
std::size_t TracedMesh::first_pool() const {
  const alloc::AllocatorTraits& traits = *options_.allocator->traits;
  const bool gpu = options_.device.id.kind == simt::DeviceKind::cuda;
  const std::size_t warps =
      options_.device.multiprocessors * std::size_t{gpu ? kdtree::warps_per_multiprocessor : 1};
  const std::size_t needed =
      kdtree::Workspace::suggested_pool(triangles(), kdtree::RefKind::clipped, !traits.lower_bound);
  const std::size_t cached = kdtree::Workspace::useful_cache(
      triangles(), kdtree::RefKind::clipped,
      std::min({warps * traits.cache_bytes_per_warp, options_.device.memory_bytes / 16,
                std::max(max_small_cache, needed / 4 * 7)}));
  return alloc::round_up(std::max(needed + cached, min_pool), pool_unit);
}

bool TracedMesh::enlarge_pool() {
  const std::size_t now = workspace_->pool().bytes, more = alloc::round_up(now / 2 * 3, pool_unit);
  std::size_t available = simt::device_available(options_.device.id);
  if (options_.device.id.kind == simt::DeviceKind::cuda) available += now;
  if (more > std::min(available / 10 * 9, 64 * first_pool())) return false;
  workspace_->resize_pool(more);
  return true;
}

void TracedMesh::build() {
  const simt::DeviceId& device = options_.device.id;
  has_tree_ = false;
  ordered_ = {};
  const registry::CompiledAllocator& allocator = *options_.allocator->on(device.kind);
  kdtree::BuildOptions options;
  options.costs = options_.costs;
  options.seconds = build_seconds;
  if (!workspace_) {
    workspace_ =
        std::make_unique<kdtree::Workspace>(*mesh_, kdtree::RefKind::clipped, first_pool());
  }
  workspace_->set_allocator_options(options_.allocator->options);
  kdtree::BuildRun run = allocator.build(*workspace_, options);
  while (run.incomplete && enlarge_pool()) run = allocator.build(*workspace_, options);
  incomplete_ = run.incomplete;
  build_ms_ = run.ms;
  tree_ = workspace_->device_tree();
  if (device.kind == simt::DeviceKind::cuda && !(has_moved_ && options_.keeps_workspace)) {
    // Depth-first order makes rays a few percent faster (docs/rays.md), but takes 0.2 to 0.6 times
    // as long as a build. So a mesh that moves is not reordered.
    simt::Memory pool;
    workspace_->swap_pool(pool);
    render::backend(device).order(device, tree_, ordered_, std::move(pool));
    const Box bounds = tree_.bounds;
    tree_ = ordered_.view();
    tree_.bounds = bounds;
    // The workspace is several times as large as the tree: it is kept only from the first update
    // on.
    workspace_.reset();
  }
  fill_records();
  has_tree_ = true;
}

void TracedMesh::fill_records() {
  const simt::DeviceId& device = options_.device.id;
  enlarge(records_, device, tree_.ref_count * sizeof(kdtree::PlaneRecord), workspace_ != nullptr);
  has_corner_records_ = false;
  has_normals_ = false;
  stats_.reset();
  render::backend(device).fill_records(device, data(options_.watertight), records_.data());
}

render::SceneData TracedMesh::data(bool watertight) const {
  return {watertight,
          tree_.nodes,
          records_.data(),
          tree_.refs,
          tree_.ref_count,
          mesh_->vertices.data(),
          mesh_->triangles.data(),
          static_cast<std::uint32_t>(mesh_->triangles.size()),
          tree_.bounds,
          {}};
}

render::SceneData TracedMesh::corner_data() const {
  render::SceneData scene = data(true);
  if (options_.watertight) return scene;
  const simt::DeviceId& device = options_.device.id;
  const std::lock_guard lock(lazy_mutex_);
  if (!has_corner_records_) {
    enlarge(corner_records_, device, tree_.ref_count * sizeof(kdtree::CornerRecord),
            workspace_ != nullptr);
    render::backend(device).fill_records(device, scene, corner_records_.data());
    has_corner_records_ = true;
  }
  scene.records = corner_records_.data();
  return scene;
}

const kdtree::Row* TracedMesh::unit_normals(const render::SceneData& scene) const {
  const std::lock_guard lock(lazy_mutex_);
  if (!has_normals_) {
    const simt::DeviceId& device = options_.device.id;
    if (normals_.size() == 0) normals_ = simt::Buffer<kdtree::Row>(device, scene.triangle_count);
    queries(device).fill_normals(device, scene, normals_.data());
    has_normals_ = true;
  }
  return normals_.data();
}

void TracedMesh::require_tree() const {
  if (!has_tree_)
    throw Error(Exit::failed, "scene: the last update() failed: update it again before a query");
}

void TracedMesh::update(const MeshArray& vertices, const std::vector<double>& numbers) {
  const std::unique_lock lock(mutex_);
  ++updates_;
  if (vertices.rows != vertices_) {
    throw Error(Exit::usage, "vertices: " + std::to_string(vertices.rows) + ": expected " +
                                 std::to_string(vertices_) +
                                 ", as many as the scene has; a mesh with others is a new scene");
  }
  const simt::DeviceId& device = options_.device.id;
  const StagingPool::Lease staging(staging_, device);
  Rows rows = rows_of(vertices);
  if (device.kind == simt::DeviceKind::cuda && !vertices.on_gpu)
    rows.data = (*staging).copy(vertices.data, bytes_of(vertices));
  if (next_vertices_.size() == 0) next_vertices_ = simt::Buffer<Vec3>(device, vertices.rows);
  Vec3d origin = origin_;
  const Poses poses = (*staging).poses(numbers);
  if (poses.count > 0) {
    Triangle* const own = mesh_->triangles.data();
    const std::optional<MeshBounds> bounds = queries(device).load_triangles(
        device, {own, IndexRows::Type::uint32}, rows, poses, vertices_, own, triangles());
    if (!bounds) refuse(vertices, mesh_->triangles.download(), device);
    check_size(bounds->lo, bounds->hi);
    origin = scenes::origin_for(bounds->lo, bounds->hi);
  }
  const std::size_t invalid = queries(device).load_vertices(
      device, rows, poses, origin, next_vertices_.data(), vertices.rows, (*staging).word());
  if (invalid < vertices.rows) {
    const Placed corners(vertices, false, device);
    check_finite(rows_of(corners.array()), vertices.rows, mesh_->triangles.download());
  }
  std::swap(mesh_->vertices, next_vertices_);
  std::swap(origin_, origin);
  has_moved_ = true;
  build();
  try {
    check_size(to_double(tree_.bounds.lo), to_double(tree_.bounds.hi));
  } catch (const Error&) {
    std::swap(mesh_->vertices, next_vertices_);
    origin_ = origin;
    build();
    throw;
  }
  if (!workspace_) next_vertices_ = {};
}

// Calls f(job, first, staged) for batches of rays, which are copied to the device if necessary.
template <class F>
void TracedMesh::for_batches(const RayQuery& query, std::size_t result_bytes, Staging& staging,
                             F f) const {
  const bool gpu = options_.device.id.kind == simt::DeviceKind::cuda;
  const bool staged = gpu && !query.on_gpu;
  // Rays in a GPU's memory need no batches, because a launch ends soon.
  std::size_t batch = gpu && query.on_gpu ? query.count : max_batch;
  if (staged) {
    const std::size_t bytes = Staging::ray_bytes(query.rays) + result_bytes;
    batch = std::min(batch, std::max<std::size_t>(options_.batch_bytes / bytes, 4096));
  }
  for (std::size_t first = 0; first < query.count; first += batch) {
    if (first > 0 && query.between_batches) query.between_batches();
    RayJob job{query.rays.from(first), std::min(batch, query.count - first)};
    job.rays.set_mesh(origin_, tree_.bounds);
    job.filter = query.filter.from(first);
    job.scene_length = length(tree_.bounds.extent());
    if (staged) staging.upload(job);
    f(job, first, staged);
  }
}

// Runs launch(job, results) for batches of rays and their results.
void TracedMesh::run(const RayQuery& query, const HitArrays& out,
                     const std::function<void(const RayJob&, const HitArrays&)>& launch) const {
  const StagingPool::Lease lease(staging_, options_.device.id);
  Staging& staging = *lease;
  constexpr std::size_t max_bytes = 60;  // per ray, of results, numbers of scenes and masks
  for_batches(query, max_bytes, staging, [&](const RayJob& job, std::size_t first, bool staged) {
    const HitArrays wanted = out.from(first);
    launch(job, staged ? staging.results(wanted, job.count) : wanted);
    if (staged) staging.download(wanted, job.count);
  });
}

void TracedMesh::trace(const RayQuery& query, HitArrays out) const {
  if (hides_triangles_ || !query.filter.is_open()) return filtered_.trace(query, out);
  const std::shared_lock lock(mutex_);
  require_tree();
  const simt::DeviceId& device = options_.device.id;
  const render::SceneData scene = data(options_.watertight);
  if (out.normal != nullptr) out.normals = unit_normals(scene);
  const StagingPool::Lease lease(staging_, device);
  run(query, out, [&](const RayJob& job, const HitArrays& results) {
    queries(device).trace(device, scene, job, results, (*lease).word());
  });
}

SceneChoice TracedMesh::choice(bool normals) const {
  require_tree();
  const render::SceneData scene = data(options_.watertight);
  return {scene, origin_, normals ? unit_normals(scene) : nullptr,
          masks_.size() > 0 ? masks_.data() : nullptr};
}

TracedBatch::TracedBatch(std::vector<std::shared_ptr<const TracedMesh>> meshes)
    : meshes_(std::move(meshes)) {
  for (const auto& mesh : meshes_) locked_.push_back(mesh.get());
  std::sort(locked_.begin(), locked_.end());
  locked_.erase(std::unique(locked_.begin(), locked_.end()), locked_.end());
}

void TracedBatch::trace(const RayQuery& query, const HitArrays& out) const {
  std::vector<std::shared_lock<std::shared_mutex>> locks;
  locks.reserve(locked_.size());
  std::uint64_t updates = 0;
  for (const TracedMesh* const mesh : locked_) {
    locks.emplace_back(mesh->mutex_);
    updates += mesh->updates_;
  }
  const TracedMesh& first = *meshes_.front();
  const simt::DeviceId& device = first.options_.device.id;
  const bool normals = out.normal != nullptr;
  std::shared_ptr<const simt::Memory> table;
  {
    const std::lock_guard lock(mutex_);
    if (!table_ || updates_ != updates || (normals && !has_normals_)) {
      table_.reset();
      std::vector<SceneChoice> scenes;
      for (const auto& mesh : meshes_) scenes.push_back(mesh->choice(normals));
      table_ = std::make_shared<simt::Memory>(queries(device).scene_table(device, scenes));
      updates_ = updates;
      has_normals_ = normals;
    }
    table = table_;
  }
  const StagingPool::Lease lease(first.staging_, device);
  std::size_t begin = 0;  // of the batch
  first.run(query, out, [&](const RayJob& job, const HitArrays& results) {
    const std::size_t invalid = queries(device).trace_filtered(
        device, *table, first.options_.watertight, job, results, (*lease).word());
    if (invalid < job.count) {
      throw Error(Exit::usage, "worlds: that of ray " + std::to_string(begin + invalid) +
                                   ": expected 0 to " + std::to_string(meshes_.size() - 1));
    }
    begin += job.count;
  });
}

void TracedMesh::query_points(const RayQuery& query, HitArrays out, bool closest,
                              bool inside) const {
  const std::shared_lock lock(mutex_);
  require_tree();
  const simt::DeviceId& device = options_.device.id;
  const render::SceneData scene = inside ? corner_data() : data(options_.watertight);
  if (out.normal != nullptr) out.normals = unit_normals(scene);
  run(query, out, [&](const RayJob& job, const HitArrays& results) {
    if (closest) queries(device).closest(device, scene, job, results);
    if (inside) queries(device).inside(device, scene, job, results);
  });
}

void TracedMesh::count(const RayQuery& query, bool unique, std::uint32_t* counts) const {
  const std::shared_lock lock(mutex_);
  require_tree();
  const simt::DeviceId& device = options_.device.id;
  const render::SceneData scene = corner_data();
  const StagingPool::Lease lease(staging_, device);
  count_batches(query, unique, scene, *lease, counts, !query.on_gpu);
}

// Counts hits, in host memory if `on_host`, otherwise in the device's.
void TracedMesh::count_batches(const RayQuery& query, bool unique, const render::SceneData& scene,
                               Staging& staging, std::uint32_t* counts, bool on_host,
                               std::vector<KeptHits>* kept) const {
  const simt::DeviceId& device = options_.device.id;
  const bool copied = on_host && device.kind == simt::DeviceKind::cuda;
  for_batches(query, sizeof *counts, staging, [&](RayJob job, std::size_t first, bool) {
    job.unique = unique;
    if (kept != nullptr) job.kept = &kept->emplace_back();
    std::uint32_t* const results = copied ? staging.counts(job.count) : counts + first;
    queries(device).count(device, scene, job, results);
    if (copied) simt::device_download(device, counts + first, results, job.count * sizeof *counts);
  });
}

void TracedMesh::list(
    const RayQuery& query, bool unique,
    const std::function<ListArrays(const std::vector<std::int64_t>&)>& allocate) const {
  const std::shared_lock lock(mutex_);
  require_tree();
  const simt::DeviceId& device = options_.device.id;
  const render::SceneData scene = corner_data();
  const StagingPool::Lease lease(staging_, device);
  Staging& staging = *lease;

  std::vector<std::uint32_t> counts(query.count);
  std::vector<KeptHits> kept;  // per batch
  count_batches(query, unique, scene, staging, counts.data(), true, &kept);
  std::vector<std::int64_t> splits(query.count + 1);
  for (std::size_t i = 0; i < query.count; ++i) splits[i + 1] = splits[i] + counts[i];
  const ListArrays out = allocate(splits);
  if (splits.back() == 0) return;

  auto next_kept = kept.begin();
  for_batches(
      query, sizeof(std::int64_t), staging, [&](RayJob job, std::size_t first, bool staged) {
        job.unique = unique;
        job.kept = &*next_kept++;
        // The positions at which this batch's entries begin in the results' arrays.
        const auto from = splits.begin() + static_cast<std::ptrdiff_t>(first);
        std::vector<std::int64_t> begins(from, from + static_cast<std::ptrdiff_t>(job.count) + 1);
        for (std::int64_t& begin : begins) begin -= *from;
        const auto entries = static_cast<std::size_t>(begins.back());
        if (entries == 0) return;
        const ListArrays wanted = out.from(static_cast<std::size_t>(*from));
        queries(device).list(device, scene, job, staging.splits(begins.data(), begins.size()),
                             static_cast<std::uint32_t>(first),
                             staged ? staging.results(wanted, entries) : wanted);
        if (staged) staging.download(wanted, entries);
      });
}

scenes::Mesh TracedMesh::download() const {
  const std::shared_lock lock(mutex_);
  scenes::Mesh mesh;
  mesh.origin = origin_;
  mesh.vertices = mesh_->vertices.download();
  mesh.triangles = mesh_->triangles.download();
  return mesh;
}

kdtree::Tree TracedMesh::download_tree() const {
  const simt::DeviceId& device = options_.device.id;
  kdtree::Tree tree;
  tree.bounds = tree_.bounds;
  tree.incomplete = incomplete_;
  tree.nodes.resize(tree_.node_count);
  tree.refs.resize(tree_.ref_count);
  simt::device_download(device, tree.nodes.data(), tree_.nodes,
                        tree.nodes.size() * sizeof(kdtree::Node));
  tree.nodes[1] = kdtree::Node::make_leaf(0, 0);
  if (!tree.refs.empty()) {
    simt::device_download(device, tree.refs.data(), tree_.refs,
                          tree.refs.size() * sizeof(std::uint32_t));
  }
  return tree;
}

MeshStats TracedMesh::stats() const {
  const std::shared_lock lock(mutex_);
  require_tree();
  const std::lock_guard lazy(lazy_mutex_);
  if (!stats_) stats_ = kdtree::measure(download_tree(), options_.costs);
  MeshStats stats;
  stats.tree = *stats_;
  stats.incomplete = incomplete_;
  stats.build_ms = build_ms_;
  stats.tree_bytes = (stats_->inner + stats_->leaves) * sizeof(kdtree::Node) +
                     stats_->refs * sizeof(std::uint32_t);
  stats.record_bytes = records_.bytes() + corner_records_.bytes() + normals_.bytes();
  stats.mesh_bytes =
      mesh_->vertices.bytes() + mesh_->triangles.bytes() + next_vertices_.bytes() + masks_.bytes();
  if (workspace_) stats.builder_bytes = workspace_->pool().bytes + workspace_->overhead_bytes();
  return stats;
}

TracedMesh::Bounds TracedMesh::bounds() const {
  const std::shared_lock lock(mutex_);
  return {moved_back(origin_, tree_.bounds.lo), moved_back(origin_, tree_.bounds.hi)};
}

render::Image TracedMesh::render(render::RenderJob job, const std::optional<Camera>& camera) const {
  const std::shared_lock lock(mutex_);
  require_tree();
  const simt::DeviceId& device = options_.device.id;
  const std::vector<Vec3> vertices = mesh_->vertices.download();
  const std::vector<Triangle> triangles = mesh_->triangles.download();
  const render::Scene scene(device, download_tree(), {vertices, triangles}, options_.watertight);
  if (camera) {
    job.camera.eye = to_float(camera->eye - origin_);
    job.camera.target = to_float(camera->target - origin_);
  } else {
    const auto aspect = static_cast<float>(job.width) / static_cast<float>(job.height);
    job.camera = render::auto_camera(scene, job.camera.up, aspect);
  }
  return render::render(job, scene);
}

}  // namespace heapwood::python
