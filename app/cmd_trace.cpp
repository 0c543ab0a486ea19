// SPDX-License-Identifier: MIT
// heapwood trace: measures closest hits per second.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "app/bench_runner.hpp"
#include "app/commands.hpp"
#include "app/format.hpp"
#include "app/leaf_warning.hpp"
#include "app/output_file.hpp"
#include "app/progress.hpp"
#include "app/samples.hpp"
#include "app/table.hpp"
#include "app/trace_bench.hpp"

namespace heapwood::app {

namespace {

constexpr const char* trace_examples = R"(Examples:
  heapwood trace atrium
  heapwood trace bunny.ply --camera -0.0168,0.13,0.25,-0.0168,0.105,0,40 --size 4096x4096
  heapwood trace model.obj --rays primary --json rays.json
Primary rays go through the pixels' centres in tiles of 8x4; diffuse rays start
at their hits (render/ray_sets.hpp has the rules).)";

constexpr const char* trace_schema = "heapwood.trace/1";

struct TraceCommand {
  std::string rays = "primary,diffuse", json, allocator = default_allocator;
  TraceBench bench;
  DeviceOptions device;
};

void parse_kinds(const std::string& text, TraceBench& bench) {
  bench.primary = bench.diffuse = false;
  for (const std::string& kind : split(text, ',')) {
    if (kind != "primary" && kind != "diffuse") {
      throw Error(Exit::usage, "--rays '" + text + "': '" + kind + "' is not primary or diffuse");
    }
    (kind == "primary" ? bench.primary : bench.diffuse) = true;
  }
}

Table rays_table(const TraceBench& bench, const TraceResult& result) {
  Table table;
  table.title = fmt::format("{}: closest hits, {}x{}", result.scene, bench.size.width, bench.size.height);
  for (const char* title : {"rays", "number", "hits", "ms", "Mrays/s"}) table.columns.push_back({title});
  for (const char* title : {"inner", "leaves", "triangles"})
    table.columns.push_back({title, false, false, "steps/ray"});
  for (const TraceRow& row : result.rows) {
    const render::StepSums& steps = row.rays.steps;
    const auto per_ray = [&](std::uint64_t all) {
      return figure_text(row.rays.rays == 0 ? 0 : static_cast<double>(all) / static_cast<double>(row.rays.rays));
    };
    table.add({row.kind, count_text(row.rays.rays), count_text(row.rays.hits), figure_text(median(row.rays.runs_ms)),
               figure_text(row.mrays()), per_ray(steps.inner), per_ray(steps.leaves), per_ray(steps.tests)});
  }
  const kdtree::TreeStats& tree = result.tree;
  const FirstRay& first_ray = result.first_ray;
  table.notes = {
      fmt::format("device: {}", device_text(bench.device)),
      fmt::format("tree: {} triangles, {} nodes, {} refs, SAH cost {}, depth {}; nodes {}, triangle records {}",
                  count_text(result.triangles), count_text(tree.inner + tree.leaves), count_text(tree.refs),
                  figure_text(tree.sah_cost_1_1), tree.depth, bytes_text(result.node_bytes),
                  bytes_text(result.record_bytes)),
      fmt::format("first ray: {} ms after the scene is on the device: tree {} ms, triangle records {} ms{}",
                  figure_text(first_ray.ms()), figure_text(median(first_ray.build_ms)),
                  figure_text(median(first_ray.records_ms)),
                  first_ray.order_ms
                      ? fmt::format("; in depth-first order {} ms later", figure_text(*first_ray.order_ms))
                      : ""),
      fmt::format("camera: {}", render::to_arguments(result.camera, result.origin)),
      fmt::format("method: {} intersection, median of {} runs after a warm-up; rays and hits in buffers",
                  result.watertight ? "watertight" : "fast", bench.settings.runs)};
  return table;
}

Json trace_report(const TraceBench& bench, const TraceResult& result, const std::vector<std::string>& argv) {
  const kdtree::TreeStats& tree = result.tree;
  Json json = report_head(trace_schema, argv, bench.device);
  json["scene"] = {{"name", result.scene}, {"source", bench.scene}, {"triangles", result.triangles}};
  json["allocator"] = bench.entry->traits->id;
  json["settings"] = app::to_json(bench.settings);
  json["width"] = bench.size.width;
  json["height"] = bench.size.height;
  json["camera"] = render::to_string(result.camera, result.origin);
  json["up"] = std::string(1, "xyz"[result.camera.up]);
  json["watertight"] = result.watertight;
  json["tree"] = {{"inner", tree.inner},
                  {"leaves", tree.leaves},
                  {"refs", tree.refs},
                  {"depth", tree.depth},
                  {"sah_cost_1_1", tree.sah_cost_1_1},
                  {"hash", fmt::format("{:016x}", tree.hash)},
                  {"node_bytes", result.node_bytes},
                  {"record_bytes", result.record_bytes}};
  json["first_ray"] = to_json(result.first_ray);
  for (const TraceRow& row : result.rows) json["results"].push_back(to_json(row));
  return json;
}

Exit trace(TraceCommand command, const std::vector<std::string>& argv) {
  TraceBench& bench = command.bench;
  if (bench.scene.empty()) {
    throw Error(Exit::usage,
                "trace: no scene given: try 'heapwood trace atrium', or name an OBJ or PLY file; "
                "see 'heapwood list scenes'");
  }
  check_camera(bench.camera);
  parse_kinds(command.rays, bench);
  bench.entry = &find_builder(command.allocator);
  std::unique_ptr<OutputFile> file;
  if (!command.json.empty()) file = std::make_unique<OutputFile>(command.json, std::vector{bench.scene});
  bench.device = choose_device(command.device);
  Progress progress;
  std::size_t step = 0;
  const TraceResult result = run_trace(bench, [&](const std::string& what) { progress.update(step++, 4, what); });
  clear_progress_line();
  fmt::print("{}", to_text(rays_table(bench, result), terminal_style()));
  if (file) file->write(json_text(trace_report(bench, result, argv)));
  if (result.incomplete) {
    warning(fmt::format("{}: pool of {} exhausted, tree incomplete and slower to trace; use --pool auto",
                        bench.entry->traits->id, bytes_text(result.pool_bytes)));
  } else {
    warn_of_large_leaf(result.scene, result.tree.largest_leaf);
  }
  if (result.interrupted) throw Error(Exit::failed, "trace: interrupted; the results so far are above");
  return Exit::done;
}

}  // namespace

