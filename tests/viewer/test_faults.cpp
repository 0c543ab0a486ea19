// SPDX-License-Identifier: MIT
// What the window says when something is wrong, missing, unfinished or out of date.

#include "bench/results/format.hpp"
#include "tests/viewer/program.hpp"

namespace heapwood::tests {
namespace {

class Faults : public Program {
 protected:
  // Uses a fast mode, because the picture is not tested.
  std::vector<Json> reports(const std::string& arguments, const std::string& steps) const {
    return Program::reports(arguments + " --mode normals", steps);
  }
};

std::string repeat(const std::string& step, int times) {
  std::string steps;
  for (int i = 0; i < times; ++i) steps += step;
  return steps;
}

std::string text(const Json& report, const std::string& name) {
  return report["texts"].value(name, "");
}

// For a pool that cannot be parsed there is one message, under its field; jobs use the last valid
// pool. A result whose settings differ from the fields says so.
TEST_F(Faults, AnInvalidPoolIsSaidOnce) {
  const auto r =
      reports("atrium:1k --allocator cfmmalloc --size 1280x800",
              "wait built; REPORT; click pool; key End; type q; key Enter; REPORT; click Build; "
              "wait built 2; REPORT; click pool; key End; key Backspace; key Enter; click Build; "
              "wait built 3; REPORT; click pool; key End; key Backspace; key Backspace; key "
              "Backspace; key Backspace; type 64M; key Enter; REPORT");
  EXPECT_EQ(text(r[0], "built"), "CFMMalloc");
  EXPECT_FALSE(text(r[0], "speed").empty());
  const std::string problem = text(r[1], "pool problem");
  EXPECT_EQ(problem.find("'fastq': expected"), 0u) << problem;
  EXPECT_PRED2(has, problem, "still using fast");
  EXPECT_PRED2(has_not, r[2]["messages"], "fastq");
  EXPECT_EQ(text(r[2], "built"), "CFMMalloc");
  EXPECT_EQ(text(r[3], "pool problem"), "");
  EXPECT_EQ(text(r[3], "built"), "CFMMalloc");
  EXPECT_EQ(text(r[4], "built"), "outdated: CFMMalloc");
}

// A result stays that of the allocator that it was measured with. Where times of a CPU are shown,
// the window says what they are not.
TEST_F(Faults, AnotherAllocatorDoesNotTakeOverAResult) {
  const auto r = reports(
      "atrium:1k --allocator cfmmalloc --second-allocator cmalloc",
      "wait built; REPORT; key F5; wait live 1; REPORT; key 8 shift; key F6; wait 0.2; REPORT");
  EXPECT_EQ(text(r[0], "built"), "CFMMalloc");
  EXPECT_PRED2(has, text(r[0], "notice"), "say nothing about a GPU");
  EXPECT_PRED2(has, text(r[1], "notice"), "say nothing about a GPU");
  EXPECT_EQ(r[2]["chosen"][0], "atomic");
  EXPECT_EQ(text(r[2], "built"), "outdated: CFMMalloc");
}

// All buttons are as wide as their words, at the smallest usual size and on a dense screen.
TEST_F(Faults, NoLabelIsClipped) {
  for (const std::string scale : {"1", "1.5"}) {
    const auto r = reports("atrium:1k --size 1280x800 --scale " + scale,
                           "wait built; REPORT; key N; REPORT; key F7; REPORT; key H; wait "
                           "recorded; REPORT; key F5; wait live 1; REPORT");
    for (const Json& report : r) EXPECT_EQ(text(report, "clipped"), "") << scale;
  }
}

// A scene without triangles and an incomplete tree have no speed.
TEST_F(Faults, OnlyACompleteTreeHasASpeed) {
  const auto empty = reports("empty", "wait built; REPORT");
  EXPECT_EQ(text(empty[0], "speed"), "");
  const auto full = reports("atrium:3k --pool 200K", "wait built; REPORT");
  EXPECT_EQ(text(full[0], "speed"), "");
  EXPECT_PRED2(has, text(full[0], "built"), "incomplete");
}

// A path that cannot be opened stays in its field. Commands follow the characters of the keyboard's
// layout. Esc closes a drop-down, and only that.
TEST_F(Faults, TypedTextKeysAndDropDowns) {
  const auto r = reports("atrium:1k --size 1280x800",
                         "wait built; click scene path; type /nowhere/a.obj; key Enter; wait built "
                         "2; REPORT; key T; key ] as +; key ] as +; key / as -; REPORT; key Y as "
                         "z; key Q as t; REPORT; click allocator; REPORT; key Escape; REPORT");
  EXPECT_EQ(r[0]["path"], "/nowhere/a.obj");
  EXPECT_EQ(r[0]["scene"], "atrium:1k");
  EXPECT_EQ(r[1]["tree"]["depth"], r[0]["tree"]["depth"].get<int>() + 1);
  EXPECT_EQ(r[1]["tree"]["visible"], true);
  EXPECT_EQ(r[2]["tree"]["visible"], false);
  EXPECT_EQ(r[3]["popup"], true);
  EXPECT_EQ(r[4]["popup"], false);
  EXPECT_PRED2(has_not, r[4]["messages"], "Cancelled");
}

// Space plays a recording again from its end. The legend is that of both maps, and the same
// allocator on both sides has two maps.
TEST_F(Faults, TwoMapsAreExplainedAndPlayedAgain) {
  const auto r = reports("atrium:1k --allocator cfmmalloc --second-allocator atomic",
                         "wait built; key H; wait recorded; key Space; click time" +
                             repeat("; key . shift", 9) + "; REPORT; key Space; REPORT");
  EXPECT_PRED2(has, text(r[0], "legend"), "never reused");
  EXPECT_EQ(r[0]["heap"][0]["time"], r[0]["heap"][0]["events"]);
  EXPECT_LT(r[1]["heap"][0]["time"], r[1]["heap"][0]["events"]);
  EXPECT_GT(r[1]["heap"][0]["time"], 0);
  // Both sides build one tree, so they request equal arrays, and both maps have one scale.
  for (const char* key : {"requests", "pool_bytes", "cell_bytes"})
    EXPECT_EQ(r[0]["heap"][0][key], r[0]["heap"][1][key]) << key;
  EXPECT_EQ(text(r[0], "shown").find("atrium:1k, 0 to "), 0u);
  const auto same = reports("atrium:1k --allocator cfmmalloc --second-allocator cfmmalloc",
                            "wait built; key H; wait recorded; REPORT");
  EXPECT_EQ(same[0]["heap"].size(), 2u);
}

// Live goes on with the last valid pool.
TEST_F(Faults, LiveKeepsItsPool) {
  const auto r =
      reports("atrium:1k --tab live",
              "wait live 2; click pool; key End; type q; key Enter; wait 0.3; wait live 4; REPORT");
  EXPECT_EQ(r[0]["live"]["problem"], "");
  EXPECT_TRUE(r[0]["messages"].empty()) << r[0]["messages"];
  EXPECT_PRED2(has, text(r[0], "pool problem"), "still using live:4");
}

// Hints appear where the mouse rests, but not over the list of keys or while text is typed.
TEST_F(Faults, HintsDoNotCoverWhatMatters) {
  const auto r = reports("atrium:1k --size 1280x800",
                         "wait built; click tab learn; wait 0.8; REPORT; key F1; wait 0.8; REPORT; "
                         "key F1; click pool; wait 0.8; REPORT");
  EXPECT_PRED2(has, r[0]["hint"], "The tree, its nodes");
  EXPECT_EQ(r[1]["hint"], "");
  EXPECT_EQ(r[2]["hint"], "");
}

// The lesson that begins in Live knows the tree's depth; the Heap tab shows the pool of its maps.
TEST_F(Faults, FiguresAreThoseOfWhatIsShown) {
  const std::string fourth_step = repeat("key PageDown; wait 0.2; ", 4) + "REPORT; ";
  const auto r =
      reports("atrium:1k --tab live --size 1280x800",
              "wait live 1; " + fourth_step + "click End the lesson; key B; wait built; " +
                  fourth_step + "key H; wait recorded; wait 0.2; REPORT");
  const auto levels = [&](const Json& report) {
    const std::string caption = text(report, "caption");
    return caption.substr(std::min(caption.find(" of "), caption.size()),
                          caption.find(": ") - caption.find(" of "));
  };
  EXPECT_GT(levels(r[0]).size(), 4u);
  EXPECT_EQ(levels(r[0]), levels(r[1]));
  EXPECT_EQ(text(r[2], "pool 0"), bench::bytes_text(r[2]["heap"][0]["pool_bytes"]));
}

// Rows that a cancelled comparison did not measure say so; those that can never be measured, too.
TEST_F(Faults, CancelledRowsAreNotSkipped) {
  const auto r = reports("atrium:3k --runs 40 --size 1280x800",
                         "wait built; key C; wait bars 2; key Escape; wait compared; REPORT");
  unsigned cancelled = 0;
  for (const Json& row : r[0]["table"]) cancelled += row[1] == "cancelled";
  EXPECT_GT(cancelled, 0u) << r[0]["table"];
}

// A tab keeps its scroll position while another one is scrolled.
TEST_F(Faults, EachTabScrollsAlone) {
  const auto r = reports("atrium:1k --size 1280x500",
                         "wait built; key F7; REPORT; key F6; move 1200 300; wait 0.1; scroll -9; "
                         "wait 0.2; key F7; REPORT");
  EXPECT_EQ(r[0]["places"]["Compare all"], r[1]["places"]["Compare all"]);
}

// The list has the scenes that are worth a look, and shows a file by its name.
TEST_F(Faults, TheListOfScenesIsForUsers) {
  std::ofstream(path("fan.obj")) << obj_text(100);
  const auto r = reports("@fan.obj --size 1280x800", "wait built; click scene; REPORT");
  EXPECT_TRUE(r[0]["places"].contains("scene statue"));
  EXPECT_FALSE(r[0]["places"].contains("scene identical"));
  EXPECT_EQ(text(r[0], "scene"), "fan.obj");
}

// `make view` looks for a display before it compiles.
TEST_F(Faults, ViewNeedsADisplay) {
  const Outcome outcome = Running("/usr/bin/env", {"-u", "DISPLAY", "-u", "WAYLAND_DISPLAY",
                                                   HEAPWOOD_SOURCE_DIR "/scripts/view.sh"})
                              .wait();
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_PRED2(has, outcome.err, "DISPLAY is not set");
}

// Messages end with their cause, and hiding all panels says how to get them back.
TEST_F(Faults, MessagesEndWithTheirCause) {
  const auto r =
      reports("atrium:5k --runs 60",
              "wait built; key C; key B; REPORT; key Escape; wait idle; REPORT; key F2; REPORT");
  EXPECT_PRED2(has, r[0]["messages"], "Another job is running");
  EXPECT_PRED2(has_not, r[1]["messages"], "Another job is running");
  EXPECT_PRED2(has, r[2]["messages"], "F2 shows");
}

// Cancelling a job stops every launch, also that of a button's rays. The window stays.
TEST_F(Faults, ALightIsChosenWhileAJobIsCancelled) {
  const std::string arguments = "atrium:1k --size 1280x960";
  const Json light = reports(arguments, "wait built; REPORT")[0]["places"]["Light"];
  const auto r = reports(arguments, "wait built; move " + light[0].dump() + " " + light[1].dump() +
                                        "; wait 0.2; drop statue:2m; wait 0.4; press; wait 0.05; "
                                        "key Escape; release; wait idle; REPORT");
  EXPECT_PRED2(has, r[0]["messages"], "Cancelled");
  EXPECT_EQ(r[0]["scene"], "atrium:1k");
}

// F12 says what it does, and closing the window waits for the file.
TEST_F(Faults, ClosingFinishesTheScreenshot) {
  const std::string name = "atrium-1k-001.png";
  std::filesystem::remove(name);
  const auto closed =
      reports("atrium:1k --spp 2 --size 640x400", "wait built; key F12; REPORT; close");
  EXPECT_PRED2(has, closed[0]["messages"], name);
  EXPECT_TRUE(std::filesystem::exists(name));
  std::filesystem::remove(name);
}

// Files given on the command line do not overwrite each other, and numbers are decimal.
TEST_F(Faults, OptionsAreCheckedAsThoseOfHeapwood) {
  write_file(path("model.obj"), obj_text(10));
  write_script("quit");
  const std::tuple<const char*, const char*> cases[] = {
      {"@model.obj --screenshot @model.obj", "already used in this command"},
      {"--script @script --screenshot @script", "already used in this command"},
      {"--scale big", "'big' is not a number"}};
  for (const auto& [arguments, words] : cases) {
    const Outcome outcome = Running(view_, split(arguments)).wait();
    EXPECT_EQ(outcome.exit, 2) << outcome.err;
    EXPECT_PRED2(has, outcome.err, words);
  }
  EXPECT_EQ(read_file(path("model.obj")), obj_text(10));
  const auto octal = reports("atrium:1k --spp 010 --size 320x240", "wait done; REPORT");
  EXPECT_EQ(octal[0]["samples"], 10);
}

}  // namespace
}  // namespace heapwood::tests
