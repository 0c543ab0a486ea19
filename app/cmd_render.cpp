// SPDX-License-Identifier: MIT
// The command render: builds a tree and renders the scene to a PNG or EXR file, or along a camera
// path to numbered PNG files.
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "app/commands.hpp"
#include "app/measuring.hpp"
#include "bench/bench_runner.hpp"
#include "bench/prepared_scene.hpp"
#include "bench/program/command_files.hpp"
#include "bench/program/messages.hpp"
#include "bench/program/options.hpp"
#include "bench/results/format.hpp"
#include "render/auto_camera.hpp"
#include "render/camera_path.hpp"
#include "render/renderer.hpp"
#include "scenes/file.hpp"

namespace heapwood::app {

namespace {

constexpr const char* render_examples = R"(Examples:
  heapwood render atrium -o atrium.png
  heapwood render statue:1m -o statue.png --mode path --spp 256 --size 1920x1080
  heapwood render helmet.gltf -o helmet.png --mode path --spp 64
  heapwood render helmet.gltf -o helmet.exr --mode path --environment sky
  heapwood render helmet.gltf -o helmet.png --mode path --environment sky --tone filmic
  heapwood render atrium -o frame_###.png --path flight.txt
  heapwood render stadium -o steps.png --mode heatmap
  heapwood render model.obj -o view.png --camera 0,1.5,4,0,1,0,45
The camera that was used is printed, 'ex,ey,ez,tx,ty,tz,fov --up y'. With --camera before it,
or as the line of model.camera beside model.obj, it makes the same picture again.)";

struct RenderCommand {
  std::string scene, output, allocator = default_allocator, mode = "shaded";
  std::string material = "scene", environment, tone = "standard", path;
  double frames_per_second = 30;
  ImageSize size{1280, 720};
  unsigned spp = 16, seed = 1;
  bool watertight = false;
  bool has_rate = false, has_tone = false;  // whether --fps and --tone are given
  CameraOptions camera;
  BuildSettings settings;
  DeviceOptions device;
};

// Checks the extension of the picture's file; pipes and devices may have any name.
void check_picture_name(const std::string& path) {
  const std::string extension = scenes::extension_of(path);
  std::error_code ignored;
  const bool is_stream = std::filesystem::exists(path, ignored) && !identity_of(path);
  if (extension != ".png" && extension != ".exr" && !is_stream)
    throw_error(Exit::usage, "-o '{}': name a .png or .exr file", path);
}

void check_usage(const RenderCommand& command) {
  require_scene("render", command.scene, "atrium -o atrium.png");
  if (command.output.empty()) throw Error(Exit::usage, "render: no output file: add -o FILE.png");
  if (command.path.empty() && command.has_rate)
    throw Error(Exit::usage, "--fps: a still picture has no frames: add --path FILE");
  if (command.path.empty()) {
    check_picture_name(command.output);
  } else {
    picture_path(command.output, 0);
    if (!command.camera.camera.empty())
      throw Error(Exit::usage, "--camera and --path: use one of the two");
  }
  // Reports wrong values before the tree is built.
  check_camera(command.camera);
  const render::Mode mode = render::parse_mode(command.mode);
  if (!command.environment.empty() && mode != render::Mode::path)
    throw Error(Exit::usage, "--environment lights mode path only: add --mode path");
  if (command.has_tone && scenes::extension_of(command.output) == ".exr")
    throw Error(Exit::usage, "--tone: an EXR file holds linear light without a tone curve");
}

std::string read_input(const std::string& path) {
  std::optional<std::string> text = read_text(path, Exit::scene);
  if (!text) throw Error(Exit::scene, one_line(path) + ": no such file");
  return std::move(*text);
}

// The number of frames of a path: one every 1/rate seconds, from the first key to the last.
unsigned count_frames(const render::CameraPath& path, double rate, const std::string& source) {
  constexpr double max_frames = 100'000;
  const double steps = std::floor(path.duration() * rate + 1e-6);
  if (!(steps < max_frames)) {
    throw_error(Exit::scene, "{}: at {:g} frames/s the path has more than {} frames",
                one_line(source), rate, max_frames);
  }
  return static_cast<unsigned>(steps) + 1;
}

std::vector<render::Camera> cameras_of(const render::CameraPath& path, double rate, unsigned up,
                                       const scenes::Mesh& mesh, const std::string& source) {
  const unsigned frames = count_frames(path, rate, source);
  std::vector<render::Camera> cameras;
  for (unsigned frame = 0; frame < frames; ++frame) {
    cameras.push_back(path.at(frame / rate, up, mesh.origin));
    try {
      render::make_frame(cameras.back(), 1, 1);
    } catch (const Error& error) {
      throw_error(Exit::scene, "{}: {:g} s after the first key: {}", one_line(source), frame / rate,
                  error.what());
    }
  }
  return cameras;
}

// Renders all frames with the light and exposure of the first one.
void render_frames(const RenderCommand& command, render::RenderJob job, const render::Scene& scene,
                   const std::vector<render::Camera>& cameras, Progress& progress,
                   const std::string& name) {
  job.progress = {};
  unsigned frame = 0;
  try {
    for (; frame < cameras.size(); ++frame) {
      progress.update(frame, cameras.size(), name + ": frames");
      job.camera = cameras[frame];
      const render::Film film = render::render_film(job, scene);
      if (job.exposure == 0) job.exposure = render::exposure_for(film, job.mode);
      OutputFile(picture_path(command.output, frame))
          .write(render::to_png(render::develop(job, film)));
    }
  } catch (const simt::Stopped& stop) {
    throw_error(Exit::failed, "{}; {} of {} frames are written", stop.what(), frame,
                cameras.size());
  }
}

std::string picture_file(const RenderCommand& command, const render::RenderJob& job,
                         const render::Scene& scene) {
  const render::Film film = render::render_film(job, scene);
  if (scenes::extension_of(command.output) == ".exr") return render::to_exr(film, job.mode);
  return render::to_png(render::develop(job, film));
}

// `files` has all files of the command except the pictures of a path.
Exit render_picture(const RenderCommand& command, CommandFiles files) {
  check_usage(command);
  std::optional<render::CameraPath> path;
  if (!command.path.empty()) {
    path = render::CameraPath::parse(read_input(command.path), one_line(command.path));
    const unsigned frames = count_frames(*path, command.frames_per_second, command.path);
    for (unsigned frame = 0; frame < frames; ++frame)
      files.writes(picture_path(command.output, frame));
    files.check();
  }
  std::optional<RadianceMap> radiance;
  if (!command.environment.empty() && command.environment != "sky") {
    radiance =
        render::parse_environment(read_input(command.environment), one_line(command.environment));
  }
  const Allocator& entry = find_builder(command.allocator);
  // Opened first, so that a file that cannot be written is reported before the work is done.
  std::optional<OutputFile> file(std::in_place,
                                 path ? picture_path(command.output, 0) : command.output);
  const simt::DeviceInfo device =
      choose_device(command.device, {&entry}, CpuNote::when_work_starts);
  Progress progress;
  progress.update(0, 1, command.scene + ": loading");
  const bool clay = command.material == "clay";
  PreparedScene scene(command.scene, device, command.settings, pool_needs({&entry}),
                      clay ? scenes::Content::geometry : scenes::Content::materials);
  progress.update(0, 1, scene.name() + ": building");
  const kdtree::BuildRun build = scene.build_growing(entry);
  const kdtree::Tree tree = scene.tree();

  if (build.incomplete) {
    warning(
        "{}: pool of {} exhausted, tree incomplete: the picture is correct but slow to render; use "
        "--pool auto or a larger --pool",
        entry.traits->id, bytes_text(scene.pool_bytes()));
  } else {
    warn_of_large_leaf(scene.name(), scene.tree_stats().largest_leaf);
  }
  progress.update(0, command.spp, scene.name() + ": choosing a camera");
  const render::Scene traced(device.id, tree, scene.view(), command.watertight,
                             &scene.mesh().appearance);
  render::RenderJob job;
  job.mode = render::parse_mode(command.mode);
  job.width = command.size.width;
  job.height = command.size.height;
  job.spp = command.spp;
  job.seed = command.seed;
  job.watertight = command.watertight;
  job.clay = clay;
  job.tone = command.tone == "filmic" ? render::Tone::filmic : render::Tone::standard;
  std::vector<render::Camera> cameras;
  CameraOptions camera = command.camera;
  if (path) {
    const unsigned up = camera.up.empty() ? scene.mesh().up : parse_axis(camera.up);
    cameras = cameras_of(*path, command.frames_per_second, up, scene.mesh(), command.path);
    camera.camera = render::to_string(cameras.front(), scene.mesh().origin);
  }
  job.camera = choose_camera(camera, command.scene, scene.mesh(), traced,
                             static_cast<double>(job.width) / job.height);
  if (path || !command.environment.empty())
    job.lighting = render::choose_lighting(
        traced, job.camera, command.environment.empty() && job.mode == render::Mode::path && !clay);
  std::optional<render::Environment> environment;
  if (!command.environment.empty()) {
    if (!radiance) {
      // The sun is in the direction of the key light, which was chosen to light visible surfaces.
      // The lamp of an interior has no direction, so the default one is used.
      radiance = render::make_sky(job.lighting->lamp ? render::Lighting{}.key : job.lighting->key,
                                  job.camera.up);
    }
    environment.emplace(device.id, *radiance, job.camera.up);
    job.environment = &*environment;
  }
  job.progress = [&](unsigned done, unsigned spp) {
    progress.update(done, spp, scene.name() + ": samples");
  };
  const auto start = simt::HostClock::now();
  if (path) {
    file.reset();
    render_frames(command, job, traced, cameras, progress, scene.name());
  } else {
    file->write(picture_file(command, job, traced));
  }
  const double seconds = simt::seconds_since(start);
  clear_progress_line();

  fmt::print("{}: {} triangle{}\n{}\n\n", scene.name(), count_text(scene.triangles()),
             scene.triangles() == 1 ? "" : "s", device_text(device));
  fmt::print("  build    {:>10} ms   {}, {} refs{}\n", figure_text(build.ms), entry.traits->label,
             kdtree::name(command.settings.refs), build.incomplete ? ", INCOMPLETE" : "");
  fmt::print("  render   {:>10} ms   {}, {}x{}, {} sample{} per pixel\n",
             figure_text(1e3 * seconds), render::name(job.mode), job.width, job.height, job.spp,
             job.spp == 1 ? "" : "s");
  if (path) {
    fmt::print("  path     {} frames, {:g} per second, {} keys\n", cameras.size(),
               command.frames_per_second, path->keys());
  } else {
    fmt::print("  camera   {}\n", render::to_arguments(job.camera, scene.mesh().origin));
  }
  fmt::print("  picture  {}\n", one_line(command.output));
  return Exit::done;
}

}  // namespace

