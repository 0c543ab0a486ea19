// SPDX-License-Identifier: MIT
// Tests of the real program: keys, builds, pictures; what it shows is compared with `heapwood`.

#include "bench/bench_runner.hpp"
#include "bench/results/format.hpp"
#include "bench/results/json_report.hpp"
#include "bench/results/result.hpp"
#include "tests/viewer/program.hpp"

namespace heapwood::tests {
namespace {

class Window : public Program {
 protected:
  // Exactly one line of error, with all the given words.
  void expect_error(const Outcome& outcome, int exit, const std::vector<std::string>& words) const {
    EXPECT_EQ(outcome.exit, exit) << outcome.err;
    const std::size_t begin = outcome.err.find("heapwood-view: error: ");
    ASSERT_NE(begin, std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.err.find('\n', begin), outcome.err.size() - 1) << outcome.err;
    for (const std::string& word : words) EXPECT_PRED2(has, outcome.err.substr(begin), word);
  }
  // Runs a script and, once it has written the report "ready", commands of the shell.
  Outcome beside(const std::string& steps, const std::string& commands) const {
    return on_display(
        {"bash", "-c",
         "'" + view_ + "' --tab learn --device cpu atrium:1k --script '" +
             write_script("wait built; report @ready; " + steps) +
             with_paths("' & until [ -s @ready ] || ! kill -0 $!; do sleep 0.1; done; ") +
             with_paths(commands) + "; wait $!"});
  }
  // Sends events through the window system instead of a script, then writes the file "after".
  void send(const std::string& events) const {
    if (std::system("command -v xdotool > /dev/null") != 0)
      GTEST_SKIP() << "xdotool is not installed";
    const Outcome outcome = beside("wait file @pressed; wait 0.5; report @after; quit",
                                   "xdotool " + events + "; touch @pressed");
    ASSERT_EQ(outcome.exit, 0) << outcome.err;
  }
};

// The window's colours are those of the map's cells, except for the frame around the largest hole.
void expect_drawn(const Json& heap, const render::Image& window) {
  const unsigned columns = heap["columns"], rows = heap["rows"];
  const auto place = [&](unsigned cell, unsigned count, int axis) {
    const float begin = heap["area"][axis], length = heap["area"][axis + 2];
    return static_cast<unsigned>(begin + (static_cast<float>(cell) + 0.5f) * length /
                                             static_cast<float>(count));
  };
  unsigned outlined = 0;
  for (unsigned i = 0; i < columns * rows; ++i) {
    const render::Rgb8 c = window.at(place(i % columns, columns, 0), place(i / columns, rows, 1));
    outlined += (static_cast<unsigned>(c.r) << 16 | c.g << 8 | c.b) != heap["colours"][i];
  }
  EXPECT_LT(outlined, 2 * (columns + rows));
}

TEST_F(Window, AScreenshotIsThePictureOfRender) {
  for (const std::string arguments : {"statue:2k --size 160x120 --material clay",
                                      "pipes:2k --size 160x120 --mode ao --camera 9,6,11,0,1,0,50",
                                      "statue:2k --size 160x90 --mode normals --up x"}) {
    heapwood("render -o @render.png --device cpu --spp 4 " + arguments);
    run(arguments + " --screenshot @view.png --frames 4");
    EXPECT_EQ(picture("view.png"), picture("render.png")) << arguments;
  }
}

// Without panel and numbers the picture fills the window, except for the name in the corner. In a
// picture of many launches each pixel gets each sample once.
TEST_F(Window, TheWindowShowsThePictureOfRender) {
  for (const auto& [mode, size, samples] :
       {std::tuple{"shaded", "320x240", "4"}, std::tuple{"normals", "900x700", "3"}}) {
    const std::string scene = std::string("atrium:3k --mode ") + mode;
    run(scene,
        std::string("wait built; key F2; key F4; window @window.png ") + size + " " + samples);
    heapwood("render -o @render.png --device cpu --size " + std::string(size) + " --spp " +
             samples + " " + scene);
    render::Image shown = picture("window.png"), rendered = picture("render.png");
    ASSERT_EQ(shown.width, rendered.width);
    ASSERT_EQ(shown.height, rendered.height);
    for (unsigned y = 0; y < 60; ++y)
      for (unsigned x = 0; x < shown.width; ++x) shown.at(x, y) = rendered.at(x, y);
    const render::Difference difference = render::compare(shown, rendered, 1);
    EXPECT_EQ(difference.above, 0) << mode << ": " << difference.largest;
  }
}

TEST_F(Window, RealKeysArrive) {
  send("mousemove 300 300 key F1 key F2 key 6");
  if (IsSkipped()) return;
  EXPECT_EQ(json("ready")["help"], false);
  EXPECT_EQ(json("ready")["panel"], true);
  EXPECT_EQ(json("after")["help"], true);
  EXPECT_EQ(json("after")["panel"], false);
  EXPECT_EQ(json("after")["mode"], "heatmap");
}

// The mouse turns the camera, and a key that is held flies: the atrium surrounds its camera.
TEST_F(Window, ARealMouseAndAKeyThatIsHeldMoveTheCamera) {
  for (const char* events :
       {"mousemove 250 300 sleep 0.3 mousedown 1 sleep 0.3 mousemove 300 320 sleep 0.3 "
        "mousemove 330 330 sleep 0.3 mouseup 1",
        "mousemove 300 300 keydown w sleep 0.5 keyup w"}) {
    std::filesystem::remove(path("pressed"));
    std::filesystem::remove(path("ready"));
    send(events);
    if (IsSkipped()) return;
    EXPECT_NE(json("ready")["camera"], json("after")["camera"]) << events;
  }
}

TEST_F(Window, TheTableShowsWhatWasMeasured) {
  run("pipes:2k --runs 3 --size 1280x1000 --mode normals",
      "wait built; click Compare all; wait compared; wait 0.3; click column allocator; "
      "click row cmalloc; down Shift; click row cfmmalloc; up Shift; click Copy CSV; "
      "report @report; click Copy markdown; report @markdown; window @window.png 1000x900 1");
  const Json report = json("report");
  ASSERT_GE(report["table"].size(), 6u);
  EXPECT_EQ(report["chosen"], Json({"cmalloc", "cfmmalloc"}));
  std::vector<bench::Result> results;
  for (const Json& one : report["bench"]["results"])
    results.push_back(bench::result_from_json(bench::Json::parse(one.dump())));
  results.resize(report["table"].size());
  std::vector<const std::vector<double>*> times;
  std::vector<std::string> names;
  std::string marked;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Json& row = report["table"][i];
    const bench::Result& result = results[i];
    EXPECT_EQ(row[0], result.label + (result.lower_bound ? " *" : ""));
    if (bench::cannot_build(*registry::find(result.allocator))) {
      EXPECT_EQ(row[1], "skipped");
      continue;
    }
    ASSERT_EQ(result.status, bench::Status::ok) << result.reason;
    ASSERT_EQ(result.runs_ms.size(), 3u);
    EXPECT_EQ(row[1], bench::figure_text(*bench::median(result.runs_ms)));
    EXPECT_EQ(row[2], bench::ratio_text(*result.slowdown) + "x");
    if (!result.lower_bound) {
      times.push_back(&result.runs_ms);
      names.push_back(row[0]);
    }
    if (row[4] == true) marked += row[0];
  }
  const std::optional<std::size_t> fastest = bench::clearly_fastest(times);
  EXPECT_EQ(marked, fastest ? names[*fastest] : "");
  EXPECT_EQ(report["clipboard"], bench::to_csv(bench::flat_table(results)));
  EXPECT_EQ(json("markdown")["clipboard"], bench::to_markdown(bench::slowdown_table(results)));
  // The command line builds the same tree.
  heapwood("build pipes:2k --runs 1 --device cpu --json @build");
  EXPECT_EQ(report["bench"]["results"][0]["tree"]["hash"],
            json("build")["results"][0]["tree"]["hash"]);
  if (marked.empty()) return;
  // The marked row is drawn in its colour.
  EXPECT_GT(count_near(picture("window.png"), {115, 199, 143}, 6), 30);
}

// AtomicMalloc never frees: at the end its one used region is shown as lost.
TEST_F(Window, TheHeapMapShowsTheWalk) {
  std::string forward;
  // Each key press goes a thousand events forward.
  for (int i = 0; i < 12; ++i) forward += "; key . shift";
  const Json report = run("statue:1k --allocator atomic --mode normals",
                          "wait built; key H; wait recorded; key Space; wait 0.2" + forward +
                              "; move 5 5; wait 0.3; window @window.png 1280x720 1");
  ASSERT_EQ(report["heap"].size(), 1u);
  const Json& heap = report["heap"][0];
  EXPECT_EQ(heap["time"], heap["events"]);
  EXPECT_EQ(heap["unmatched_frees"], 0);
  EXPECT_EQ(heap["overlaps"], 0);
  EXPECT_EQ(heap["used_bytes"], 0);
  // The memory that AtomicMalloc has handed out was freed, so it does not count as in use.
  const std::string title = report["texts"]["title 0"];
  EXPECT_PRED2(has_not, title, "0 B");
  EXPECT_PRED2(has, title, "taken, never freed");
  ASSERT_EQ(heap["used_regions_at_end"].size(), 1u);
  const std::uint64_t begin = heap["used_regions_at_end"][0][0],
                      end = begin + heap["used_regions_at_end"][0][1].get<std::uint64_t>();
  const std::uint64_t cell = heap["cell_bytes"];
  unsigned lost = 0;
  for (std::size_t i = 0; i < heap["colours"].size(); ++i) {
    if (i * cell < begin || (i + 1) * cell > end) continue;
    // Blocks are rounded up to granules, so that at least half of each cell is lost bytes.
    EXPECT_GT(heap["colours"][i].get<unsigned>() >> 16, 110u) << i;
    ++lost;
  }
  EXPECT_GT(lost, 100u);
  expect_drawn(heap, picture("window.png"));
}

// A file's colours are those that `heapwood render` shows; M switches to clay.
TEST_F(Window, ShowsColoursAndClay) {
  write_file(path("red.mtl"), "newmtl red\nKd 0.9 0.1 0.1\n");
  write_file(path("fan.obj"), "mtllib red.mtl\nusemtl red\n" + obj_text(60));
  const std::string camera = "8,6,35,8,6,5,40";
  const auto r = reports("@fan.obj --camera " + camera,
                         "wait built; REPORT; screenshot @scene.png 160x120 4; key M; REPORT; "
                         "screenshot @clay.png 160x120 4; key 8; REPORT");
  EXPECT_EQ(r[0]["material"], "scene");
  EXPECT_EQ(r[1]["material"], "clay");
  EXPECT_EQ(r[2]["mode"], "albedo");
  for (const std::string material : {"scene", "clay"}) {
    heapwood("render @fan.obj -o @render.png --size 160x120 --spp 4 --device cpu --camera " +
             camera + " --material " + material);
    EXPECT_EQ(picture(material + ".png"), picture("render.png")) << material;
  }
  EXPECT_NE(picture("scene.png"), picture("clay.png"));
}

// test_parts.cpp compares the probe's counters with the ray tracer's.
TEST_F(Window, TheProbeFollowsTheMouse) {
  const Json report =
      run("atrium:2k --mode heatmap --spp 1", "wait built; key F2; key P; move 200 150; wait 0.3");
  const Json ray = report["ray"];
  EXPECT_EQ(ray["hit"], true);
  EXPECT_GT(ray["steps"].get<int>(), 3);
  EXPECT_GT(ray["tests"].get<int>(), 0);
}

TEST_F(Window, FailuresAreMessages) {
  const std::tuple<std::string, const char*, std::vector<std::string>> cases[] = {
      {"atrium:1k", "wait built; drop /nowhere/lost.obj; wait built 2", {"/nowhere/lost.obj"}},
      {"/nowhere/lost.obj", "wait built; key F12; wait 0.2", {"No scene has been built"}},
      {"atrium:3k --pool 200K", "wait built", {"exhausted", "200 KiB"}}};
  for (const auto& [arguments, steps, words] : cases) {
    const Json report = run(arguments, steps);
    for (const std::string& word : words) EXPECT_PRED2(has, report["messages"], word);
    EXPECT_EQ(report["scene"].is_null(), arguments[0] == '/');  // the old scene stays
  }
}

// The script has indented lines, and line ends as on Windows.
TEST_F(Window, ADroppedFileOpens) {
  std::ofstream(path("fan.obj")) << obj_text(300);
  const Json report =
      run("atrium:1k", "wait built\r\n  drop @fan.obj\r\nwait built 2\nwait samples 1");
  EXPECT_EQ(report["scene"], path("fan.obj"));
  EXPECT_GE(report["samples"], 1);
}

TEST_F(Window, EscapeCancelsAndTheNextBuildWorks) {
  for (const Json& report :
       reports("atrium:200k --runs 200",
               "wait 0.5; key Escape; wait idle; REPORT; key B; wait 0.5; key Escape; wait idle; "
               "REPORT"))
    EXPECT_PRED2(has, report["messages"], "Cancelled");
}

TEST_F(Window, SurvivesResizingAndMinimising) {
  const Json report = run(
      "atrium:1k --size 640x400",
      "wait built; resize 500 300; wait samples 1; minimise; wait 0.3; restore; resize 700 500; "
      "wait samples 1");
  EXPECT_GE(report["samples"], 1);
}

TEST_F(Window, KeysWithControlAreNotItsOwn) {
  run("atrium:1k",
      "wait built; key 6 ctrl; key F1 ctrl; key = ctrl; wait 0.1; report @ctrl; key 6; key F1; "
      "wait 0.1; "
      "report @alone");
  EXPECT_EQ(json("ctrl")["mode"], "shaded");
  EXPECT_EQ(json("ctrl")["help"], false);
  // Except Ctrl + and Ctrl -, which change the scale.
  EXPECT_NEAR(json("ctrl")["scale"], 1.1, 0.01);
  EXPECT_EQ(json("alone")["mode"], "heatmap");
  EXPECT_EQ(json("alone")["help"], true);
}

// The window stays responsive while builds run. Frames/s depend on the machine's load; the time of
// the window's thread per frame does not: at 1280x720 less than a sixtieth of a second.
TEST_F(Window, DrawsWhileItBuilds) {
  run("atrium:30k --runs 30 --size 1280x720",
      "wait built; key C; wait 1.5; report @report; key Escape; wait idle");
  const Json report = json("report");
  EXPECT_LT(report["frame_cpu_ms"], 16.6) << report["frames_per_second"] << " frames/s";
}

// A click in the curves sets the time. A recording that was played ends where its pool was in the
// worst state, not on an empty map.
TEST_F(Window, FragmentationIsShownOverTheBuild) {
  run("pipes:1k --allocator scatter --mode normals",
      "wait built; key H; wait recorded; key Space; wait 0.2; click memory curves; wait 0.2; "
      "report @middle; window @window.png 1280x720 1; key Space; "
      "wait stopped; report @end; key Space; wait 0.3; report @again; click Worst moment; report "
      "@worst");
  const Json heap = json("middle")["heap"][0], end = json("end")["heap"][0], again = json("again");
  EXPECT_NEAR(heap["time"].get<double>() / heap["events"].get<double>(), 0.5, 0.02);
  EXPECT_GE(heap["points"], 400);
  EXPECT_GT(heap["mark_bytes"], heap["used_bytes"]);
  EXPECT_LE(heap["largest_below_bytes"], heap["mark_bytes"]);
  // The curves are drawn in their colours.
  const render::Image window = picture("window.png");
  EXPECT_GT(count_near(window, {250, 217, 102}, 12), 50);  // colour of the largest hole
  EXPECT_EQ(json("end")["heap_playing"], false);
  EXPECT_EQ(json("end")["texts"]["time"].get<std::string>().find("worst moment: event "), 0u);
  EXPECT_EQ(again["texts"]["time"].get<std::string>().find("event "), 0u);
  EXPECT_GT(end["used_bytes"], 0);
  EXPECT_LT(end["time"], end["events"]);
  // Space plays it from the start.
  EXPECT_EQ(again["heap_playing"], true);
  EXPECT_LT(again["heap_place"], 0.2);
  EXPECT_EQ(json("worst")["heap_playing"], false);
  EXPECT_EQ(json("worst")["heap"][0]["time"], end["time"]);
}

TEST_F(Window, EscapeCancelsAScreenshot) {
  const std::string picture = path("none.png");
  for (const std::string window : {"", " --panel"}) {
    expect_error(view("atrium:3k --size 1280x720 --screenshot @none.png --frames 8192" + window,
                      "wait built; wait 1; key Escape; wait 60"),
                 1, {"the picture was cancelled"});
    EXPECT_FALSE(std::filesystem::exists(picture));
  }
}

// R records until it is pressed again; files that exist are kept. Without ffmpeg it says what to
// install.
TEST_F(Window, RRecordsAVideo) {
  write_script("wait built; key R; wait 0.5; key R; wait idle; report @report; quit");
  write_file(path("atrium-1k-001.mp4"), "earlier");
  const auto run_in_folder = [&] {
    const Outcome outcome =
        on_display({"bash", "-c",
                    with_paths("cd @; PATH=@ exec ") + view_ +
                        " --tab learn --device cpu atrium:1k --size 640x400 --script script"});
    EXPECT_EQ(outcome.exit, 0) << outcome.err;
    return json("report")["messages"];
  };
  EXPECT_PRED2(has, run_in_folder(), "apt-get install ffmpeg");
  EXPECT_FALSE(std::filesystem::exists(path("atrium-1k-002.mp4")));
  write_stub_of_ffmpeg(path("ffmpeg"));
  EXPECT_PRED2(has, run_in_folder(), "Saved atrium-1k-002.mp4");
  EXPECT_EQ(read_file(path("atrium-1k-001.mp4")), "earlier");
  const std::size_t bytes = std::filesystem::file_size(path("atrium-1k-002.mp4"));
  EXPECT_GE(bytes, 10u * 640 * 400 * 4);  // at least a third of a second
  EXPECT_EQ(bytes % (640 * 400 * 4), 0u);
}

// Light colours are those of the command line until F9 changes them. In a large window texts and
// maps are larger.
TEST_F(Window, LightColoursAndLargeWindows) {
  const auto r = reports("atrium:1k --light --mode normals --spp 1 --size 1280x800",
                         "wait built; window @light.png 1280x800 1; key F9; window @dark.png "
                         "1280x800 1; key H; wait recorded; REPORT; resize 1920 1080; REPORT");
  EXPECT_GT(picture("light.png").at(1270, 790).g, 230);
  EXPECT_LT(picture("dark.png").at(1270, 790).g, 40);
  const Json before = r[0]["heap"][0]["area"], after = r[1]["heap"][0]["area"];
  EXPECT_GT(after[2], before[2].get<float>() * 1.3);
  EXPECT_GE(after[3], before[3]);
  EXPECT_EQ(r[0]["scale"], 1);
  EXPECT_EQ(r[1]["scale"], 1.25);
}

// A window is never so small that its parts do not fit.
TEST_F(Window, ItHasAMinimumSize) {
  const Json report = run("atrium:1k --size 1x1", "wait built; resize 10 10; wait 0.2");
  const Json& help = report["places"]["help"];  // at the right end of the bar
  EXPECT_GT(help[0].get<float>(), 600);
}

TEST_F(Window, SaysWhyItDoesNotOpen) {
  expect_error(on_display({"-extension", "GLX", view_}), 1, {"OpenGL", "heapwood render"});
  // Errors that are reported without a display, because no window has been opened yet.
  const auto without = [&](const std::string& arguments) {
    return Running("/usr/bin/env", split("-u DISPLAY -u WAYLAND_DISPLAY " + view_ + arguments))
        .wait();
  };
  expect_error(without(""), 1, {"window", "heapwood render"});
  expect_error(without(" --device cuda:99"), 4, {"cuda:99"});
  expect_error(without(" --screenshot /nowhere/a.png"), 1, {"/nowhere/a.png", "create its folder"});
  const std::tuple<const char*, const char*, const char*> wrong[] = {
      {" --mode sepia", "sepia", "heatmap"},      {" --material steel", "steel", "clay"},
      {" --allocator best", "best", "cfmmalloc"}, {" --allocator fdg", "fdg", "at once"},
      {" --panel", "--panel", "--screenshot"},    {" --scale 0.1", "--scale 0.1", "0.5"}};
  for (const auto& [arguments, one, other] : wrong)
    expect_error(without(arguments), 2, {one, other});
  expect_error(view("/nowhere/lost.obj --screenshot @none.png"), 3, {"/nowhere/lost.obj"});
}

TEST_F(Window, AScriptIsCheckedBeforeItRuns) {
  expect_error(view("atrium:1k", "wait built; dance"), 2, {":2:", "dance"});
  expect_error(view("atrium:1k", "key F13"), 2, {":1:", "F13"});
}

// The program does not wait for a picture that cannot be rendered.
TEST_F(Window, NoTreeIsNoPicture) {
  const std::string picture = path("none.png");
  expect_error(view("statue:200k --timeout 0.001 --screenshot @none.png"), 1, {"Heapwood"});
  expect_error(view("statue:2k --allocator scatter --pool 1K --screenshot @none.png"), 1,
               {"ScatterAlloc", "skipped"});
  EXPECT_FALSE(std::filesystem::exists(picture));
}

TEST_F(Window, AScriptWhosePictureCannotBeTakenFails) {
  const std::string picture = path("none.png");
  expect_error(view("@none.ply", "wait 0.5; window @none.png 320x240 1"), 1, {"no scene", picture});
  expect_error(view("atrium:1k", "resize -5 -5; quit"), 2, {"resize -5 -5"});
  EXPECT_FALSE(std::filesystem::exists(picture));
}

TEST_F(Window, StoppedEarlyIsAFailure) {
  expect_error(beside("wait 100", "kill $!"), 1, {"stopped", "script"});
}

}  // namespace
}  // namespace heapwood::tests
