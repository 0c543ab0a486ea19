// SPDX-License-Identifier: MIT
// The command animate: rebuilds the tree of a moving scene in every frame, with every allocator.
#include <algorithm>
#include <memory>

#include "app/commands.hpp"
#include "app/measuring.hpp"
#include "app/output/tables.hpp"
#include "bench/animate_bench.hpp"
#include "bench/program/messages.hpp"
#include "render/renderer.hpp"
#include "scenes/moving/moving_scene.hpp"

namespace heapwood::app {

namespace {

constexpr const char* animate_examples = R"(Examples:
  heapwood animate statue~
  heapwood animate explode:1m --size 1920x1080 --allocators atomic,heapwood,cfmmalloc
  heapwood animate horse_###.obj --keep-pool --json horse.json --resume
  heapwood animate fox.glb:Run --frames 60 --allocators heapwood -o fox_##.png
A moving scene is a name from 'heapwood list scenes', numbered OBJ or PLY files
(# stands for a digit), two meshes with the same triangles, or a glTF file with an
animation.)";

struct AnimateCommand {
  std::string scene, trace = "shaded", pictures;
  unsigned spp = 8;
  AnimateSettings settings;
  MeasuringOptions measuring;
};

void parse_trace(const std::string& text, AnimateSettings& settings) {
  settings.primary = settings.shaded = false;
  if (text == "none") return;
  for (const std::string& kind : split(text, ',')) {
    if (kind != "primary" && kind != "shaded") {
      throw Error(Exit::usage,
                  "--trace '" + text + "': expected shaded, primary, primary,shaded or none");
    }
    (kind == "primary" ? settings.primary : settings.shaded) = true;
  }
  if (settings.primary && (settings.size.width % 8 != 0 || settings.size.height % 4 != 0)) {
    throw_error(Exit::usage,
                "--size {}x{}: primary rays are traced in tiles: use "
                "multiples of 8x4",
                settings.size.width, settings.size.height);
  }
}

// Checks the options before anything is read or written.
AnimateJob make_job(const AnimateCommand& command) {
  if (command.scene.empty()) {
    throw Error(Exit::usage,
                "animate: no scene given: try 'heapwood animate statue~', or name files as in "
                "frame_###.obj; see 'heapwood list scenes'");
  }
  AnimateJob job;
  job.scene = command.scene;
  job.settings = command.settings;
  refuse_live_pool(command.settings.build.pool, "animate");
  parse_trace(command.trace, job.settings);
  check_camera(command.settings.camera);
  job.allocators = find_allocators(command.measuring.allocators);
  if (!command.pictures.empty()) {
    picture_path(command.pictures, 0);
    job.picture_spp = command.spp;
  }
  return job;
}

void note_reused(const AnimateJob& job, const std::string& file) {
  const auto reused =
      std::count_if(job.allocators.begin(), job.allocators.end(), [&](const auto* entry) {
        return std::any_of(job.kept.begin(), job.kept.end(),
                           [&](const auto& row) { return row.allocator == entry->traits->id; });
      });
  if (reused > 0) note("{}: {} of {} results reused", file, reused, job.allocators.size());
}

Exit animate(const AnimateCommand& command, const std::vector<std::string>& argv) {
  AnimateJob job = make_job(command);
  Measuring measuring("animate", command.measuring);
  job.sized_for = job.allocators;  // the pool starts with the same size as without shards
  job.allocators = shard_of(job.allocators, measuring.shard());
  job.device = measuring.start();
  if (job.allocators.empty())
    return measuring.finish_empty_shard(report_head(animate_schema, argv, job.device));
  const std::string& json = command.measuring.json;
  job.kept =
      measuring.resume([&] { return read_animations(json, job.device, animate_row_head(job)); });
  note_reused(job, json);
  if (!command.pictures.empty())  // fails before anything is measured if they cannot be written
    OutputFile(picture_path(command.pictures, 0));
  unsigned pictures = 0;
  std::optional<Error> picture_error;  // an error ends the writing of pictures, not the measurement
  AnimateEvents events;
  events.picture = [&](unsigned frame, const render::Image& picture) {
    if (picture_error) return;
    try {
      OutputFile(picture_path(command.pictures, frame)).write(render::to_png(picture));
      ++pictures;
    } catch (const Error& error) {
      picture_error = error;
    }
  };
  const AnimateResult result = measuring.measure([&](const OnStep& on_step) {
    events.on_step = on_step;
    return run_animation(job, events);
  });
  if (job.picture_spp > 0 && pictures < job.settings.frames && !picture_error)
    note("animate: {} of {} pictures written; the other frames were not measured", pictures,
         job.settings.frames);
  return measuring.finish(
      result.rows, report_of(animate_schema, argv, job.device, result.rows),
      {.csv_columns = animate_columns,
       .tables = {animate_time_table(result.rows), animate_pool_table(result.rows)},
       .notes = animate_method_lines(result.rows)},
      picture_error ? picture_error : result.scene_error);
}

}  // namespace

void add_animate(Program& program, Invocation& invocation) {
  auto options = std::make_shared<AnimateCommand>();
  MeasuringOptions& measuring = options->measuring;
  AnimateSettings& settings = options->settings;
  CommandOptions command(program, "animate",
                         "rebuild and trace a moving scene with every allocator", animate_examples);
  command.text("scene", options->scene, "a moving scene (heapwood list scenes)", "SCENE");
  add_allocators(command, measuring.allocators);
  command.number("--frames", settings.frames,
                 "frames to measure: spread over the scene's; more\nstart again", {1, 100000});
  command.text("--trace", options->trace,
               "shaded (a camera and a shadow ray per pixel),\nprimary (camera rays), both "
               "separated by a comma, none",
               "KINDS");
  command.flag("--keep-pool", settings.keep_pool,
               "do not reset the pool between frames: fragmentation\nover frames");
  add_size_option(command, settings.size, "size of the picture");
  add_watertight_option(command, settings.watertight);
  add_camera_options(command, settings.camera);
  command.text("-o,--output", options->pictures,
               "write the pictures to PNG files, frame_###.png:\n# stands for a digit", "PATTERN");
  command.number("--spp", options->spp, "samples per pixel of the pictures; not timed",
                 {1, render::max_spp});
  add_report(command, measuring, "result");
  add_resume(command, measuring);
  command.flag("--strict", measuring.strict, "exit code 5 if the pool was exhausted");
  add_build_options(command, settings.build, false);
  command.remove("--keep-degenerate");
  add_shard_and_device(command, measuring);
  command.when_chosen([options, &invocation] {
    for (const std::string& file : scenes::moving_files(options->scene))
      invocation.files.reads_scene(file);
    invocation.files.writes(options->measuring.json);
    if (!options->pictures.empty()) {
      for (unsigned frame = 0; frame < options->settings.frames; ++frame)
        invocation.files.writes(picture_path(options->pictures, frame));
    }
    invocation.action = [options, &invocation] { return animate(*options, invocation.argv); };
  });
}

}  // namespace heapwood::app
