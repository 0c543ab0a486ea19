// SPDX-License-Identifier: MIT
// The job of the Live tab (live.hpp). Between two builds it does nothing that grows with the scene:
// trees stay on the device, where they are traced and, in every 30th frame, hashed; the meshes of
// later frames are made by other threads (live_meshes.hpp).
#include <bit>
#include <chrono>

#include "viewer/live_meshes.hpp"

namespace heapwood::viewer {

namespace {

using simt::HostClock;

double seconds_in(std::chrono::duration<double> time) { return time.count(); }

class LiveLoop {
 public:
  LiveLoop(const JobSpec& spec, LiveLink& link, const LiveHooks& hooks)
      : spec_(spec), link_(link), hooks_(hooks), meshes_(spec) {}

  void run() {
    std::optional<LiveWish> wish = link_.next_frame();
    if (wish) open(wish->allocators);
    for (; wish; wish = link_.next_frame(frozen_view_, refines_)) {
      hooks_.hold_picture(true);
      if (wish->frozen) {
        refine(*wish);
        continue;
      }
      for (const unsigned side : {0u, 1u}) {
        if (sides_[side].allocator == wish->allocators[side]) continue;
        sides_[side].allocator = wish->allocators[side];
        warm_up(side);
      }
      race(*wish);
      refines_ = true;  // once it is frozen
      frozen_view_ = 0;
    }
  }

 private:
  // A side has a mesh, a pool, a tree and a picture of its own.
  struct Side {
    const registry::RegisteredAllocator* allocator = nullptr;
    unsigned builds = 0;
    bool exhausted = false;
    std::uint64_t frame = 0;  // the next one
    double clock_ms = 0;      // time of the builds and rays of the race
    LiveMeshPointer mesh;
    std::unique_ptr<kdtree::DeviceMesh> device_mesh;
    std::unique_ptr<kdtree::Workspace> workspace;
    std::optional<render::Scene> traced;
    std::optional<render::Progressive> picture;
    std::uint64_t view = 0;  // number of the picture's view; 0: the tree is another one
    unsigned row = 0;        // the next row of tiles of the pass
  };

  bool moves() const { return meshes_.count() > 1; }
  bool on_gpu() const { return spec_.device.id.kind == simt::DeviceKind::cuda; }
  bool grows() const {
    return spec_.pool_grows || spec_.settings.pool.kind == bench::PoolSize::Kind::automatic;
  }

  // Finds the size of the pool: with live:N, N times the most bytes in use in the first frame.
  void open(const LiveAllocators& chosen) {
    pool_bytes_ = bench::initial_pool(spec_.settings, meshes_.first.triangles.size(), spec_.device,
                                      bench::pool_needs({chosen[0], chosen[1]}));
    max_pool_ = 8 * pool_bytes_;
    const kdtree::MeshView mesh{meshes_.first.vertices, meshes_.first.triangles};
    if (!meshes_.first.appearance.empty())
      materials_ = render::DeviceMaterials(spec_.device.id, mesh, meshes_.first.appearance);
    for (Side& side : sides_) upload(side, meshes_.frame(0));
    if (spec_.settings.pool.kind != bench::PoolSize::Kind::live_multiple) return;
    const auto& entry = *chosen[chosen[0]->traits->lower_bound ? 1 : 0];
    kdtree::InstrumentedRun run;
    do {
      run = prepare(sides_[0], entry).build_instrumented(*sides_[0].workspace, options());
    } while (run.run.incomplete && enlarge_pools(true));
    resize_pools(static_cast<std::size_t>(spec_.settings.pool.multiple *
                                          static_cast<double>(run.requests.high_water_bytes)));
  }
  void resize_pools(std::size_t bytes) {
    pool_bytes_ = alloc::round_up(std::max<std::size_t>(bytes, 1), std::size_t{1} << 16);
    for (Side& side : sides_) side.workspace->resize_pool(pool_bytes_);
  }
  // Limited, because an allocator that refuses requests for another reason could fill the device.
  bool enlarge_pools(bool allowed) {
    if (!allowed || pool_bytes_ >= max_pool_) return false;
    resize_pools(pool_bytes_ / 2 * 3);
    return true;
  }

