// SPDX-License-Identifier: MIT
// heapwood render: builds a tree and renders the scene to a PNG file.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>

#include "app/commands.hpp"
#include "app/output/leaf_warning.hpp"
#include "bench/bench_runner.hpp"
#include "bench/prepared_scene.hpp"
#include "bench/program/messages.hpp"
#include "bench/program/output_file.hpp"
#include "bench/program/progress.hpp"
#include "bench/results/format.hpp"
#include "bench/scene_camera.hpp"
#include "render/renderer.hpp"

namespace heapwood::app {

namespace {

constexpr const char* render_examples = R"(Examples:
  heapwood render atrium -o atrium.png
  heapwood render statue:1m -o statue.png --mode path --spp 256 --size 1920x1080
  heapwood render helmet.gltf -o helmet.png --mode path --spp 16 --denoise
  heapwood render stadium -o steps.png --mode heatmap
  heapwood render model.obj -o view.png --camera 0,1.5,4,0,1,0,45
The camera that was used is printed, 'ex,ey,ez,tx,ty,tz,fov --up y'. With --camera before it,
or as the line of model.camera beside model.obj, it makes the same picture again.)";

struct RenderCommand {
  std::string scene, output, allocator = bench::default_allocator, mode = "shaded";
  std::string material = "scene";
  bench::ImageSize size{1280, 720};
  unsigned spp = 16, seed = 1;
  bool watertight = false, denoise = false;
  bench::CameraOptions camera;
  bench::BuildSettings settings;
  bench::DeviceOptions device;
};

void check_usage(const RenderCommand& command) {
  if (command.scene.empty()) {
    throw Error(Exit::usage,
                "render: no scene given: try 'heapwood render atrium -o atrium.png', or name an "
                "OBJ, PLY or glTF file; "
                "see 'heapwood list scenes'");
  }
  if (command.output.empty()) throw Error(Exit::usage, "render: no output file: add -o FILE.png");
  // Reports wrong values before the tree is built.
  bench::check_camera(command.camera);
  render::parse_mode(command.mode);
  if (command.material != "scene" && command.material != "clay") {
    throw Error(Exit::usage,
                "material '" + bench::one_line(command.material) + "': expected scene or clay");
  }
}

Exit render_picture(const RenderCommand& command) {
  check_usage(command);
  const registry::RegisteredAllocator& entry = bench::find_builder(command.allocator);
  bench::OutputFile file(command.output);
  const simt::DeviceInfo device = bench::choose_device(command.device);
  const bool per_level = command.settings.builder == bench::Builder::per_level;
  if (per_level) host_alloc::find_host_allocator(command.settings.host_allocator, device.id);
  bench::Progress progress;
  progress.update(0, 1, command.scene + ": loading");
  const bool clay = command.material == "clay";
  bench::PreparedScene scene(command.scene, device, command.settings, bench::pool_needs({&entry}),
                             clay ? scenes::Content::geometry : scenes::Content::materials);
  progress.update(0, 1, scene.name() + ": building");
  const kdtree::BuildRun build =
      per_level ? kdtree::BuildRun{.ms = scene.build_per_level().ms} : scene.build_growing(entry);
  const kdtree::Tree tree = scene.tree();

  if (build.incomplete) {
    bench::warning(
        fmt::format("{}: pool of {} exhausted, tree incomplete: the picture is correct but slow to "
                    "render; use --pool auto or "
                    "a larger --pool",
                    entry.traits->id, bench::bytes_text(scene.pool_bytes())));
  } else {
    warn_of_large_leaf(scene.name(), largest_leaf(tree));
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
  job.denoise = command.denoise;
  job.camera = bench::choose_camera(command.camera, command.scene, scene.mesh(), traced,
                                    static_cast<double>(job.width) / job.height);
  job.progress = [&](unsigned done, unsigned spp) {
    progress.update(done, spp, scene.name() + ": samples");
  };
  const auto start = std::chrono::steady_clock::now();
  const render::Image image = render::render(job, traced);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  file.write(render::to_png(image));
  bench::clear_progress_line();

  fmt::print("{}: {} triangles\n{}\n\n", scene.name(), bench::count_text(scene.triangles()),
             bench::device_text(device));
  fmt::print("  build    {:>10} ms   {}, {} refs{}\n", bench::figure_text(build.ms),
             per_level ? "per level, " + bench::host_label(command.settings.host_allocator)
                       : std::string(entry.traits->label),
             kdtree::name(command.settings.refs), build.incomplete ? ", INCOMPLETE" : "");
  fmt::print("  render   {:>10} ms   {}, {}x{}, {} sample{} per pixel\n",
             bench::figure_text(1e3 * seconds), render::name(job.mode), job.width, job.height,
             job.spp, job.spp == 1 ? "" : "s");
  fmt::print("  camera   {}\n", render::to_arguments(job.camera, scene.mesh().origin));
  fmt::print("  picture  {}\n", bench::one_line(command.output));
  return Exit::done;
}

}  // namespace

void add_render(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<RenderCommand>();
  CLI::App* command = app.add_subcommand("render", "render a scene to a PNG file");
  command->footer(render_examples);
  command->add_option("scene", options->scene, "scene name or file path (heapwood list scenes)")
      ->type_name("SCENE");
  command->add_option("-o,--output", options->output, "the PNG file to write")->type_name("FILE");
  command
      ->add_option_function<std::string>(
          "--size",
          [options](const std::string& text) { options->size = bench::parse_image_size(text); },
          "size of the picture")
      ->default_str("1280x720")
      ->type_name("WxH");
  command->add_option("--spp", options->spp, "samples per pixel")
      ->capture_default_str()
      ->transform(bench::between(1u, render::max_spp))
      ->type_name("N");
  command
      ->add_option("--mode", options->mode,
                   "shaded, path, ao, normals, depth, heatmap,\nleaves, albedo")
      ->capture_default_str()
      ->type_name("MODE");
  command
      ->add_option("--material", options->material,
                   "scene: the scene's own colours, if it has any;\nclay: one colour")
      ->capture_default_str()
      ->type_name("MATERIAL");
  bench::add_camera_options(*command, options->camera);
  command->add_option("--seed", options->seed, "seed of the samples")
      ->transform(bench::decimal())
      ->capture_default_str()
      ->type_name("N");
  command->add_flag("--denoise", options->denoise,
                    "remove noise of few samples; modes shaded and path");
  command->add_flag(
      "--watertight", options->watertight,
      "slower intersection without leaks at edges;\nalways for small models in large scenes");
  command->add_option("--allocator", options->allocator, "allocator id (heapwood list allocators)")
      ->capture_default_str()
      ->type_name("ID");
  bench::add_builder_option(*command, options->settings, false);
  bench::add_build_options(*command, options->settings, false);
  bench::add_device_options(*command, options->device);
  command->callback([options, &invocation] {
    const std::string& scene = options->scene;
    for (const std::string& path : {scene, bench::camera_path(scene)}) invocation.files.reads(path);
    invocation.files.writes(options->output);
    invocation.action = [options, &invocation] {
      options->settings.host_allocator = level_allocator(invocation.host);
      return render_picture(*options);
    };
  });
}

}  // namespace heapwood::app
