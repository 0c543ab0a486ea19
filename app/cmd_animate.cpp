// SPDX-License-Identifier: MIT
// heapwood animate: a moving scene whose tree is rebuilt in every frame, with every allocator.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "app/commands.hpp"
#include "app/measured_device.hpp"
#include "app/output/animate_tables.hpp"
#include "app/output/print_tables.hpp"
#include "app/report_options.hpp"
#include "bench/animate_bench.hpp"
#include "bench/animate_json.hpp"
#include "bench/program/messages.hpp"
#include "bench/program/output_file.hpp"
#include "bench/program/progress.hpp"
#include "bench/program/version.hpp"
#include "bench/results/bench_table.hpp"
#include "bench/shard.hpp"
#include "render/renderer.hpp"
#include "scenes/moving/moving_scene.hpp"

namespace heapwood::app {

namespace {

constexpr const char* animate_examples = R"(Examples:
  heapwood animate statue~
  heapwood animate explode:1m --size 1920x1080 --allocators atomic,heapwood,cfmmalloc
  heapwood animate horse_###.obj --keep-pool --json horse.json --resume
  heapwood animate a.ply..b.ply:120 --frames 120 --allocators heapwood -o frame_###.png
  heapwood animate fox.glb:Run --frames 60 --allocators heapwood -o fox_##.png
A moving scene is a name from 'heapwood list scenes', numbered OBJ or PLY files
(# stands for a digit), two meshes with the same triangles, or a glTF file with an
animation.)";

struct AnimateCommand {
  std::string scene, allocators = "all", trace = "shaded", format = "table";
  std::string json, pictures, shard;
  unsigned spp = 8;
  bool resume = false, strict = false;
  bench::AnimateSettings settings;
  bench::DeviceOptions device;
};

void parse_trace(const std::string& text, bench::AnimateSettings& settings) {
  settings.primary = settings.shaded = false;
  if (text == "none") return;
  for (const std::string& kind : bench::split(text, ',')) {
    if (kind != "primary" && kind != "shaded") {
      throw Error(Exit::usage,
                  "--trace '" + text + "': expected shaded, primary, primary,shaded or none");
    }
    (kind == "primary" ? settings.primary : settings.shaded) = true;
  }
  if (settings.primary && (settings.size.width % 8 != 0 || settings.size.height % 4 != 0)) {
    throw Error(Exit::usage, fmt::format("--size {}x{}: primary rays are traced in tiles: use "
                                         "multiples of 8x4",
                                         settings.size.width, settings.size.height));
  }
}

void print_report(const AnimateCommand& command, const bench::AnimateJob& job,
                  const std::vector<bench::AnimateRow>& rows, const bench::Json& report) {
  if (command.format == "json") {
    fmt::print("{}", bench::json_text(report));
    return;
  }
  if (command.format == "csv") {
    fmt::print("{}", bench::to_csv(animate_flat_table(rows)));
    return;
  }
  std::vector<bench::Table> tables{animate_time_table(rows)};
  if (bench::Table pools = animate_pool_table(rows); !pools.columns.empty())
    tables.push_back(std::move(pools));
  std::vector<std::string>& notes = tables.back().notes;
  notes.push_back(
      fmt::format("device: {}; {}", bench::device_text(job.device), bench::version_line()));
  for (const std::string& line : animate_method_lines(rows)) notes.push_back(line);
  print_tables(tables, command.format);
}

void check(const AnimateCommand& command, const bench::AnimateResult& result) {
  const auto failed = std::count_if(
      result.rows.begin(), result.rows.end(),
      [](const bench::AnimateRow& row) { return row.status == bench::Status::failed; });
  if (result.scene_error) throw *result.scene_error;
  if (failed > 0) {
    throw Error(Exit::failed, fmt::format("animate: {} of {} allocators failed; the reasons are "
                                          "below the table",
                                          failed, result.rows.size()));
  }
  if (result.interrupted) {
    throw Error(Exit::failed,
                command.json.empty()
                    ? std::string("animate: interrupted; the results so far are above")
                    : fmt::format("animate: interrupted; the results so far are in {}; continue "
                                  "with --resume",
                                  command.json));
  }
  if (!command.strict) return;
  for (const bench::AnimateRow& row : result.rows) {
    if (row.incomplete_frames == 0) continue;
    throw Error(Exit::exhausted,
                fmt::format("animate: {}: {}; use a larger --pool", row.allocator, row.reason));
  }
}

// Wrong usage is reported before anything is read or written.
bench::AnimateJob make_job(const AnimateCommand& command) {
  if (command.scene.empty()) {
    throw Error(Exit::usage,
                "animate: no scene given: try 'heapwood animate statue~', or name files as in "
                "frame_###.obj; see 'heapwood list scenes'");
  }
  if (command.resume && command.json.empty())
    throw Error(Exit::usage, "animate: --resume needs the file to continue: add --json FILE");
  bench::AnimateJob job;
  job.scene = command.scene;
  job.settings = command.settings;
  bench::refuse_live_pool(command.settings.build.pool, "animate");
  parse_trace(command.trace, job.settings);
  bench::check_camera(command.settings.camera);
  job.allocators = bench::find_allocators(command.allocators);
  if (!command.pictures.empty()) {
    bench::picture_path(command.pictures, 0);
    job.picture_spp = command.spp;
  }
  return job;
}

Exit animate(const AnimateCommand& command, const std::vector<std::string>& argv) {
  bench::AnimateJob job = make_job(command);
  const bench::Shard shard = bench::chosen_shard(command.shard);
  job.sized_for = job.allocators;  // the pool starts as without shards
  job.allocators = bench::shard_of(job.allocators, shard);
  bench::check_shard_file(command.json, shard);
  std::unique_ptr<bench::OutputFile> file;
  if (!command.json.empty()) file = std::make_unique<bench::OutputFile>(command.json);
  job.device = choose_measured_device(command.device);
  if (job.allocators.empty()) {
    bench::finish_empty_shard(file.get(), bench::animate_report(argv, job.device, {}), shard);
    return Exit::done;
  }
  bench::Earlier<bench::AnimateRow> earlier;
  if (command.resume) {
    earlier = bench::read_animations(command.json, job.device, bench::animate_row_head(job));
    job.kept = earlier.kept;
    const auto reused =
        std::count_if(job.allocators.begin(), job.allocators.end(), [&](const auto* entry) {
          return std::any_of(job.kept.begin(), job.kept.end(),
                             [&](const auto& row) { return row.allocator == entry->traits->id; });
        });
    if (reused > 0)
      bench::note(
          fmt::format("{}: {} of {} results reused", command.json, reused, job.allocators.size()));
  }
  if (!command.pictures.empty())  // reports that it cannot be written before anything is measured
    bench::OutputFile(bench::picture_path(command.pictures, 0));
  unsigned pictures = 0;
  std::optional<Error> picture_error;  // ends the writing of pictures, not the measurement

  bench::AnimateResult result;
  {
    bench::Progress progress;
    bench::AnimateEvents events;
    events.on_step = [&](std::size_t done, std::size_t total, const std::string& what) {
      progress.update(done, total, what);
    };
    events.picture = [&](unsigned frame, const render::Image& picture) {
      if (picture_error) return;
      try {
        bench::OutputFile(bench::picture_path(command.pictures, frame))
            .write(render::to_png(picture));
        ++pictures;
      } catch (const Error& error) {
        picture_error = error;
      }
    };
    result = bench::run_animation(job, events);
  }
  bench::Json report = bench::animate_report(argv, job.device, result.rows);
  bench::add_shard(report, shard);
  const std::size_t better = bench::add_earlier(report, earlier.results);
  std::optional<Error> write_error = write_report(file.get(), report);
  if (!write_error) write_error = picture_error;
  print_report(command, job, result.rows, report);
  note_better(command.json, better);
  if (job.picture_spp > 0 && pictures < job.settings.frames && !write_error)
    bench::note(
        fmt::format("animate: {} of {} pictures written; the other frames were not "
                    "measured",
                    pictures, job.settings.frames));
  if (write_error) throw *write_error;
  check(command, result);
  return Exit::done;
}

}  // namespace

void add_animate(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<AnimateCommand>();
  bench::AnimateSettings& settings = options->settings;
  CLI::App* command =
      app.add_subcommand("animate", "rebuild and trace a moving scene with every allocator");
  command->footer(animate_examples);
  command->add_option("scene", options->scene, "a moving scene (heapwood list scenes)")
      ->type_name("SCENE");
  add_allocators_option(*command, options->allocators);
  command
      ->add_option("--frames", settings.frames,
                   "frames to measure: spread over the scene's; more\nstart again")
      ->capture_default_str()
      ->transform(bench::between(1, 100000))
      ->type_name("N");
  command
      ->add_option("--trace", options->trace,
                   "shaded (a camera and a shadow ray per pixel),\nprimary (camera rays), both "
                   "separated by a comma, none")
      ->capture_default_str()
      ->type_name("KINDS");
  command->add_flag("--keep-pool", settings.keep_pool,
                    "do not reset the pool between frames: fragmentation\nover frames");
  command
      ->add_option_function<std::string>(
          "--size",
          [&settings](const std::string& text) { settings.size = bench::parse_image_size(text); },
          "size of the picture")
      ->default_str("1280x720")
      ->type_name("WxH");
  command->add_flag(
      "--watertight", settings.watertight,
      "slower intersection without leaks at edges;\nalways for small models in large scenes");
  bench::add_camera_options(*command, settings.camera);
  command
      ->add_option("-o,--output", options->pictures,
                   "write the pictures to PNG files, frame_###.png:\n# stands for a digit")
      ->type_name("PATTERN");
  command->add_option("--spp", options->spp, "samples per pixel of the pictures; not timed")
      ->capture_default_str()
      ->transform(bench::between(1u, render::max_spp))
      ->type_name("N");
  add_report_options(*command, "result", options->format, options->json);
  add_resume_option(*command, options->resume);
  command->add_flag("--strict", options->strict, "exit code 5 if the pool was exhausted");
  bench::add_build_options(*command, settings.build, false);
  command->remove_option(command->get_option("--keep-degenerate"));
  bench::add_shard_option(*command, options->shard);
  add_measured_device_options(*command, options->device);
  command->callback([options, &invocation] {
    for (const std::string& file : scenes::moving_files(options->scene))
      invocation.files.reads_scene(file);
    invocation.files.writes(options->json);
    if (!options->pictures.empty()) {
      for (unsigned frame = 0; frame < options->settings.frames; ++frame)
        invocation.files.writes(bench::picture_path(options->pictures, frame));
    }
    invocation.action = [options, &invocation] { return animate(*options, invocation.argv); };
  });
}

}  // namespace heapwood::app
