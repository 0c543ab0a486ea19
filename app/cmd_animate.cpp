// SPDX-License-Identifier: MIT
// The command animate: rebuilds the tree of a moving scene in every frame, with every allocator.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "app/commands.hpp"
#include "app/measuring.hpp"
#include "bench/animate_bench.hpp"
#include "bench/program/messages.hpp"
#include "bench/results/format.hpp"
#include "bench/results/row_tables.hpp"
#include "bench/results/table.hpp"
#include "render/renderer.hpp"
#include "scenes/moving/moving_scene.hpp"

namespace heapwood::app {

namespace {

std::string triangles_text(const AnimateRow& row) {
  if (row.max_triangles == 0) return "";
  return row.min_triangles == row.max_triangles
             ? fmt::format(", {}", plural_text(row.max_triangles, "triangle"))
             : fmt::format(", {} to {} triangles", count_text(row.min_triangles),
                           count_text(row.max_triangles));
}

std::string percent(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return missing;
  return fmt::format("{:.1f}%", 100 * static_cast<double>(part) / static_cast<double>(whole));
}

// The medians of the parts of a frame.
Table animate_time_table(const std::vector<AnimateRow>& rows) {
  Table table;
  if (rows.empty()) return table;
  const auto measured =
      std::ranges::find_if(rows, [](const auto& row) { return !row.frame_ms.empty(); });
  const AnimateRow& first = measured == rows.end() ? rows.front() : *measured;
  const AnimateSettings& settings = first.settings;
  table.title = fmt::format("{}: {} frames{}, {}x{}, pool {}: time [ms]", first.scene,
                            settings.frames, triangles_text(first), settings.size.width,
                            settings.size.height, settings.keep_pool ? "kept" : "reset");
  std::vector<AnimateSamples> parts;
  std::string columns = "allocator<; ";
  for (const AnimateSamples& one : animate_samples) {
    if (one.ms == &AnimateRow::frame_ms || (first.*one.ms).empty()) continue;
    parts.push_back(one);
    columns += one.key + std::string("; ");
  }
  table.columns = columns_of(columns + "frame: median, p99; frames/s");
  const AnimateRow* const best =
      find_fastest(pointers_to(rows), [](const AnimateRow& row) { return &row.frame_ms; }).row;
  Footnotes footnotes;
  for (const AnimateRow& row : rows) {
    add_line(table, row, !row.frame_ms.empty(), footnotes, [&](const auto&, auto& cells) {
      for (const AnimateSamples& part : parts)
        cells.emplace_back(figure_text(median(row.*part.ms)));
      cells.emplace_back(figure_text(median(row.frame_ms)), &row == best);
      append(cells, figure_text(quantile(row.frame_ms, 0.99)),
             figure_text(row.frames_per_second()));
    });
  }
  explain_marks(table, best != nullptr, rows);
  footnotes.append_to(table.notes);
  return table;
}

// The pools after the first and the last frame (no columns if no pool was kept).
Table animate_pool_table(const std::vector<AnimateRow>& rows) {
  Table table;
  if (std::ranges::none_of(rows, [](const auto& row) { return !row.pools.empty(); })) return table;
  table.title = fmt::format("{}: the kept pool", rows.front().scene);
  table.columns = columns_of(
      "allocator<; pool; after the first frame: in use, free, largest hole, fragmented; after the "
      "last frame: in use, free, largest hole, fragmented");
  for (const AnimateRow& row : rows) {
    if (row.pools.empty()) continue;
    std::vector<Cell> cells{row.label, bytes_text(row.pool_bytes)};
    for (const PoolAfterFrame* pool : {&row.pools.front(), &row.pools.back()}) {
      const alloc::Fragmentation& state = pool->state;
      append(cells, bytes_text(state.used_bytes), percent(state.free_bytes, row.pool_bytes));
      // Adjacent free regions count as one, as in the column `fragmented`.
      const double hole = static_cast<double>(state.free_bytes) * (1 - state.external_merged);
      append(cells, percent(static_cast<std::uint64_t>(hole), row.pool_bytes),
             fmt::format("{:.1f}%", 100 * state.external_merged));
    }
    table.add(std::move(cells));
  }
  table.notes.push_back(
      "every block of the build has been freed; in use: blocks that the allocator holds; free, "
      "largest hole: shares of the pool, adjacent free regions are one hole; fragmented: 1 - "
      "largest hole / free");
  return table;
}

std::vector<std::string> animate_method_lines(const std::vector<AnimateRow>& rows) {
  if (rows.empty()) return {};
  const AnimateSettings& settings = rows.front().settings;
  std::vector<std::string> lines;
  std::string traced = "no rays";
  if (settings.primary) traced = "primary: a camera ray per pixel, from and to buffers";
  if (settings.shaded) {
    traced = std::string(settings.primary ? traced + ", not part of a frame; " : "") +
             "shaded: a camera ray and a shadow ray per pixel";
  }
  lines.push_back(fmt::format(
      "method: medians over frames; each frame is measured with all allocators in turn, after a "
      "warm-up; its mesh is made before; upload: vertices that moved, from page-locked memory; "
      "reset: pool, queue and launch; build: the kernel; records: triangles as rays read them; {}",
      traced));
  const auto has_hash = [](const AnimateRow& row) {
    return row.status == Status::ok && !row.hashes.empty();
  };
  const auto equal = std::ranges::count_if(rows, has_hash);
  if (equal > 1) {
    lines.push_back(
        fmt::format("trees: the same in every frame with all {} allocators (by hash)", equal));
  }
  for (const AnimateRow& row : rows) {
    if (row.camera.empty()) continue;
    lines.push_back("camera: " + row.camera);
    break;
  }
  return lines;
}

constexpr const char* animate_columns =
    "scene source allocator status reason frames=frame_ms#|0 min_triangles max_triangles "
    "width=settings/width height=settings/height keep_pool=settings/keep_pool pool_bytes "
    "incomplete_frames|0 upload_median_ms upload_p99_ms reset_median_ms reset_p99_ms "
    "build_median_ms build_p99_ms records_median_ms records_p99_ms primary_median_ms "
    "primary_p99_ms shaded_median_ms shaded_p99_ms frame_median_ms frame_p99_ms frames_per_second "
    "first_external_fragmentation_merged=pool_after_frames/0/external_fragmentation_merged "
    "last_external_fragmentation_merged=pool_after_frames/-1/external_fragmentation_merged";

constexpr const char* animate_examples = R"(Examples:
  heapwood animate statue~
  heapwood animate statue~:1m --size 1920x1080 --allocators atomic,heapwood,cfmmalloc
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
    throw_error(Exit::usage, "--size {}x{}: primary rays are traced in tiles: use multiples of 8x4",
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
  const auto reused = std::ranges::count_if(job.allocators, [&](const auto* entry) {
    return std::ranges::find(job.kept, entry->traits->id, &AnimateRow::allocator) != job.kept.end();
  });
  if (reused > 0) note("{}: {} of {} results reused", file, reused, job.allocators.size());
}

Exit animate(const AnimateCommand& command, const std::vector<std::string>& argv) {
  AnimateJob job = make_job(command);
  Measuring measuring("animate", command.measuring);
  job.sized_for = job.allocators;  // the pool starts with the same size as without shards
  job.allocators = shard_of(job.allocators, measuring.shard());
  job.device = measuring.start(job.allocators);
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
      reads_scene(invocation.files, file);
    invocation.files.writes(options->measuring.json);
    if (!options->pictures.empty()) {
      for (unsigned frame = 0; frame < options->settings.frames; ++frame)
        invocation.files.writes(picture_path(options->pictures, frame));
    }
    invocation.action = [options, &invocation] { return animate(*options, invocation.argv); };
  });
}

}  // namespace heapwood::app
