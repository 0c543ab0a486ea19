// SPDX-License-Identifier: MIT
// heapwood trace: how many closest hits a second.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "app/bench_runner.hpp"
#include "app/commands.hpp"
#include "app/format.hpp"
#include "app/json_report.hpp"
#include "app/output_file.hpp"
#include "app/prepared_scene.hpp"
#include "app/progress.hpp"
#include "app/samples.hpp"
#include "app/scene_camera.hpp"
#include "app/table.hpp"
#include "render/ray_sets.hpp"

namespace heapwood::app {

namespace {

constexpr const char* examples = R"(Examples:
  heapwood trace atrium
  heapwood trace bunny.ply --camera -0.0168,0.13,0.25,-0.0168,0.105,0,40 --size 4096x4096
  heapwood trace model.obj --rays primary --json rays.json
Primary rays go through the pixels' centres in tiles of 8x4; diffuse rays start
at their hits (render/ray_sets.hpp has the rules).)";

constexpr const char* trace_schema = "heapwood.trace/1";

struct TraceCommand {
  std::string scene, rays = "primary,diffuse", json, allocator = "cfmmalloc";
  ImageSize size{1024, 1024};
  int runs = 5;
  bool watertight = false;
  CameraOptions camera;
  BuildSettings settings;
  DeviceOptions device;
};

struct Measured {
  std::string kind;
  render::RayMeasurement rays;
  double mrays() const {
    const std::optional<double> ms = median(rays.runs_ms);
    return ms && *ms > 0 ? 1e-3 * static_cast<double>(rays.rays) / *ms : 0;
  }
  double a_ray(std::uint64_t steps) const {
    return rays.rays == 0 ? 0 : static_cast<double>(steps) / static_cast<double>(rays.rays);
  }
};

std::vector<std::string> parse_kinds(const std::string& text) {
  std::vector<std::string> kinds = split(text, ',');
  for (const std::string& kind : kinds) {
    if (kind != "primary" && kind != "diffuse") {
      throw Error(Exit::usage, "--rays '" + text + "': '" + kind + "' is none of primary, diffuse");
    }
  }
  return kinds;
}

Json to_json(const Measured& measured) {
  const render::RayMeasurement& rays = measured.rays;
  Json json;
  json["kind"] = measured.kind;
  json["rays"] = rays.rays;
  json["hits"] = rays.hits;
  json["runs_ms"] = rays.runs_ms;
  put(json, "median_ms", median(rays.runs_ms));
  json["mrays_per_second"] = measured.mrays();
  json["steps"] = {{"inner", rays.steps.inner}, {"leaves", rays.steps.leaves}, {"triangles", rays.steps.tests}};
  return json;
}

Exit trace(const TraceCommand& command, const std::vector<std::string>& argv) {
  if (command.scene.empty()) {
    throw Error(Exit::usage,
                "trace: no scene given: try 'heapwood trace atrium', or name an OBJ or PLY file; "
                "see 'heapwood list scenes'");
  }
  check_camera(command.camera);
  const std::vector<std::string> kinds = parse_kinds(command.rays);
  const bool diffuse = std::find(kinds.begin(), kinds.end(), "diffuse") != kinds.end();
  const engine::Entry& entry = find_builder(command.allocator);
  std::unique_ptr<OutputFile> file;
  if (!command.json.empty()) file = std::make_unique<OutputFile>(command.json);
  const simt::DeviceInfo device = choose_device(command.device);
  Progress progress;
  progress.update(0, 4, command.scene + ": loading");
  PreparedScene scene(command.scene, device, command.settings, !entry.traits->lower_bound);
  progress.update(1, 4, scene.name() + ": building");
  const kdtree::BuildRun build = scene.build_growing(entry);
  const kdtree::TreeStats stats = scene.tree_stats();
  const render::Scene traced(device.id, scene.workspace().download(), scene.view(), command.watertight);
  const auto [width, height] = command.size;
  const render::Camera camera = choose_camera(command.camera, command.scene, scene.mesh(), traced,
                                              static_cast<double>(width) / std::max(1u, height));

  std::vector<Measured> results;
  progress.update(2, 4, scene.name() + ": primary rays");
  const std::vector<kdtree::Ray> primary = render::primary_rays(camera, width, height);
  results.push_back({"primary", render::measure_rays(traced, primary, command.runs, command.settings.timeout)});
  if (diffuse) {
    progress.update(3, 4, scene.name() + ": diffuse rays");
    const std::vector<kdtree::Ray> rays = render::diffuse_rays(traced, primary, results.front().rays.found, width);
    results.push_back({"diffuse", render::measure_rays(traced, rays, command.runs, command.settings.timeout)});
  }
  std::erase_if(results,
                [&](const Measured& m) { return std::find(kinds.begin(), kinds.end(), m.kind) == kinds.end(); });
  clear_progress_line();

  const std::size_t nodes = sizeof(kdtree::Node) * (stats.inner + stats.leaves);
  const std::size_t records = (sizeof(kdtree::PlaneRecord) + sizeof(std::uint32_t)) * stats.refs;
  Table table;
  table.title = fmt::format("{}: closest hits, {}x{}", scene.name(), width, height);
  for (const char* title : {"rays", "number", "hits", "ms", "Mrays/s"}) table.columns.push_back({title});
  for (const char* title : {"inner", "leaves", "triangles"})
    table.columns.push_back({title, false, false, "steps a ray"});
  for (const Measured& m : results) {
    const render::StepSums& steps = m.rays.steps;
    table.add({m.kind, count_text(m.rays.rays), count_text(m.rays.hits), figure_text(median(m.rays.runs_ms)),
               figure_text(m.mrays()), figure_text(m.a_ray(steps.inner)), figure_text(m.a_ray(steps.leaves)),
               figure_text(m.a_ray(steps.tests))});
  }
  table.notes = {
      fmt::format("device: {}", device_text(device)),
      fmt::format("tree: {} triangles, {} nodes, {} refs, SAH cost {}, depth {}; nodes {}, triangle records {}",
                  count_text(scene.triangles()), count_text(stats.inner + stats.leaves), count_text(stats.refs),
                  figure_text(stats.sah_cost_1_1), stats.depth, bytes_text(nodes), bytes_text(records)),
      fmt::format("camera: {} --up {}", render::to_string(camera), "xyz"[camera.up]),
      fmt::format("method: {} intersection, median of {} runs after a warm-up; rays and hits in buffers",
                  command.watertight ? "watertight" : "fast", command.runs)};
  fmt::print("{}", to_text(table, terminal_style()));
  if (file) {
    Json json = report_head(trace_schema, argv, device);
    json["scene"] = {{"name", scene.name()}, {"source", command.scene}, {"triangles", scene.triangles()}};
    json["settings"] = app::to_json(command.settings);
    json["width"] = width;
    json["height"] = height;
    json["camera"] = render::to_string(camera);
    json["up"] = std::string(1, "xyz"[camera.up]);
    json["watertight"] = command.watertight;
    json["tree"] = {{"inner", stats.inner},
                    {"leaves", stats.leaves},
                    {"refs", stats.refs},
                    {"depth", stats.depth},
                    {"sah_cost_1_1", stats.sah_cost_1_1},
                    {"hash", fmt::format("{:016x}", stats.hash)},
                    {"node_bytes", nodes},
                    {"record_bytes", records}};
    for (const Measured& m : results) json["results"].push_back(to_json(m));
    file->write(json_text(json));
  }
  if (build.incomplete) {
    warning(fmt::format("{}: pool of {} exhausted, tree incomplete: the figures are of a worse tree; use --pool auto",
                        entry.traits->id, bytes_text(scene.pool_bytes())));
  }
  return Exit::done;
}

}  // namespace

