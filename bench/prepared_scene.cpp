// SPDX-License-Identifier: MIT
#include "bench/prepared_scene.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <sstream>
#include <vector>

#include "bench/program/command_files.hpp"
#include "bench/program/messages.hpp"
#include "bench/program/options.hpp"
#include "bench/results/format.hpp"
#include "render/auto_camera.hpp"
#include "render/surface.hpp"
#include "scenes/file.hpp"
#include "scenes/scene.hpp"
#include "simt/clock.hpp"
#include "simt/error.hpp"

namespace heapwood::bench {

namespace {

constexpr std::size_t pool_unit = std::size_t{1} << 16, min_automatic = std::size_t{4} << 20;

}  // namespace

std::size_t initial_pool(const BuildSettings& settings, std::size_t triangles,
                         const simt::DeviceInfo& device, const PoolNeeds& needs) {
  switch (settings.pool.kind) {
    case PoolSize::Kind::bytes:
      return settings.pool.bytes;
    case PoolSize::Kind::root_multiple:
      return kdtree::Workspace::pool_of_root_multiples(triangles, settings.pool.multiple);
    case PoolSize::Kind::automatic:
    case PoolSize::Kind::live_multiple:  // sized later, by the build that finds the bytes in use
      break;
  }
  std::size_t bytes = kdtree::Workspace::suggested_pool(triangles, settings.refs, needs.frees);
  if (settings.pool.for_speed) {
    const bool gpu = device.id.kind == simt::DeviceKind::cuda;
    const std::size_t warps =
        device.multiprocessors * std::size_t{gpu ? kdtree::warps_per_multiprocessor : 1};
    bytes += kdtree::Workspace::useful_cache(
        triangles, settings.refs,
        std::min(warps * needs.cache_bytes_per_warp, device.memory_bytes / 16));
  }
  return alloc::round_up(std::max(bytes, min_automatic), pool_unit);
}

std::string scene_label(const std::string& source, const scenes::Mesh& mesh) {
  if (scenes::parse_scene_name(source)) return source;
  return scenes::printable(mesh.name.empty() ? source : mesh.name,
                           source.size() + mesh.name.size());
}

PoolNeeds pool_needs(const Allocators& allocators) {
  PoolNeeds needs;
  for (const Allocator* entry : allocators) {
    needs.frees = needs.frees && !entry->traits->lower_bound;
    needs.cache_bytes_per_warp =
        std::max(needs.cache_bytes_per_warp, entry->traits->cache_bytes_per_warp);
  }
  return needs;
}

PreparedScene::PreparedScene(const std::string& source, const simt::DeviceInfo& device,
                             const BuildSettings& settings, const PoolNeeds& needs,
                             scenes::Content content)
    : source_(source),
      device_(device),
      settings_(settings),
      mesh_(scenes::load(source, content)),
      needs_(needs) {
  name_ = scene_label(source, mesh_);
  for (const std::string& text : mesh_.notes) warning(text);
  const bool had_triangles = !mesh_.triangles.empty();
  if (!settings.keep_degenerate) degenerate_ = scenes::drop_degenerate(mesh_);
  if (had_triangles && mesh_.triangles.empty()) {
    throw_error(Exit::scene, "{}: all {} have zero area; see --keep-degenerate",
                scenes::printable(source, source.size()), plural_text(degenerate_, "triangle"));
  }
  device_mesh_ = std::make_unique<kdtree::DeviceMesh>(device.id, view());
  needs_sizing_ = settings.pool.kind == PoolSize::Kind::live_multiple;
  workspace_ = std::make_unique<kdtree::Workspace>(
      *device_mesh_, settings.refs, initial_pool(settings, triangles(), device, needs));
}

kdtree::BuildOptions PreparedScene::build_options() const {
  return {.costs = settings_.costs, .seconds = settings_.timeout};
}

const registry::CompiledAllocator& PreparedScene::prepare(const Allocator& entry) {
  size_live_pool(entry);
  workspace_->set_allocator_options(entry.options_over(settings_.allocator));
  return compiled_for(entry, device_);
}

kdtree::BuildRun PreparedScene::build(const Allocator& entry) {
  return build(entry, build_options());
}

kdtree::BuildRun PreparedScene::build(const Allocator& entry, const kdtree::BuildOptions& options) {
  return prepare(entry).build(*workspace_, options);
}

kdtree::InstrumentedRun PreparedScene::build_instrumented(const Allocator& entry) {
  return prepare(entry).build_instrumented(*workspace_, build_options());
}

kdtree::RecordedRun PreparedScene::build_recorded(const Allocator& entry, std::size_t capacity) {
  return prepare(entry).build_recorded(*workspace_, build_options(), capacity);
}

std::size_t PreparedScene::pool_limit() const {
  // Leaves a tenth of the memory for output arrays that grow. A pool above 1,000 times the root's
  // array does not help: the allocator then refuses for another reason.
  std::size_t available = simt::device_available(device_.id);
  if (device_.id.kind == simt::DeviceKind::cuda) available += pool_bytes();
  const std::size_t useful =
      1000 * triangles() * kdtree::ref_bytes(settings_.refs) + (std::size_t{64} << 20);
  return std::min(available / 10 * 9, useful) / pool_unit * pool_unit;
}

bool PreparedScene::enlarge_pool() {
  return settings_.pool.kind == PoolSize::Kind::automatic && enlarge_to_limit();
}

bool PreparedScene::enlarge_to_limit() {
  const std::size_t limit = pool_limit();
  if (pool_bytes() >= limit) return false;
  // Small steps if allocators free: in a pool that is too small a build then fails early.
  const std::size_t more = alloc::round_up(pool_bytes() / 2 * (needs_.frees ? 3 : 4), pool_unit);
  workspace_->resize_pool(std::min(more, limit));
  return true;
}

kdtree::BuildRun PreparedScene::build_growing(const Allocator& entry) {
  kdtree::BuildOptions options = build_options();
  options.started = simt::HostClock::now();
  kdtree::BuildRun run = build(entry, options);
  while (run.incomplete && enlarge_pool()) run = build(entry, options);
  return run;
}

void PreparedScene::size_live_pool(const Allocator& entry) {
  if (!needs_sizing_) return;
  measure_live_bytes(entry);
  set_live_bytes(*live_bytes_);
}

void PreparedScene::measure_live_bytes(const Allocator& entry) {
  needs_sizing_ = false;  // so that the builds below do not size the pool again
  try {
    kdtree::InstrumentedRun run = build_instrumented(entry);
    while (run.run.incomplete && enlarge_to_limit()) run = build_instrumented(entry);
    if (run.run.incomplete)
      throw_error(Exit::failed,
                  "{}: --pool {}: the bytes in use are not known: no build completes "
                  "with {}; use a size (512M, 2G)",
                  name_, settings_.pool.text, entry.traits->id);
    live_bytes_ = run.requests.high_water_bytes;
  } catch (...) {
    needs_sizing_ = true;
    throw;
  }
  needs_sizing_ = true;
}

void PreparedScene::set_live_bytes(std::uint64_t bytes) {
  live_bytes_ = bytes;
  if (settings_.pool.kind != PoolSize::Kind::live_multiple) return;
  const double wanted = settings_.pool.multiple * static_cast<double>(bytes);
  set_pool(alloc::round_up(std::max<std::size_t>(static_cast<std::size_t>(wanted), 1), pool_unit));
}

void PreparedScene::set_pool(std::size_t bytes) {
  needs_sizing_ = false;
  if (bytes != pool_bytes()) workspace_->resize_pool(bytes);
}

void PreparedScene::change_pool(const PoolSize& pool) {
  settings_.pool = pool;
  set_pool(initial_pool(settings_, triangles(), device_, needs_));
  needs_sizing_ = pool.kind == PoolSize::Kind::live_multiple;
  if (live_bytes_) set_live_bytes(*live_bytes_);
}

namespace {

// The words of the only nonblank line; '#' starts a comment. Throws Error{Exit::usage} for more.
std::vector<std::string> words_of_line(const std::string& text) {
  std::istringstream lines(std::string(scenes::without_byte_order_mark(text)));
  std::vector<std::string> words;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream in_line(line.substr(0, line.find('#')));
    const bool is_first = words.empty();
    for (std::string word; in_line >> word; words.push_back(word))
      if (!is_first) throw Error(Exit::usage, "it has more than one line");
  }
  return words;
}

std::optional<render::Camera> camera_beside(const std::string& source, const Vec3d& origin) {
  std::error_code unreadable;
  if (!std::filesystem::is_regular_file(source, unreadable)) return {};  // a procedural scene
  const std::string path = scenes::camera_path(source);
  const std::optional<std::string> text = read_text(path, Exit::scene);
  if (!text) return {};
  try {
    return parse_camera_line(*text, origin);
  } catch (const Error& error) {
    throw_error(Exit::scene, "{}: {}; the file holds one line: ex,ey,ez,tx,ty,tz,fov [--up x|y|z]",
                path, error.what());
  }
}

// Whether any ray of the picture hits the scene. Tries a few rays first.
bool sees_scene(const render::Scene& scene, const render::Camera& camera, double aspect) {
  for (const double count : {600.0, 230400.0}) {
    const auto height = static_cast<unsigned>(std::max(1.0, std::sqrt(count / aspect)));
    const auto width = static_cast<unsigned>(std::max(1.0, height * aspect));
    const render::CameraFrame frame = render::make_frame(camera, width, height);
    std::vector<kdtree::Ray> rays;
    for (unsigned y = 0; y < height; ++y) {
      for (unsigned x = 0; x < width; ++x) {
        rays.push_back(frame.ray(static_cast<float>(x) + 0.5f, static_cast<float>(y) + 0.5f,
                                 render::far_away));
      }
    }
    for (const kdtree::Hit& hit : scene.occluded(rays)) {
      if (hit.found()) return true;
    }
  }
  return false;
}

}  // namespace

