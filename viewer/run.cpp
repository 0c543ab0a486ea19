// SPDX-License-Identifier: MIT
#include "viewer/options.hpp"

#include "bench/bench_runner.hpp"
#include "bench/prepared_scene.hpp"
#include "bench/program/command_files.hpp"
#include "bench/program/messages.hpp"
#include "bench/program/process.hpp"
#include "scenes/moving/moving_scene.hpp"
#include "viewer/viewer.hpp"

namespace heapwood::viewer {

namespace {

constexpr const char* examples = R"(Examples:
  heapwood-view                                 the atrium
  heapwood-view statue:1m --allocator cmalloc
  heapwood-view model.obj --mode heatmap
  heapwood-view statue~:5k                      a scene that moves
  heapwood-view app.trace                       requests of a program in the heap map
  heapwood-view pipes --screenshot pipes.png --size 1920x1080 --frames 64
  heapwood-view --screenshot window.png --panel
F1 shows the keys. Drop an OBJ, PLY or glTF file or a program trace (.trace) onto
the window to open it.
Exit codes are those of 'heapwood --help'.)";

void on_signal(int) {
  request_close();
  simt::interrupt();
}

int fail(Exit exit, const std::exception& error) {
  bench::write_error(
      fmt::format("heapwood-view: error: {}\n", bench::one_line(bench::error_text(error))));
  return static_cast<int>(exit);
}

void add_options(bench::CommandOptions& command, Options& options) {
  command.text("scene", options.scene,
               "a scene, static or moving (heapwood list scenes), a\nmesh file, or a program trace "
               "(.trace); default: atrium",
               "SCENE");
  command.text("--allocator", options.allocator, "see 'heapwood list allocators'", "ID");
  command.text("--second-allocator", options.second_allocator, "B in Live and Heap", "ID");
  command.text("--tab", options.tab, "the first tab: live, learn, compare, heap;\ndefault: live",
               "TAB");
  command.text("--mode", options.mode, "shaded, path, ao, normals, depth, heatmap,\nleaves, albedo",
               "MODE");
  command.choice("--material", options.material,
                 "scene: the scene's own colours, if it has any;\nclay: one colour",
                 {"scene", "clay"});
  command.text("--camera", options.camera,
               "ex,ey,ez,tx,ty,tz,fov, in the scene's coordinates;\ndefault: the scene's own",
               "CAMERA");
  command.text("--up", options.up, "x, y or z; default: the scene's own", "AXIS");
  command.parsed(
      "--size", [&](const std::string& text) { options.size = bench::parse_image_size(text); },
      "size of the window (at least 640x400), or of the\nscreenshot", "WxH", "1280x720");
  command.number("--spp", options.spp, "samples per pixel of a complete picture",
                 {1, render::max_spp});
  command.number("--scale", options.scale,
                 "scale of text and panel, 0.5 to 4; 0 = chosen for screen and window", {-1e6, 1e6},
                 "S");
  command.flag("--light", options.light, "light colours, for projectors (F9)");
  command.text("--screenshot", options.screenshot, "write a picture and exit", "FILE");
  command.number("--frames", options.frames, "samples per pixel of the screenshot",
                 {1, render::max_spp});
  command.need("--frames", "--screenshot");
  command.flag("--panel", options.panel, "screenshot of the whole window");
  command.need("--panel", "--screenshot");
  command.text("--script", options.script, "timed input (viewer/script.hpp)", "FILE");
  bench::add_build_options(command, options.settings, true);
  bench::add_device_options(command, options.device);
}

// Throws Error{Exit::usage} if a file would be overwritten that is also read.
void check_files(const Options& options, const bench::HostMemoryOptions& host) {
  bench::CommandFiles files;
  for (const std::string& path : scenes::moving_files(options.scene))
    bench::reads_scene(files, path);
  bench::reads_scene(files, options.scene);
  files.reads(options.script);
  files.writes_picture(options.screenshot);
  files.writes(host.trace);
  files.check();
}

int parse_and_run(int argc, char** argv) {
  bench::Program program("heapwood-view", "Interactive viewer of k-d trees and device heaps.",
                         examples, bench::version_line());
  Options options;
  add_options(program, options);
  bench::HostMemoryOptions host;
  bench::add_host_memory_options(program, host);
  if (!program.parse(argc, argv)) return static_cast<int>(Exit::done);
  // Called for their errors, which are to be reported before a window opens.
  simt::find_device(options.device.device, options.device.threads);
  render::parse_mode(options.mode);
  if (!options.tab.empty()) parse_tab(options.tab);
  if (!options.screenshot.empty() && is_program_trace(options.scene))
    throw Error(Exit::usage, options.scene +
                                 ": a program trace has no picture; without "
                                 "--screenshot the window shows its heap map");
  for (const std::string& id : {options.allocator, options.second_allocator}) {
    if (id.empty()) continue;
    if (const char* reason = bench::cannot_build(bench::find_allocator(id)))
      throw Error(Exit::usage, id + ": " + reason);
  }
  if (!options.up.empty()) bench::parse_axis(options.up);
  if (!options.camera.empty()) render::check_camera_text(options.camera);
  if (options.scale != 0 && !(options.scale >= min_scale && options.scale <= max_scale)) {
    throw Error(Exit::usage, fmt::format("--scale {}: expected 0 (the screen's) or {} to {}",
                                         options.scale, min_scale, max_scale));
  }
  check_files(options, host);
  if (!options.screenshot.empty()) {
    const bench::OutputFile writable(options.screenshot);
  }
  bench::install_signal_handlers(on_signal);
  window_is_watched = options.screenshot.empty();
  return static_cast<int>(bench::with_host_memory(host, [&] {
    Viewer(options).run();
    return Exit::done;
  }));
}

}  // namespace

int run(int argc, char** argv) {
  bench::hold_standard_streams();
  bench::ignore_write_signals();  // because xclip may end early
  try {
    return parse_and_run(argc, argv);
  } catch (const Error& error) {
    return fail(error.exit(), error);
  } catch (const std::exception& error) {
    return fail(Exit::failed, error);
  }
}

}  // namespace heapwood::viewer