void add_trace(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<TraceCommand>();
  CLI::App* command = app.add_subcommand("trace", "closest hits a second through a scene's tree");
  command->footer(examples);
  command->add_option("scene", options->scene, "a name or a path (heapwood list scenes)")->type_name("SCENE");
  add_camera_options(*command, options->camera);
  command
      ->add_option_function<std::string>(
          "--size", [options](const std::string& text) { options->size = parse_image_size(text); },
          "pixels, multiples of 8x4")
      ->default_str("1024x1024")
      ->type_name("WxH");
  command->add_option("--rays", options->rays, "primary, diffuse")->capture_default_str()->type_name("KINDS");
  command->add_flag("--watertight", options->watertight, "the slower intersection that leaks at no edge");
  command->add_option("--runs", options->runs, "timed launches, after a warm-up")
      ->capture_default_str()
      ->check(quiet(CLI::Range(1, 1000)))
      ->type_name("N");
  command->add_option("--allocator", options->allocator, "that the tree is built with")
      ->capture_default_str()
      ->type_name("ID");
  add_build_options(*command, options->settings, false);
  add_device_options(*command, options->device);
  command->add_option("--json", options->json, "write everything measured, raw samples too")->type_name("FILE");
  command->callback([options, &invocation] {
    invocation.action = [options, &invocation] { return trace(*options, invocation.argv); };
  });
}

}  // namespace heapwood::app