// Refuses extents for which tracing would overflow: it squares lengths and multiplies edges.
void check_extent(const std::string& source, const scenes::Mesh& mesh) {
  const double min = 1e-18, max = 1e18;
  const Vec3 extent = scenes::bounds(mesh).extent();
  const double longest = std::max({extent.x, extent.y, extent.z});
  if (mesh.triangles.empty() || longest == 0 || (longest >= min && longest <= max)) return;
  const std::string problem =
      fmt::format("{}: the scene's extent is {:.3g}; rays are traced between {:g} and {:g}", source,
                  longest, min, max);
  if (!(longest < 1e37)) throw Error(Exit::scene, problem + ": scale its coordinates");
  warning(problem + ": surfaces may be missing; scale its coordinates");
}

render::Camera parse_camera_line(const std::string& text, const Vec3d& origin) {
  std::vector<std::string> words = words_of_line(text);
  if (!words.empty() && (words[0] == "--camera" || words[0] == "camera" || words[0] == "camera:")) {
    words.erase(words.begin());
  }
  if (words.empty()) throw Error(Exit::usage, "it contains no camera");
  if (words.size() > 1 && words[1] == "--up") {
    words.erase(words.begin() + 1);
    if (words.size() == 1) throw Error(Exit::usage, "--up without an axis");
  }
  if (words.size() > 2) throw_error(Exit::usage, "'{}' follows the up axis", words[2]);
  return render::parse_camera(words[0], words.size() > 1 ? parse_axis(words[1]) : 1, origin);
}