  void upload(Side& side, LiveMeshPointer mesh) {
    if (side.mesh == mesh) return;
    const kdtree::MeshView view = mesh->view();
    if (side.device_mesh && view.vertices.size() <= side.device_mesh->vertices.capacity() &&
        view.triangles.size() <= side.device_mesh->triangles.capacity()) {
      side.device_mesh->vertices.set_size(view.vertices.size());
      side.device_mesh->vertices.upload(view.vertices);
      side.device_mesh->triangles.set_size(view.triangles.size());
      if (side.mesh->triangles != mesh->triangles)
        side.device_mesh->triangles.upload(view.triangles);
    } else {
      side.workspace.reset();
      side.device_mesh = std::make_unique<kdtree::DeviceMesh>(spec_.device.id, view);
      side.workspace =
          std::make_unique<kdtree::Workspace>(*side.device_mesh, spec_.settings.refs, pool_bytes_);
    }
    side.mesh = std::move(mesh);
  }

  kdtree::BuildOptions options() const {
    return {.costs = spec_.settings.costs, .seconds = spec_.settings.timeout};
  }
  const registry::CompiledAllocator& prepare(Side& side,
                                             const registry::RegisteredAllocator& entry) {
    side.workspace->set_allocator_options(entry.options_over(spec_.settings.allocator));
    return bench::compiled_for(entry, spec_.device);
  }
  kdtree::BuildRun build(Side& side, const registry::RegisteredAllocator& entry) {
    return prepare(side, entry).build(*side.workspace, options());
  }

  // To be called after LiveLink::begin_build().
  kdtree::BuildRun timed_build(Side& side, const registry::RegisteredAllocator& entry) {
    const std::shared_ptr<void> ends(nullptr, [this](void*) { link_.end_build(); });
    return build(side, entry);
  }

  // The first build is not timed: it touches new memory and may have to enlarge the pool.
  void warm_up(unsigned number) {
    Side& side = sides_[number];
    const std::size_t pool = pool_bytes_;
    kdtree::BuildRun run = build(side, *side.allocator);
    while (run.incomplete && enlarge_pools(grows())) run = build(side, *side.allocator);
    if (!shown_ || (!shown_complete_ && !run.incomplete)) show(number);
    shown_complete_ = shown_complete_ || !run.incomplete;
    restart(number);
    // Times in pools of different sizes are not comparable, so the other side restarts.
    if (pool_bytes_ != pool && sides_[1 - number].allocator) restart(1 - number);
  }
  void restart(unsigned number) {
    sides_[number].builds = 0;
    sides_[number].exhausted = false;
    // Both sides start again from the same frame.
    const std::uint64_t frame = std::max(sides_[0].frame, sides_[1].frame);
    for (Side& each : sides_) {
      each.frame = frame;
      each.clock_ms = 0;
    }
    link_.publish({.kind = LiveEvent::Kind::restarted,
                   .side = number,
                   .allocator = sides_[number].allocator,
                   .pool_bytes = pool_bytes_,
                   .period = moves() ? meshes_.count() : 0});
  }

  // Makes the present tree of a side the window's scene.
  void show(unsigned number) {
    const Side& side = sides_[number];
    scenes::Mesh mesh = meshes_.first;
    const kdtree::MeshView now = side.mesh->view();
    mesh.vertices.assign(now.vertices.begin(), now.vertices.end());
    mesh.triangles.assign(now.triangles.begin(), now.triangles.end());
    shown_ =
        make_built_scene(spec_.source, meshes_.name, std::move(mesh), side.workspace->download(),
                         spec_.device, side.allocator->traits->id, spec_.up, shown_.get());
    hooks_.show(shown_);
  }

  // A frame of the side whose clock is behind, or of both sides if they are kept in step.
  void race(const LiveWish& wish) {
    if (sides_[0].exhausted && sides_[1].exhausted) return link_.wait(0.05);
    const HostClock::time_point due = frame_began_ + min_frame;
    if (wish.in_step) {
      const std::uint64_t frame = std::max(sides_[0].frame, sides_[1].frame);
      for (const unsigned side : {unsigned(frame % 2), unsigned(1 - frame % 2)}) {
        sides_[side].frame = frame;
        sides_[side].clock_ms = 0;
        make_frame(side, wish);
      }
    } else {
      const bool a_is_behind =
          sides_[1].exhausted || (!sides_[0].exhausted && sides_[0].clock_ms <= sides_[1].clock_ms);
      const unsigned side = a_is_behind ? 0 : 1;
      make_frame(side, wish);
      if (sides_[side].frame < sides_[1 - side].frame) return;  // the leader keeps the pace
    }
    frame_began_ = HostClock::now();
    if (frame_began_ >= due) return;
    const double left = seconds_in(due - frame_began_);
    link_.wait(left);
    not_counted_ms_ += 1e3 * left;
    frame_began_ = due;
  }

