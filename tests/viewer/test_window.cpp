// SPDX-License-Identifier: MIT
// Tests of the real program: keys, builds, pictures; what it shows is compared with `heapwood`.
#include <algorithm>
#include <cmath>

#include "bench/bench_runner.hpp"
#include "bench/results/bench_table.hpp"
#include "bench/results/format.hpp"
#include "bench/results/json_report.hpp"
#include "tests/viewer/program.hpp"

namespace heapwood::tests {

namespace {

using Json = nlohmann::json;

class Window : public Program {
 protected:
  void expect_fine(const Outcome& outcome) const { ASSERT_EQ(outcome.exit, 0) << outcome.err; }
  render::Image picture(const std::string& name) const { return render::read_png(path(name)); }
  // Exactly one line of error, with all the given words.
  void expect_error(const Outcome& outcome, int exit, const std::vector<std::string>& words) const {
    EXPECT_EQ(outcome.exit, exit) << outcome.err;
    const std::size_t at = outcome.err.find("heapwood-view: error: ");
    ASSERT_NE(at, std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.err.find('\n', at), outcome.err.size() - 1) << outcome.err;
    for (const std::string& word : words)
      EXPECT_NE(outcome.err.find(word, at), std::string::npos) << outcome.err;
  }
  // The viewer's reports "ready" and "after", with xdotool's input in between.
  Outcome while_it_waits(const std::string& xdotool) const {
    std::ofstream(path("script")) << "wait built\nreport " << path("ready") << "\nwait file "
                                  << path("pressed") << "\nwait 0.5\nreport " << path("after")
                                  << "\nquit\n";
    return on_display({"bash", "-c",
                       "'" + view_ +
                           "' --tab learn --settings none --device cpu atrium:1k --script '" +
                           path("script") + "' & until [ -s '" + path("ready") +
                           "' ] || ! kill -0 $!; do sleep 0.1; done; xdotool " + xdotool +
                           "; touch '" + path("pressed") + "'; wait $!"});
  }
};

bool has_message(const Json& report, const std::string& word) {
  return std::any_of(report["messages"].begin(), report["messages"].end(),
                     [&](const Json& message) {
                       return message.get<std::string>().find(word) != std::string::npos;
                     });
}

TEST_F(Window, AScreenshotIsThePictureOfRender) {
  expect_fine(view({"statue:2k", "--screenshot", path("view.png"), "--size", "160x120", "--frames",
                    "4", "--material", "clay"}));
  expect_fine(heapwood({"render", "statue:2k", "-o", path("render.png"), "--size", "160x120",
                        "--spp", "4", "--material", "clay", "--device", "cpu"}));
  EXPECT_EQ(picture("view.png"), picture("render.png"));
}

TEST_F(Window, TheCameraIsThatOfRender) {
  const std::string camera = "9,6,11,0,1,0,50";
  expect_fine(view({"pipes:2k", "--screenshot", path("view.png"), "--size", "160x120", "--frames",
                    "4", "--mode", "ao", "--camera", camera}));
  expect_fine(heapwood({"render", "pipes:2k", "-o", path("render.png"), "--size", "160x120",
                        "--spp", "4", "--mode", "ao", "--camera", camera, "--device", "cpu"}));
  EXPECT_EQ(picture("view.png"), picture("render.png"));
}

TEST_F(Window, UpIsThatOfRender) {
  expect_fine(view({"statue:2k", "--screenshot", path("view.png"), "--size", "160x90", "--frames",
                    "4", "--mode", "normals", "--up", "x"}));
  expect_fine(heapwood({"render", "statue:2k", "-o", path("render.png"), "--size", "160x90",
                        "--spp", "4", "--mode", "normals", "--up", "x", "--device", "cpu"}));
  EXPECT_EQ(picture("view.png"), picture("render.png"));
}

TEST_F(Window, TheWindowShowsThePictureOfRender) {
  // Without panel and numbers the picture fills the window, except for the name in the corner.
  expect_fine(view({"atrium:3k"},
                   "wait built\nkey F2\nkey F4\nwindow " + path("window.png") + " 320x240 4\n"));
  expect_fine(heapwood({"render", "atrium:3k", "-o", path("render.png"), "--size", "320x240",
                        "--spp", "4", "--device", "cpu"}));
  render::Image shown = picture("window.png"), rendered = picture("render.png");
  ASSERT_EQ(shown.width, rendered.width);
  ASSERT_EQ(shown.height, rendered.height);
  for (unsigned y = 0; y < 60; ++y) {
    for (unsigned x = 0; x < shown.width; ++x) shown.at(x, y) = rendered.at(x, y);
  }
  const render::Difference difference = render::compare(shown, rendered, 1);
  EXPECT_EQ(difference.above, 0) << difference.largest;
}

// A picture of many launches: each pixel gets each sample once.
TEST_F(Window, ALargePictureIsThatOfRenderToo) {
  expect_fine(view({"atrium:3k", "--mode", "normals"},
                   "wait built\nkey F2\nkey F4\nwindow " + path("window.png") + " 900x700 3\n"));
  expect_fine(heapwood({"render", "atrium:3k", "-o", path("render.png"), "--mode", "normals",
                        "--size", "900x700", "--spp", "3", "--device", "cpu"}));
  render::Image shown = picture("window.png"), rendered = picture("render.png");
  for (unsigned y = 0; y < 60; ++y) {
    for (unsigned x = 0; x < shown.width; ++x) shown.at(x, y) = rendered.at(x, y);
  }
  EXPECT_EQ(render::compare(shown, rendered, 1).above, 0);
}

// Sends events through the window system instead of a script.
TEST_F(Window, RealKeysArrive) {
  if (std::system("command -v xdotool > /dev/null") != 0)
    GTEST_SKIP() << "xdotool is not installed";
  expect_fine(while_it_waits("mousemove 300 300 key F1 key F2 key 6"));
  EXPECT_FALSE(json("ready")["help"].get<bool>());
  EXPECT_TRUE(json("ready")["panel"].get<bool>());
  EXPECT_TRUE(json("after")["help"].get<bool>());
  EXPECT_FALSE(json("after")["panel"].get<bool>());
  EXPECT_EQ(json("after")["mode"], "heatmap");
}

TEST_F(Window, ARealMouseTurnsTheCamera) {
  if (std::system("command -v xdotool > /dev/null") != 0)
    GTEST_SKIP() << "xdotool is not installed";
  expect_fine(while_it_waits(
      "mousemove 250 300 sleep 0.3 mousedown 1 sleep 0.3 mousemove 300 320 sleep 0.3 "
      "mousemove 330 330 sleep 0.3 mouseup 1"));
  EXPECT_NE(json("ready")["camera"], json("after")["camera"]);
}

// The atrium surrounds its camera, so it starts in fly mode.
TEST_F(Window, ARealKeyThatIsHeldFlies) {
  if (std::system("command -v xdotool > /dev/null") != 0)
    GTEST_SKIP() << "xdotool is not installed";
  expect_fine(while_it_waits("mousemove 300 300 keydown w sleep 0.5 keyup w"));
  EXPECT_NE(json("ready")["camera"], json("after")["camera"]);
}

TEST_F(Window, TheTableShowsWhatWasMeasured) {
  std::filesystem::remove("pipes-2k-compared-001.png");
  expect_fine(view({"pipes:2k", "--runs", "3", "--size", "1280x1000", "--mode", "normals"},
                   "wait built\nclick Compare all\nwait compared\nwait 0.3\nclick row cmalloc\n"
                   "down Shift\nclick row cfmmalloc\nup Shift\nclick Save PNG\nwait idle\n"
                   "click Copy CSV\nreport " +
                       path("report") + "\nclick Copy markdown\nreport " + path("markdown") +
                       "\nwindow " + path("window.png") + " 1000x900 1\n"));
  const Json report = json("report");
  ASSERT_GE(report["table"].size(), 6u);
  EXPECT_EQ(report["chosen"], Json({"cmalloc", "cfmmalloc"}));
  // The table alone, as a picture.
  const render::Image summary = render::read_png("pipes-2k-compared-001.png");
  std::filesystem::remove("pipes-2k-compared-001.png");
  EXPECT_GT(summary.width, 600u);
  EXPECT_GT(std::count_if(summary.pixels.begin(), summary.pixels.end(),
                          [](render::Rgb8 c) { return c.g > 150; }),
            2000);
  std::vector<std::vector<double>> times;
  std::vector<std::string> names;
  std::string marked;
  for (std::size_t i = 0; i < report["table"].size(); ++i) {
    const Json& row = report["table"][i];
    const bench::Result result =
        bench::result_from_json(bench::Json::parse(report["bench"]["results"][i].dump()));
    EXPECT_EQ(row[0], result.label + (result.lower_bound ? " *" : ""));
    if (bench::cannot_build(*registry::find(result.allocator))) {
      EXPECT_EQ(row[1], "skipped");
      continue;
    }
    ASSERT_EQ(result.status, bench::Status::ok) << result.reason;
    ASSERT_EQ(result.runs_ms.size(), 3u);
    std::vector<double> runs = result.runs_ms;
    std::sort(runs.begin(), runs.end());
    EXPECT_EQ(row[1], bench::figure_text(runs[1]));
    EXPECT_EQ(row[2], bench::ratio_text(*result.slowdown) + "x");
    if (!result.lower_bound) {
      times.push_back(result.runs_ms);
      names.push_back(row[0]);
    }
    if (row[4].get<bool>()) marked += row[0].get<std::string>();
  }
  std::vector<const std::vector<double>*> compared;
  for (const std::vector<double>& runs : times) compared.push_back(&runs);
  const std::optional<std::size_t> fastest = bench::clearly_fastest(compared);
  EXPECT_EQ(marked, fastest ? names[*fastest] : "");
  std::vector<bench::Result> results;
  for (std::size_t i = 0; i < report["table"].size(); ++i) {
    results.push_back(
        bench::result_from_json(bench::Json::parse(report["bench"]["results"][i].dump())));
  }
  EXPECT_EQ(report["clipboard"], bench::to_csv(bench::flat_table(results)));
  EXPECT_EQ(json("markdown")["clipboard"], bench::to_markdown(bench::slowdown_table(results)));
  // The same tree as on the command line.
  expect_fine(
      heapwood({"build", "pipes:2k", "--runs", "1", "--device", "cpu", "--json", path("build")}));
  EXPECT_EQ(report["bench"]["results"][0]["tree"]["hash"],
            json("build")["results"][0]["tree"]["hash"]);
  if (marked.empty()) return;
  // The marked row is drawn in its colour.
  const render::Image window = picture("window.png");
  const auto green = std::count_if(window.pixels.begin(), window.pixels.end(), [](render::Rgb8 c) {
    return std::abs(c.r - 115) < 6 && std::abs(c.g - 199) < 6 && std::abs(c.b - 143) < 6;
  });
  EXPECT_GT(green, 30);
}

// AtomicMalloc never frees: at the end its one used region is shown as lost, and the memory above
// as untouched.
TEST_F(Window, TheHeapMapShowsTheWalk) {
  std::string forward;
  for (int i = 0; i < 12; ++i) forward += "key . shift\n";  // a thousand events each
  expect_fine(view({"statue:1k", "--allocator", "atomic", "--mode", "normals"},
                   "wait built\nkey H\nwait recorded\nkey Space\nwait 0.2\n" + forward +
                       "click whole pool\nmove 5 5\nwait 0.3\nwindow " + path("window.png") +
                       " 1280x720 1\nreport " + path("report") + "\n"));
  const Json report = json("report");
  ASSERT_EQ(report["heap"].size(), 1u);
  const Json& heap = report["heap"][0];
  EXPECT_EQ(heap["time"], heap["events"]);
  EXPECT_EQ(heap["unmatched_frees"], 0);
  EXPECT_EQ(heap["overlaps"], 0);
  EXPECT_EQ(heap["used_bytes"], 0);
  // What it has taken is not in use; the hole is that of the whole pool.
  const std::string title = report["texts"]["title 0"];
  EXPECT_EQ(title.find("0 B"), std::string::npos) << title;
  EXPECT_NE(title.find("taken, never freed"), std::string::npos) << title;
  EXPECT_NE(title.find("largest hole of the pool " +
                       bench::bytes_text(heap["hole_bytes"].get<std::uint64_t>())),
            std::string::npos)
      << title;
  const auto tree = report["bench"]["results"][0]["tree"];
  EXPECT_EQ(heap["inner"].get<std::uint64_t>() + heap["leaves"].get<std::uint64_t>(),
            tree["nodes"].get<std::uint64_t>());
  ASSERT_EQ(heap["used_regions_at_end"].size(), 1u);
  const std::uint64_t begin = heap["used_regions_at_end"][0][0],
                      end = begin + heap["used_regions_at_end"][0][1].get<std::uint64_t>();
  const std::uint64_t cell = heap["cell_bytes"], pool = heap["pool_bytes"];
  const unsigned columns = heap["columns"], rows = heap["rows"];
  const render::Image window = picture("window.png");
  const float x = heap["area"][0], y = heap["area"][1], width = heap["area"][2],
              height = heap["area"][3];
  unsigned lost = 0, untouched = 0, outlined = 0;
  for (unsigned i = 0; i < columns * rows; ++i) {
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
    const auto px = static_cast<unsigned>(x + (static_cast<float>(i % columns) + 0.5f) * width /
                                                  static_cast<float>(columns));
    const auto py = static_cast<unsigned>(y + (static_cast<float>(i / columns) + 0.5f) * height /
                                                  static_cast<float>(rows));
    const render::Rgb8 c = window.at(px, py);
    outlined += (static_cast<unsigned>(c.r) << 16 | c.g << 8 | c.b) != colour;
  }
  EXPECT_LT(outlined, 2 * (columns + rows));  // the frame around the largest hole
  EXPECT_GT(lost, 100u);
  EXPECT_GT(untouched, 100u);
}

TEST_F(Window, TwoMapsOfOneBuild) {
  expect_fine(
      view({"atrium:1k", "--allocator", "cfmmalloc", "--beside", "awmalloc-safe"},
           "wait built\nclick Heap map\nwait recorded\nwait 0.5\nreport " + path("report") + "\n"));
  const Json report = json("report");
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
  expect_fine(
      view({"atrium:2k", "--mode", "heatmap", "--spp", "1"},
           "wait built\nkey F2\nkey P\nmove 200 150\nwait 0.3\nreport " + path("report") + "\n"));
  const Json ray = json("report")["ray"];
  EXPECT_TRUE(ray["hit"].get<bool>());
  EXPECT_GT(ray["steps"].get<int>(), 3);
  EXPECT_GT(ray["tests"].get<int>(), 0);
}

TEST_F(Window, AMissingSceneIsAMessageAndTheOldOneStays) {
  expect_fine(view({"atrium:1k"}, "wait built\ndrop /nowhere/lost.obj\nwait built 2\nreport " +
                                      path("report") + "\n"));
  EXPECT_TRUE(has_message(json("report"), "/nowhere/lost.obj")) << json("report")["messages"];
  EXPECT_EQ(json("report")["scene"], "atrium:1k");
}

TEST_F(Window, APathOfTheCameraNeedsAScene) {
  std::ofstream(path("flight.path")) << "0 1,2,3,4,5,6,50\n1 2,2,3,4,5,6,50\n";
  expect_fine(view({"/nowhere/lost.obj"}, "wait built\ndrop " + path("flight.path") +
                                              "\nwait 0.2\nreport " + path("report") + "\n"));
  EXPECT_TRUE(has_message(json("report"), "No scene has been built yet"))
      << json("report")["messages"];
}

// The script has indented lines, and line ends as on Windows.
TEST_F(Window, ADroppedFileOpens) {
  std::ofstream(path("fan.obj")) << obj_text(300);
  expect_fine(view({"atrium:1k"}, "wait built\r\n  drop " + path("fan.obj") +
                                      "\r\nwait built 2\nwait samples 1\nreport " + path("report") +
                                      "\n"));
  EXPECT_EQ(json("report")["scene"], path("fan.obj"));
  EXPECT_GE(json("report")["samples"], 1);
}

TEST_F(Window, AnExhaustedPoolIsAMessage) {
  expect_fine(view({"atrium:3k", "--pool", "200K"}, "wait built\nreport " + path("report") + "\n"));
  EXPECT_TRUE(has_message(json("report"), "exhausted")) << json("report")["messages"];
  EXPECT_TRUE(has_message(json("report"), "200 KiB")) << json("report")["messages"];
}

TEST_F(Window, EscapeCancelsAndTheNextBuildWorks) {
  expect_fine(view({"atrium:200k", "--runs", "200"},
                   "wait 0.5\nkey Escape\nwait idle\nreport " + path("report") +
                       "\nkey B\nwait 0.5\nkey Escape\nwait idle\nreport " + path("again") + "\n"));
  EXPECT_TRUE(has_message(json("report"), "Cancelled")) << json("report")["messages"];
  EXPECT_TRUE(has_message(json("again"), "Cancelled")) << json("again")["messages"];
}

TEST_F(Window, ResizedMinimisedAndBack) {
  expect_fine(view({"atrium:1k", "--size", "640x400"},
                   "wait built\nresize 500 300\nwait samples 1\nminimise\nwait "
                   "0.3\nrestore\nresize 700 500\nwait "
                   "samples 1\nreport " +
                       path("report") + "\n"));
  EXPECT_GE(json("report")["samples"], 1);
}

TEST_F(Window, BookmarksAndViewAreKept) {
  const std::string steps = "wait built\nmove 100 200\ndrag 100 200 160 230\nreport " +
                            path("moved") + "\nkey K\nkey Home\nwait 0.1\nreport " + path("home") +
                            "\n";
  expect_fine(view({"atrium:1k", "--settings", path("settings.json")}, steps));
  expect_fine(view({"atrium:1k", "--settings", path("settings.json")},
                   "wait built\nkey ]\nwait 0.1\nreport " + path("back") + "\n"));
  EXPECT_NE(json("moved")["camera"], json("home")["camera"]);
  EXPECT_EQ(json("moved")["camera"], json("back")["camera"]);
}

TEST_F(Window, BrokenSettingsAreLeftToTheUser) {
  const std::string broken = "{\"fly\": true, \"bookmarks\": ";
  write_file(path("settings.json"), broken);
  expect_fine(view({"atrium:1k", "--settings", path("settings.json")},
                   "wait built\nkey K\nreport " + path("report") + "\n"));
  EXPECT_TRUE(has_message(json("report"), "settings.json")) << json("report")["messages"];
  EXPECT_EQ(read_file(path("settings.json")), broken);
}

TEST_F(Window, KeysWithControlAreNotItsOwn) {
  expect_fine(view({"atrium:1k"}, "wait built\nkey 6 ctrl\nkey F1 ctrl\nwait 0.1\nreport " +
                                      path("ctrl") + "\nkey 6\nkey F1\nwait 0.1\nreport " +
                                      path("alone") + "\n"));
  EXPECT_EQ(json("ctrl")["mode"], "shaded");
  EXPECT_FALSE(json("ctrl")["help"].get<bool>());
  EXPECT_EQ(json("alone")["mode"], "heatmap");
  EXPECT_TRUE(json("alone")["help"].get<bool>());
}

// The window stays responsive while builds run. Frames/s depend on the machine's load; the time of
// the window's thread per frame does not: at 1280x720 less than a sixtieth of a second.
TEST_F(Window, DrawsWhileItBuilds) {
  expect_fine(
      view({"atrium:30k", "--runs", "30", "--size", "1280x720"},
           "wait built\nkey C\nwait 3\nreport " + path("report") + "\nkey Escape\nwait idle\n"));
  const Json report = json("report");
  EXPECT_LT(report["frame_cpu_ms"]["mean"], 16.6);
  std::printf(
      "%.1f frames/s, %.1f ms per frame of its thread (max %.1f), first picture after %.2f s\n",
      report["frames_per_second"].get<double>(), report["frame_cpu_ms"]["mean"].get<double>(),
      report["frame_cpu_ms"]["worst"].get<double>(), report["first_picture_seconds"].get<double>());
}

// A slowed build is visible while it runs: its map grows, can be paused, and matches the picture.
TEST_F(Window, TheHeapMapGrowsWithTheBuild) {
  expect_fine(view(
      {"statue:1k", "--allocator", "cmalloc", "--mode", "normals", "--size", "1280x720"},
      "wait built\nkey F3\nwait 0.2\nclick pace\nkey H\nwait events 300\nreport " + path("early") +
          "\nwait events 1500\nkey Space\nmove 5 5\nwait 0.4\nwindow " + path("held.png") +
          " 1280x720 1\nreport " + path("held") + "\nwait 0.4\nreport " + path("still") +
          "\nkey Space\nwait recorded\nwait 0.2\nreport " + path("end") + "\n"));
  const Json early = json("early")["heap"][0], held = json("held")["heap"][0],
             end = json("end")["heap"][0];
  EXPECT_TRUE(early["watched"].get<bool>());
  EXPECT_FALSE(early["finished"].get<bool>());
  EXPECT_GE(early["events"], 300);
  EXPECT_GT(held["events"], early["events"]);
  EXPECT_GT(end["events"], held["events"]);
  EXPECT_EQ(json("still")["heap"][0]["events"], held["events"]);
  EXPECT_FALSE(end["watched"].get<bool>());
  EXPECT_TRUE(end["finished"].get<bool>());
  EXPECT_EQ(end["time"], end["events"]);  // a watched build is not played again
  EXPECT_EQ(end["used_bytes"], 0);
  EXPECT_GT(held["used_bytes"], 0);
  const render::Image window = picture("held.png");
  const float x = held["area"][0], y = held["area"][1], width = held["area"][2],
              height = held["area"][3];
  const unsigned columns = held["columns"], rows = held["rows"];
  unsigned used = 0, outlined = 0;
  for (unsigned i = 0; i < columns * rows; ++i) {
    const auto px = static_cast<unsigned>(x + (static_cast<float>(i % columns) + 0.5f) * width /
                                                  static_cast<float>(columns));
    const auto py = static_cast<unsigned>(y + (static_cast<float>(i / columns) + 0.5f) * height /
                                                  static_cast<float>(rows));
    const render::Rgb8 c = window.at(px, py);
    outlined += (static_cast<unsigned>(c.r) << 16 | c.g << 8 | c.b) != held["colours"][i];
    used += c.g > 120;
  }
  EXPECT_LT(outlined, 2 * (columns + rows));  // the frame around the largest hole
  EXPECT_GT(used, 20u);
}

TEST_F(Window, FragmentationIsShownOverTheBuild) {
  expect_fine(view({"pipes:1k", "--allocator", "scatter", "--mode", "normals"},
                   "wait built\nkey H\nwait recorded\nkey Space\nwait 0.2\nclick memory "
                   "curves\nwait 0.2\nreport " +
                       path("middle") + "\nclick share curves\nwait 0.2\nwindow " +
                       path("window.png") + " 1280x720 1\n"));
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
  const auto count = [&](render::Rgb8 shade) {
    return std::count_if(window.pixels.begin(), window.pixels.end(), [&](render::Rgb8 c) {
      return std::abs(c.r - shade.r) < 12 && std::abs(c.g - shade.g) < 12 &&
             std::abs(c.b - shade.b) < 12;
    });
  };
  EXPECT_GT(count({226, 121, 156}), 50);  // internal
  EXPECT_GT(count({107, 173, 242}), 50);  // largest gap
}

TEST_F(Window, EscapeCancelsAScreenshot) {
  const std::string steps =
      "wait built\nkey F12\nwait 0.2\nkey Escape\nwait idle\nwait 0.2\nreport " + path("report") +
      "\n";
  for (const bool panel : {false, true}) {
    write_file(path("settings.json"),
               std::string("{\"shot_spp\": 8192, \"shot_panel\": ") + (panel ? "true}" : "false}"));
    expect_fine(view({"atrium:3k", "--settings", path("settings.json")}, steps));
    EXPECT_TRUE(has_message(json("report"), "cancelled, nothing was written"))
        << json("report")["messages"];
    EXPECT_FALSE(std::filesystem::exists("atrium-3k-001.png"));
  }
}

// On a screen of twice the usual density the window keeps its size between runs.
TEST_F(Window, ItsSizeIsKeptOnADenseScreen) {
  const auto run = [&](const std::string& steps) {
    std::ofstream(path("script")) << "wait built\n" << steps << "wait 0.2\nquit\n";
    expect_fine(
        Running(wrapper(), {"-dpi", "192", view_, "--tab", "learn", "--device", "cpu", "atrium:1k",
                            "--settings", path("settings.json"), "--script", path("script")})
            .wait());
    return std::pair{json("settings.json")["width"].get<int>(),
                     json("settings.json")["height"].get<int>()};
  };
  EXPECT_EQ(run("resize 900 500\n"), std::pair(900, 500));
  EXPECT_EQ(run(""), std::pair(900, 500));
}

// A window is never so small that its parts do not fit.
TEST_F(Window, ItHasAMinimumSize) {
  expect_fine(view({"atrium:1k", "--settings", path("settings.json"), "--size", "1x1"},
                   "wait built\nresize 10 10\nwait 0.2\n"));
  EXPECT_EQ(json("settings.json")["width"], 640);
  EXPECT_EQ(json("settings.json")["height"], 400);
}

TEST_F(Window, SaysWhyThereIsNone) {
  expect_error(Running("/usr/bin/env", {"-u", "DISPLAY", "-u", "WAYLAND_DISPLAY", view_}).wait(), 1,
               {"window", "heapwood render"});
  expect_error(Running(wrapper(), {"-extension", "GLX", view_, "--settings", "none"}).wait(), 1,
               {"OpenGL", "heapwood render"});
}

TEST_F(Window, UsageIsSaidBeforeAWindowOpens) {
  expect_error(Running(view_, {"--mode", "sepia"}).wait(), 2, {"sepia", "heatmap"});
  expect_error(Running(view_, {"--material", "steel"}).wait(), 2, {"steel", "clay"});
  expect_error(Running(view_, {"--allocator", "best"}).wait(), 2, {"best", "cfmmalloc"});
  expect_error(Running(view_, {"--allocator", "fdg"}).wait(), 2, {"fdg", "at once"});
  expect_error(Running(view_, {"--panel"}).wait(), 2, {"--panel", "--screenshot"});
  expect_error(Running(view_, {"--scale", "0.1"}).wait(), 2, {"--scale 0.1", "0.5"});
  expect_error(Running("/usr/bin/env",
                       {"-u", "DISPLAY", "-u", "WAYLAND_DISPLAY", view_, "--device", "cuda:99"})
                   .wait(),
               4, {"cuda:99"});
  expect_error(Running(view_, {"--screenshot", "/nowhere/a.png"}).wait(), 1,
               {"/nowhere/a.png", "create its folder"});
  expect_error(view({"/nowhere/lost.obj", "--screenshot", path("none.png")}), 3,
               {"/nowhere/lost.obj"});
}

TEST_F(Window, AScriptIsCheckedBeforeItRuns) {
  expect_error(view({"atrium:1k"}, "wait built\ndance\n"), 2, {":2:", "dance"});
  expect_error(view({"atrium:1k"}, "key F13\n"), 2, {":1:", "F13"});
}

// The program does not wait for a picture that cannot be rendered.
TEST_F(Window, NoTreeIsNoPicture) {
  const std::string picture = path("none.png");
  expect_error(view({"statue:200k", "--timeout", "0.001", "--screenshot", picture}), 1,
               {"Heapwood"});
  expect_error(
      view({"statue:2k", "--allocator", "scatter", "--pool", "1K", "--screenshot", picture}), 1,
      {"ScatterAlloc", "skipped"});
  EXPECT_FALSE(std::filesystem::exists(picture));
}

TEST_F(Window, AScriptWhosePictureCannotBeTakenFails) {
  const std::string picture = path("none.png");
  expect_error(view({path("none.ply")}, "wait 0.5\nwindow " + picture + " 320x240 1\nquit\n"), 1,
               {"no scene", picture});
  expect_error(view({"atrium:1k"}, "resize -5 -5\nquit\n"), 2, {"resize -5 -5"});
  EXPECT_FALSE(std::filesystem::exists(picture));
}

TEST_F(Window, StoppedEarlyIsAFailure) {
  std::ofstream(path("script")) << "wait built\nreport " << path("ready") << "\nwait 100\n";
  const std::string command = "'" + view_ +
                              "' --tab learn --settings none --device cpu atrium:1k --script '" +
                              path("script") + "' & until [ -s '" + path("ready") +
                              "' ] || ! kill -0 $!; do sleep 0.1; done; kill $!; wait $!";
  expect_error(on_display({"bash", "-c", command}), 1, {"stopped", "script"});
}

}  // namespace

}  // namespace heapwood::tests