void add_camera_options(CommandOptions& command, CameraOptions& options) {
  command.text("--camera", options.camera,
               "ex,ey,ez,tx,ty,tz,fov: eye, target, vertical angle,\nin the scene's coordinates; "
               "default: the line in\nSCENE.camera beside the scene file (these numbers\n[--up "
               "AXIS]), else chosen automatically",
               "CAMERA");
  command.text("--up", options.up, "x, y or z; default: the scene's", "AXIS");
}

void check_camera(const CameraOptions& options) {
  if (!options.camera.empty()) render::check_camera_text(options.camera);
  if (!options.up.empty()) parse_axis(options.up);
}

render::Camera choose_camera(const CameraOptions& options, const std::string& source,
                             const scenes::Mesh& mesh, const render::Scene& scene, double aspect) {
  check_extent(source, mesh);
  const unsigned up = options.up.empty() ? mesh.up : parse_axis(options.up);
  const auto choose = [&]() -> render::Camera {
    if (!options.camera.empty()) return render::parse_camera(options.camera, up, mesh.origin);
    if (std::optional<render::Camera> beside = camera_beside(source, mesh.origin)) {
      if (!options.up.empty()) beside->up = up;
      return *beside;
    }
    if (mesh.camera && up == mesh.up)
      return {mesh.camera->eye, mesh.camera->target, mesh.camera->fov, up};
    return render::auto_camera(scene, up, static_cast<float>(aspect));
  };
  const render::Camera camera = render::representable(choose(), mesh.origin);
  if (!sees_scene(scene, camera, aspect)) {
    warning("{}: the camera sees nothing of the scene: --camera {}; choose another one", source,
            render::to_arguments(camera, mesh.origin));
  }
  return camera;
}

void reads_scene(CommandFiles& files, const std::string& name_or_path) {
  if (name_or_path.empty()) return;
  files.reads(name_or_path);
  files.reads(scenes::camera_path(name_or_path));
  files.reads_listed([name_or_path] { return scenes::companion_files(name_or_path); });
}

}  // namespace heapwood::bench