  // Builds a frame of a side and traces its picture. An exhausted side stays as it is.
  void make_frame(unsigned number, const LiveWish& wish) {
    Side& side = sides_[number];
    if (side.exhausted) return;
    upload(side, meshes_.frame(side.frame));
    link_.begin_build();
    const double cpu = cpu_seconds(CLOCK_PROCESS_CPUTIME_ID);
    const HostClock::time_point begin = HostClock::now();
    kdtree::BuildRun run = timed_build(side, *side.allocator);
    const double wall = simt::seconds_since(begin);
    LiveSample sample{side.frame, run.ms, 0, !run.incomplete, run.failed_bytes};
    if (!on_gpu() && wall > 0)
      sample.cpu_share = std::min(1.0, (cpu_seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu) / wall /
                                           std::max(1u, spec_.device.multiprocessors));
    // A later frame of a moving scene may need more memory than the first one.
    if (run.incomplete && moves() && enlarge_pools(grows())) {
      for (const unsigned each : {0u, 1u}) restart(each);
      return;
    }
    const std::uint64_t key = side.frame % (moves() ? meshes_.count() : LiveTimes::window);
    if (!run.incomplete && key % hash_period == 0)
      sample.hash =
          render::backend(spec_.device.id).hash(spec_.device.id, side.workspace->device_tree());
    if (moves()) side.view = 0;
    sample.trace_ms = draw(side, wish, std::clamp(1e-3 * run.ms, 0.015, 0.3));
    const HostClock::time_point end = HostClock::now();
    sample.seconds = seconds_in(end.time_since_epoch());
    sample.other_ms = 1e3 * seconds_in(end - counted_from_) - run.ms - sample.trace_ms -
                      std::exchange(not_counted_ms_, 0);
    counted_from_ = end;
    side.exhausted = run.incomplete;
    side.clock_ms += run.ms + sample.trace_ms;
    link_.publish({.side = number, .sample = sample});
    if (key % reference_period == 0) build_reference(side);
    // Makes one recording per side, after its first times are visible.
    if (++side.builds == first_builds || side.exhausted) record(number);
    ++side.frame;
    not_counted_ms_ += 1e3 * simt::seconds_since(end);
  }

  // Traces a side's tree: coarsely if tree or view are new, otherwise for some time at full
  // resolution, until the picture has all samples. Returns the milliseconds.
  double draw(Side& side, const LiveWish& wish, double seconds) {
    const View& view = wish.view;
    const double pixels = static_cast<double>(view.width) * view.height;
    const bool is_new = side.view != wish.view_number;
    if (pixels == 0 || (!is_new && is_complete(side, view))) return 0;
    if (!side.traced) side.traced.emplace(spec_.device.id, false);
    side.traced->show(side.workspace->device_tree(), *side.device_mesh, materials_.view());
    const unsigned factor = is_new ? coarse_factor(pixels, seconds_per_pixel_) : 1;
    render::RenderJob job = job_of(view, factor);
    // An exposure that changes with the frame would flicker.
    if (moves() && exposed_view_ == wish.view_number) job.exposure = exposure_;
    if (!side.picture) {
      side.picture.emplace(*side.traced, job);
    } else if (is_new || side.picture->job().width != job.width) {
      side.picture->restart(job);
      side.row = 0;
    }
    side.view = wish.view_number;
    const unsigned all = side.picture->tile_rows();
    const double rows = is_new ? all : seconds / (seconds_per_pixel_ * pixels) * all;
    const unsigned count = std::min(all - side.row, std::max(1u, static_cast<unsigned>(rows)));
    const HostClock::time_point begin = HostClock::now();
    side.picture->add_rows(side.row, count, 60);
    const double spent = simt::seconds_since(begin);
    seconds_per_pixel_ = spent * all / (count * static_cast<double>(job.width) * job.height);
    if ((side.row += count) < all) return 1e3 * spent;
    side.row = 0;
    side.picture->end_pass();
    if (is_complete(side, view) || std::has_single_bit(side.picture->samples())) publish(side);
    return 1e3 * spent;
  }
  static bool is_complete(const Side& side, const View& view) {
    return side.picture->samples() >= view.spp && side.picture->job().width == view.width;
  }
  void publish(Side& side) {
    PixelExchange& pixels = link_.pixels(&side == sides_ ? 0 : 1);
    const render::RenderJob& job = side.picture->job();
    exposure_ =
        side.picture->develop(pixels.begin(spec_.device.id, job.width, job.height)).exposure;
    exposed_view_ = side.view;
    pixels.publish();
  }

