// SPDX-License-Identifier: MIT
// The command trace: measures closest hits per second.
#include <memory>

#include "app/commands.hpp"
#include "app/measuring.hpp"
#include "bench/bench_runner.hpp"
#include "bench/program/command_files.hpp"
#include "bench/program/messages.hpp"
#include "bench/results/format.hpp"
#include "bench/results/table.hpp"
#include "bench/trace_bench.hpp"
#include "scenes/file.hpp"

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
  table.title =
      fmt::format("{}: closest hits, {}x{}", result.scene, bench.size.width, bench.size.height);
  table.columns =
      columns_of("rays; number; hits; ms; Mrays/s; steps/ray: inner, leaves, triangles");
  for (const TraceRow& row : result.rows) {
    const render::StepSums& steps = row.rays.steps;
    const auto per_ray = [&](std::uint64_t all) {
      return figure_text(
          row.rays.rays == 0 ? 0 : static_cast<double>(all) / static_cast<double>(row.rays.rays));
    };
    table.add({row.kind, count_text(row.rays.rays), count_text(row.rays.hits),
               figure_text(median(row.rays.runs_ms)), figure_text(row.mrays()),
               per_ray(steps.inner), per_ray(steps.leaves), per_ray(steps.tests)});
  }
  const kdtree::TreeStats& tree = result.tree;
  const FirstRay& first_ray = result.first_ray;
  table.notes = {
      fmt::format("device: {}", device_text(bench.device)),
      fmt::format(
          "tree: {}, {}, {}, SAH cost {} (traversal 1, intersection 1), depth {}; nodes {}, "
          "triangle records {}",
          plural_text(result.triangles, "triangle"), plural_text(tree.inner + tree.leaves, "node"),
          plural_text(tree.refs, "ref"), figure_text(tree.sah_cost_1_1), tree.depth,
          bytes_text(result.node_bytes), bytes_text(result.record_bytes)),
      fmt::format(
          "first ray: {} ms after the scene is on the device: tree {} ms, triangle records {} ms{}",
          figure_text(first_ray.ms()), figure_text(median(first_ray.build_ms)),
          figure_text(median(first_ray.records_ms)),
          first_ray.order_ms
              ? fmt::format("; in depth-first order {} ms later", figure_text(*first_ray.order_ms))
              : ""),
      fmt::format("camera: {}", render::to_arguments(result.camera, result.origin)),
      fmt::format("method: {} intersection, median of {} after a warm-up; rays and hits in buffers",
                  result.watertight ? "watertight" : "fast",
                  plural_text(static_cast<std::uint64_t>(bench.settings.runs), "run"))};
  return table;
}

Json trace_report(const TraceBench& bench, const TraceResult& result,
                  const std::vector<std::string>& argv) {
  const kdtree::TreeStats& tree = result.tree;
  Json json = report_head(trace_schema, argv, bench.device);
  json["scene"] = {{"name", result.scene},
                   {"source", scenes::utf8_text(bench.scene)},
                   {"triangles", result.triangles}};
  json["allocator"] = bench.entry->traits->id;
  json["settings"] = to_json(bench.settings);
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
  require_scene("trace", bench.scene);
  check_camera(bench.camera);
  parse_kinds(command.rays, bench);
  bench.entry = &find_builder(command.allocator);
  const std::unique_ptr<OutputFile> file = open_output(command.json);
  bench.device = choose_measured_device(command.device, {bench.entry});
  Progress progress;
  std::size_t step = 0;
  const TraceResult result =
      run_trace(bench, [&](const std::string& what) { progress.update(step++, 4, what); });
  clear_progress_line();
  const std::optional<Error> write_error =
      write_report(file.get(), trace_report(bench, result, argv));
  print_tables({rays_table(bench, result)});
  if (write_error) throw *write_error;
  if (result.incomplete) {
    warning("{}: pool of {} exhausted, tree incomplete and slower to trace; use --pool auto",
            bench.entry->traits->id, bytes_text(result.pool_bytes));
  } else {
    warn_of_large_leaf(result.scene, result.tree.largest_leaf);
  }
  if (result.interrupted)
    throw Error(Exit::failed, "trace: interrupted; the results so far are above");
  if (!result.failure.empty())
    throw_error(Exit::failed, "trace: {}; the results so far are above", result.failure);
  return Exit::done;
}

}  // namespace

void add_trace(Program& program, Invocation& invocation) {
  auto options = std::make_shared<TraceCommand>();
  CommandOptions command(program, "trace", "measure closest hits per second in a scene's tree",
                         trace_examples);
  command.text("scene", options->bench.scene, "scene name or file path (heapwood list scenes)",
               "SCENE");
  add_camera_options(command, options->bench.camera);
  add_size_option(command, options->bench.size, "pixels, multiples of 8x4");
  command.text("--rays", options->rays, "primary, diffuse", "KINDS");
  add_watertight_option(command, options->bench.watertight);
  command.number("--runs", options->bench.settings.runs,
                 "timed builds and launches, after a warm-up", {1, 1000});
  add_allocator(command, options->allocator);
  add_build_options(command, options->bench.settings, false);
  command.describe("--timeout",
                   "time limit of one build, including restarts with\nlarger arrays or pools, and "
                   "of one launch of rays\n(exit 1)");
  add_measured_device(command, options->device);
  add_json(command, options->json);
  command.when_chosen([options, &invocation] {
    reads_scene(invocation.files, options->bench.scene);
    invocation.files.writes(options->json);
    invocation.action = [options, &invocation] { return trace(*options, invocation.argv); };
  });
}

}  // namespace heapwood::app