void add_trace(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<TraceCommand>();
  CLI::App* command = app.add_subcommand("trace", "measure closest hits per second in a scene's tree");
  command->footer(trace_examples);
  command->add_option("scene", options->bench.scene, "scene name or file path (heapwood list scenes)")
      ->type_name("SCENE");
  add_camera_options(*command, options->bench.camera);
  command
      ->add_option_function<std::string>(
          "--size", [options](const std::string& text) { options->bench.size = parse_image_size(text); },
          "pixels, multiples of 8x4")
      ->default_str("1024x1024")
      ->type_name("WxH");
  command->add_option("--rays", options->rays, "primary, diffuse")->capture_default_str()->type_name("KINDS");
  command->add_flag("--watertight", options->bench.watertight,
                    "slower intersection without leaks at edges;\nalways for small models in large scenes");
  command->add_option("--runs", options->bench.settings.runs, "timed builds and launches, after a warm-up")
      ->capture_default_str()
      ->check(between(1, 1000))
      ->type_name("N");
  command->add_option("--allocator", options->allocator, "allocator of the build (heapwood list allocators)")
      ->capture_default_str()
      ->type_name("ID");
  add_build_options(*command, options->bench.settings, false);
  command->get_option("--timeout")
      ->description(
          "time limit of one build, including restarts with\nlarger arrays or pools, and of one launch of rays\n"
          "(exit 1)");
  add_device_options(*command, options->device);
  command->add_option("--json", options->json, "write all measurements, including raw samples")->type_name("FILE");
  command->callback([options, &invocation] {
    invocation.action = [options, &invocation] { return trace(*options, invocation.argv); };
  });
}

}  // namespace heapwood::app
