// SPDX-License-Identifier: MIT
// Tests of the real program: keys, builds, pictures; what it shows is compared with `heapwood`.
#include <algorithm>

#include "bench/bench_runner.hpp"
#include "bench/results/bench_table.hpp"
#include "bench/results/format.hpp"
#include "bench/results/json_report.hpp"
#include "tests/viewer/program.hpp"

namespace heapwood::tests {

namespace {

class Window : public Program {
 protected:
  // Exactly one line of error, with all the given words.
  void expect_error(const Outcome& outcome, int exit, const std::vector<std::string>& words) const {
    EXPECT_EQ(outcome.exit, exit) << outcome.err;
    const std::size_t at = outcome.err.find("heapwood-view: error: ");
    ASSERT_NE(at, std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.err.find('\n', at), outcome.err.size() - 1) << outcome.err;
    for (const std::string& word : words) EXPECT_PRED2(has, outcome.err.substr(at), word);
  }
  // Runs a script and, once it has written the report "ready", commands of the shell.
  Outcome beside(const std::string& steps, const std::string& commands) const {
    return on_display(
        {"bash", "-c",
         "'" + view_ + "' --tab learn --settings none --device cpu atrium:1k --script '" +
             write_script("wait built; report @ready; " + steps) +
             with_paths("' & until [ -s @ready ] || ! kill -0 $!; do sleep 0.1; done; ") +
             with_paths(commands) + "; wait $!"});
  }
  // Sends events through the window system instead of a script; then "after" is written.
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
  std::filesystem::remove("pipes-2k-compared-001.png");
  run("pipes:2k --runs 3 --size 1280x1000 --mode normals",
      "wait built; click Compare all; wait compared; wait 0.3; click row cmalloc; down Shift; "
      "click row cfmmalloc; up Shift; click Save PNG; wait idle; click Copy CSV; report @report; "
      "click Copy markdown; report @markdown; window @window.png 1000x900 1");
  const Json report = json("report");
  ASSERT_GE(report["table"].size(), 6u);
  EXPECT_EQ(report["chosen"], Json({"cmalloc", "cfmmalloc"}));
  // The table alone, as a picture.
  const render::Image summary = render::read_png("pipes-2k-compared-001.png");
  std::filesystem::remove("pipes-2k-compared-001.png");
  EXPECT_GT(summary.width, 600u);
  EXPECT_GT(count_pixels(summary, [](render::Rgb8 c) { return c.g > 150; }), 2000);
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
  // The same tree as on the command line.
  heapwood("build pipes:2k --runs 1 --device cpu --json @build");
  EXPECT_EQ(report["bench"]["results"][0]["tree"]["hash"],
            json("build")["results"][0]["tree"]["hash"]);
  if (marked.empty()) return;
  // The marked row is drawn in its colour.
  EXPECT_GT(count_near(picture("window.png"), {115, 199, 143}, 6), 30);
}

// AtomicMalloc never frees: at the end its one used region is shown as lost, and the memory above
// as untouched.
TEST_F(Window, TheHeapMapShowsTheWalk) {
  std::string forward;
  for (int i = 0; i < 12; ++i) forward += "; key . shift";  // a thousand events each
  const Json report =
      run("statue:1k --allocator atomic --mode normals",
          "wait built; key H; wait recorded; key Space; wait 0.2" + forward +
              "; click whole pool; move 5 5; wait 0.3; window @window.png 1280x720 1");
  ASSERT_EQ(report["heap"].size(), 1u);
  const Json& heap = report["heap"][0];
  EXPECT_EQ(heap["time"], heap["events"]);
  EXPECT_EQ(heap["unmatched_frees"], 0);
  EXPECT_EQ(heap["overlaps"], 0);
  EXPECT_EQ(heap["used_bytes"], 0);
  // What it has taken is not in use; the hole is that of the whole pool.
  const std::string title = report["texts"]["title 0"];
  EXPECT_PRED2(has_not, title, "0 B");
  EXPECT_PRED2(has, title, "taken, never freed");
  EXPECT_PRED2(
      has, title,
      "largest hole of the pool " + bench::bytes_text(heap["hole_bytes"].get<std::uint64_t>()));
  const auto tree = report["bench"]["results"][0]["tree"];
  EXPECT_EQ(heap["inner"].get<std::uint64_t>() + heap["leaves"].get<std::uint64_t>(),
            tree["nodes"].get<std::uint64_t>());
  ASSERT_EQ(heap["used_regions_at_end"].size(), 1u);
  const std::uint64_t begin = heap["used_regions_at_end"][0][0],
                      end = begin + heap["used_regions_at_end"][0][1].get<std::uint64_t>();
  const std::uint64_t cell = heap["cell_bytes"], pool = heap["pool_bytes"];
  unsigned lost = 0, untouched = 0;
  for (std::size_t i = 0; i < heap["colours"].size(); ++i) {
    const std::uint64_t first = i * cell, last = first + cell;
    const unsigned colour = heap["colours"][i];
    if (first >= begin && last <= end) {
      // Blocks are rounded up to granules, so that at least half of each cell is lost bytes.
      EXPECT_GT(colour >> 16, 110u) << i;
      ++lost;
    } else if (first >= end && last <= pool) {
      EXPECT_EQ(colour, 0x181b1fu) << i;
      ++untouched;
    }
  }
  EXPECT_GT(lost, 100u);
  EXPECT_GT(untouched, 100u);
  expect_drawn(heap, picture("window.png"));
}

TEST_F(Window, TwoMapsOfOneBuild) {
  const Json report = run("atrium:1k --allocator cfmmalloc --beside awmalloc-safe",
                          "wait built; click Heap map; wait recorded; wait 0.5");
  ASSERT_EQ(report["heap"].size(), 2u);
  EXPECT_EQ(report["heap"][0]["allocator"], "cfmmalloc");
  EXPECT_EQ(report["heap"][1]["allocator"], "awmalloc-safe");
  EXPECT_EQ(report["heap"][0]["requests"],
            report["heap"][1]["requests"]);  // the same tree requests the same arrays
  EXPECT_EQ(report["heap"][0]["pool_bytes"], report["heap"][1]["pool_bytes"]);
  EXPECT_EQ(report["heap"][0]["cell_bytes"], report["heap"][1]["cell_bytes"]);
  EXPECT_EQ(report["texts"]["shown"].get<std::string>().find("atrium:1k, 0 to "), 0u);
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
  write_file(path("flight.path"), "0 1,2,3,4,5,6,50\n1 2,2,3,4,5,6,50\n");
  const std::tuple<std::string, const char*, std::vector<std::string>> cases[] = {
      {"atrium:1k", "wait built; drop /nowhere/lost.obj; wait built 2", {"/nowhere/lost.obj"}},
      {"/nowhere/lost.obj", "wait built; drop @flight.path; wait 0.2", {"No scene has been built"}},
      {"atrium:3k --pool 200K", "wait built", {"exhausted", "200 KiB"}}};
  for (const auto& [arguments, steps, words] : cases) {
    const Json report = run(arguments, steps);
    for (const std::string& word : words) EXPECT_PRED2(has, report["messages"], word);
    EXPECT_EQ(report["scene"].is_null(), arguments[0] == '/');  // the old one stays
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

TEST_F(Window, ResizedMinimisedAndBack) {
  const Json report = run(
      "atrium:1k --size 640x400",
      "wait built; resize 500 300; wait samples 1; minimise; wait 0.3; restore; resize 700 500; "
      "wait samples 1");
  EXPECT_GE(report["samples"], 1);
}

TEST_F(Window, BookmarksAndViewAreKept) {
  const std::string steps =
      "wait built; move 100 200; drag 100 200 160 230; report @moved; key K; key Home; wait 0.1; "
      "report @home";
  run("atrium:1k --settings @settings.json", steps);
  run("atrium:1k --settings @settings.json", "wait built; key ]; wait 0.1; report @back");
  EXPECT_NE(json("moved")["camera"], json("home")["camera"]);
  EXPECT_EQ(json("moved")["camera"], json("back")["camera"]);
}

TEST_F(Window, BrokenSettingsAreLeftToTheUser) {
  const std::string broken = "{\"fly\": true, \"bookmarks\": ";
  write_file(path("settings.json"), broken);
  const Json report = run("atrium:1k --settings @settings.json", "wait built; key K");
  EXPECT_PRED2(has, report["messages"], "settings.json");
  EXPECT_EQ(read_file(path("settings.json")), broken);
}

TEST_F(Window, KeysWithControlAreNotItsOwn) {
  run("atrium:1k",
      "wait built; key 6 ctrl; key F1 ctrl; wait 0.1; report @ctrl; key 6; key F1; wait 0.1; "
      "report @alone");
  EXPECT_EQ(json("ctrl")["mode"], "shaded");
  EXPECT_EQ(json("ctrl")["help"], false);
  EXPECT_EQ(json("alone")["mode"], "heatmap");
  EXPECT_EQ(json("alone")["help"], true);
}

// The window stays responsive while builds run. Frames/s depend on the machine's load; the time of
// the window's thread per frame does not: at 1280x720 less than a sixtieth of a second.
TEST_F(Window, DrawsWhileItBuilds) {
  run("atrium:30k --runs 30 --size 1280x720",
      "wait built; key C; wait 3; report @report; key Escape; wait idle");
  const Json report = json("report");
  EXPECT_LT(report["frame_cpu_ms"], 16.6) << report["frames_per_second"] << " frames/s";
}

// A slowed build is visible while it runs: its map grows, can be paused, and matches the picture.
TEST_F(Window, TheHeapMapGrowsWithTheBuild) {
  run("statue:1k --allocator cmalloc --mode normals --size 1280x720",
      "wait built; key F3; wait 0.2; click pace; key H; wait events 300; report @early; wait "
      "events 1500; key Space; move 5 5; wait 0.4; window @held.png 1280x720 1; report @held; wait "
      "0.4; report @still; key Space; wait recorded; wait 0.2; report @end");
  const Json early = json("early")["heap"][0], held = json("held")["heap"][0],
             end = json("end")["heap"][0];
  EXPECT_EQ(early["watched"], true);
  EXPECT_EQ(early["finished"], false);
  EXPECT_GE(early["events"], 300);
  EXPECT_GT(held["events"], early["events"]);
  EXPECT_GT(end["events"], held["events"]);
  EXPECT_EQ(json("still")["heap"][0]["events"], held["events"]);
  EXPECT_EQ(end["watched"], false);
  EXPECT_EQ(end["finished"], true);
  EXPECT_EQ(end["time"], end["events"]);  // a watched build is not played again
  EXPECT_EQ(end["used_bytes"], 0);
  EXPECT_GT(held["used_bytes"], 0);
  expect_drawn(held, picture("held.png"));
  const auto is_used = [](const Json& c) { return (c.get<unsigned>() >> 8 & 255) > 120; };
  EXPECT_GT(std::count_if(held["colours"].begin(), held["colours"].end(), is_used), 20);
}

TEST_F(Window, FragmentationIsShownOverTheBuild) {
  run("pipes:1k --allocator scatter --mode normals",
      "wait built; key H; wait recorded; key Space; wait 0.2; click memory curves; wait 0.2; "
      "report @middle; click share curves; wait 0.2; window @window.png 1280x720 1");
  const Json heap = json("middle")["heap"][0];
  EXPECT_NEAR(heap["time"].get<double>() / heap["events"].get<double>(), 0.5,
              0.02);  // set by the click
  EXPECT_GE(heap["points"], 400);
  EXPECT_GT(heap["mark_bytes"], heap["used_bytes"]);
  EXPECT_LE(heap["largest_below_bytes"], heap["mark_bytes"]);
  EXPECT_GE(heap["external_below"], 0);
  EXPECT_LE(heap["external_below"], 1);
  EXPECT_GT(heap["internal"], 0);
  EXPECT_LT(heap["internal"], 1);
  // The curves are drawn in their colours.
  const render::Image window = picture("window.png");
  EXPECT_GT(count_near(window, {226, 121, 156}, 12), 50);  // internal
  EXPECT_GT(count_near(window, {107, 173, 242}, 12), 50);  // largest gap
}

TEST_F(Window, EscapeCancelsAScreenshot) {
  for (const bool panel : {false, true}) {
    write_file(path("settings.json"),
               std::string("{\"shot_spp\": 8192, \"shot_panel\": ") + (panel ? "true}" : "false}"));
    const Json report = run("atrium:3k --settings @settings.json",
                            "wait built; key F12; wait 0.2; key Escape; wait idle; wait 0.2");
    EXPECT_PRED2(has, report["messages"], "cancelled, nothing was written");
    EXPECT_FALSE(std::filesystem::exists("atrium-3k-001.png"));
  }
}

// On a screen of twice the usual density the window keeps its size between runs.
TEST_F(Window, ItsSizeIsKeptOnADenseScreen) {
  const auto run = [&](const std::string& steps) {
    const Outcome outcome =
        on_display({"-dpi", "192", view_, "--tab", "learn", "--device", "cpu", "atrium:1k",
                    "--settings", path("settings.json"), "--script",
                    write_script("wait built; " + steps + "; wait 0.2; quit")});
    EXPECT_EQ(outcome.exit, 0) << outcome.err;
    return std::pair{json("settings.json")["width"].get<int>(),
                     json("settings.json")["height"].get<int>()};
  };
  EXPECT_EQ(run("resize 900 500"), std::pair(900, 500));
  EXPECT_EQ(run("wait 0.1"), std::pair(900, 500));
}

// A window is never so small that its parts do not fit.
TEST_F(Window, ItHasAMinimumSize) {
  run("atrium:1k --settings @settings.json --size 1x1", "wait built; resize 10 10; wait 0.2");
  EXPECT_EQ(json("settings.json")["width"], 640);
  EXPECT_EQ(json("settings.json")["height"], 400);
}

TEST_F(Window, SaysWhyItDoesNotOpen) {
  expect_error(on_display({"-extension", "GLX", view_, "--settings", "none"}), 1,
               {"OpenGL", "heapwood render"});
  // Without a display, and before a window opens.
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