void add_render(Program& program, Invocation& invocation) {
  auto options = std::make_shared<RenderCommand>();
  CommandOptions command(program, "render", "render a scene to a PNG or EXR file", render_examples);
  command.text("scene", options->scene, "scene name or file path (heapwood list scenes)", "SCENE");
  command.text("-o,--output", options->output,
               "the PNG or EXR (linear) file to write; with --path\nframe_###.png", "FILE");
  add_size_option(command, options->size, "size of the picture");
  command.number("--spp", options->spp, "samples per pixel", {1, render::max_spp});
  command.text("--mode", options->mode,
               "shaded, path, ao, normals, depth, heatmap,\nleaves, albedo", "MODE");
  command.choice("--material", options->material,
                 "scene: the scene's own colours, if it has any;\nclay: one colour",
                 {"scene", "clay"});
  command.text("--environment", options->environment,
               "light of mode path: a Radiance file (.hdr), longitude\nby latitude, or sky",
               "FILE");
  command.choice("--tone", options->tone, "tone curve of PNG files", {"standard", "filmic"});
  add_camera_options(command, options->camera);
  command.text("--path", options->path, "camera path: lines `time ex ey ez tx ty tz fov`", "FILE");
  command.number("--fps", options->frames_per_second, "frames per second of a path", {0.1, 1000});
  command.number("--seed", options->seed, "seed of the samples", {0, UINT32_MAX});
  add_watertight_option(command, options->watertight);
  add_allocator(command, options->allocator);
  add_build_options(command, options->settings, false);
  add_device_options(command, options->device);
  command.when_chosen([options, command, &invocation] {
    options->has_rate = command.is_given("--fps");
    options->has_tone = command.is_given("--tone");
    reads_scene(invocation.files, options->scene);
    invocation.files.reads(options->path, options->environment);
    if (options->path.empty()) invocation.files.writes_picture(options->output);
    invocation.action = [options, &invocation] {
      return render_picture(*options, invocation.files);
    };
  });
}

}  // namespace heapwood::app