  // AtomicMalloc's build of the same mesh, in a pool of its own, which needs to be large.
  void build_reference(Side& side) {
    const registry::RegisteredAllocator* const atomic = registry::find("atomic");
    if (!atomic || !atomic->on(spec_.device.id.kind)) return;
    const std::size_t bytes =
        kdtree::Workspace::suggested_pool(side.mesh->triangles->size(), spec_.settings.refs, false);
    const bool is_first = reference_pool_.bytes() < bytes;  // a build that touches new memory
    if (is_first) {
      reference_pool_ = {};
      if (bytes > simt::device_available(spec_.device.id) / 4) return;
      reference_pool_ = simt::Memory(spec_.device.id, bytes);
    }
    side.workspace->swap_pool(reference_pool_);
    const std::shared_ptr<void> swapped(nullptr,
                                        [&](void*) { side.workspace->swap_pool(reference_pool_); });
    link_.begin_build();
    const kdtree::BuildRun run = timed_build(side, *atomic);
    if (!is_first) link_.publish({.side = 2, .sample = {side.frame, run.ms, 0, !run.incomplete}});
  }

  void record(unsigned number) {
    Side& side = sides_[number];
    const auto& entry = *side.allocator;
    const std::size_t capacity = std::min(max_events, side.mesh->triangles->size() * 32 + 65536);
    const auto run = std::make_shared<const kdtree::RecordedRun>(
        prepare(side, entry).build_recorded(*side.workspace, options(), capacity));
    // A million events take half a second. On CPU threads another thread would disturb builds.
    recorded_[number] =
        std::async(on_gpu() ? std::launch::async : std::launch::deferred,
                   [this, number, &entry, run, pool = pool_bytes_] {
                     link_.publish({.kind = LiveEvent::Kind::recording,
                                    .side = number,
                                    .recording = std::make_shared<const Recording>(
                                        meshes_.name, entry, spec_.device.key, pool, *run)});
                   });
    if (!on_gpu()) recorded_[number].get();
  }

  // Refines the pictures of frozen frames.
  void refine(const LiveWish& wish) {
    if (frozen_view_ == 0 && moves()) show(0);  // for Learn, and for rays under the mouse
    frozen_view_ = std::max<std::uint64_t>(wish.view_number, 1);
    refines_ = false;
    for (Side& side : sides_) {
      draw(side, wish, 0.05);
      refines_ = refines_ || (side.picture && !is_complete(side, wish.view));
    }
    if (!refines_) link_.set_refined(wish.view_number);
    hooks_.hold_picture(false);
  }

  static constexpr auto min_frame =
      std::chrono::microseconds(13333);  // the leader's: 75 per second
  static constexpr unsigned first_builds = 4;
  static constexpr std::uint64_t hash_period = 30, reference_period = 8;
  static constexpr std::size_t max_events = std::size_t{4} << 20;

  const JobSpec& spec_;
  LiveLink& link_;
  const LiveHooks& hooks_;
  LiveMeshes meshes_;
  render::DeviceMaterials materials_;
  Side sides_[2];
  std::size_t pool_bytes_ = 0, max_pool_ = 0;
  simt::Memory reference_pool_;
  std::shared_ptr<const BuiltScene> shown_;
  bool shown_complete_ = false;
  HostClock::time_point frame_began_ = HostClock::now(), counted_from_ = frame_began_;
  double not_counted_ms_ = 0;  // since counted_from_: recordings, references, waiting
  double seconds_per_pixel_ = 1e-6, exposure_ = 0;
  std::uint64_t exposed_view_ = 0;  // the view of which exposure_ is that of a frame
  std::uint64_t frozen_view_ = 0;   // number of the view that is refined; 0: none
  bool refines_ = false;
  std::future<void> recorded_[2];  // declared last: ends first
};

}  // namespace

bool is_moving(const std::string& source) { return scenes::moving_frames(source) > 1; }

void run_live(const JobSpec& spec, LiveLink& link, const LiveHooks& hooks) {
  const std::shared_ptr<void> released(nullptr, [&](void*) { hooks.hold_picture(false); });
  LiveLoop(spec, link, hooks).run();
}

}  // namespace heapwood::viewer
