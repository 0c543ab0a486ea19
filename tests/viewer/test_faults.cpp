// SPDX-License-Identifier: MIT
// What the window says when something is wrong, missing, unfinished or out of date.
#include <algorithm>

#include "registry/registry.hpp"
#include "tests/viewer/program.hpp"

namespace heapwood::tests {

namespace {

using Json = nlohmann::json;

class Faults : public Program {
 protected:
  // Runs a script and returns its reports.
  std::vector<Json> reports(std::vector<std::string> arguments, std::string steps) const {
    std::vector<std::string> names;
    for (std::size_t at; (at = steps.find("REPORT")) != std::string::npos;) {
      names.push_back("report-" + std::to_string(names.size()));
      steps.replace(at, 6, "wait 0.1\nreport " + path(names.back()));
    }
    // The picture is not what is tested.
    arguments.insert(arguments.end(), {"--mode", "normals"});
    const Outcome outcome = view(std::move(arguments), steps);
    EXPECT_EQ(outcome.exit, 0) << outcome.err;
    std::vector<Json> all;
    for (const std::string& name : names) all.push_back(json(name));
    return all;
  }
};

bool has_message(const Json& report, const std::string& word) {
  return std::any_of(report["messages"].begin(), report["messages"].end(),
                     [&](const Json& message) {
                       return message.get<std::string>().find(word) != std::string::npos;
                     });
}

std::string text(const Json& report, const std::string& name) {
  return report["texts"].value(name, "");
}

// A pool that cannot be parsed is said once, under the field; jobs use the last valid one. A result
// says when the fields no longer are its own.
TEST_F(Faults, AnInvalidPoolIsSaidOnce) {
  const auto r = reports({"atrium:1k", "--allocator", "cfmmalloc", "--size", "1280x800"},
                         "wait built\nREPORT\n"
                         "click pool\nkey End\ntype q\nkey Enter\nREPORT\n"
                         "click Build\nwait built 2\nREPORT\n"
                         "click pool\nkey End\nkey Backspace\nkey Enter\nclick Build\n"
                         "wait built 3\nREPORT\n"
                         "click pool\nkey End\nkey Backspace\nkey Backspace\nkey Backspace\n"
                         "key Backspace\ntype 64M\nkey Enter\nREPORT\n");
  EXPECT_EQ(text(r[0], "built"), "CFMMalloc");
  EXPECT_FALSE(text(r[0], "speed").empty());
  const std::string problem = text(r[1], "pool problem");
  EXPECT_EQ(problem.find("'fastq': expected"), 0u) << problem;
  EXPECT_NE(problem.find("still using fast"), std::string::npos) << problem;
  EXPECT_FALSE(has_message(r[2], "fastq")) << r[2]["messages"];
  EXPECT_EQ(text(r[2], "built"), "CFMMalloc");
  EXPECT_EQ(text(r[3], "pool problem"), "");
  EXPECT_EQ(text(r[3], "built"), "CFMMalloc");
  EXPECT_EQ(text(r[4], "built"), "outdated: CFMMalloc");
}

// A result stays that of the allocator that it was measured with. Where times of a CPU are shown,
// the window says what they are not.
TEST_F(Faults, AnotherAllocatorDoesNotTakeOverAResult) {
  const auto r = reports({"atrium:1k", "--allocator", "cfmmalloc", "--beside", "cmalloc"},
                         "wait built\nREPORT\nkey F5\nwait live 1\nREPORT\nkey 1 shift\nkey F6\n"
                         "wait 0.2\nREPORT\n");
  EXPECT_EQ(text(r[0], "built"), "CFMMalloc");
  EXPECT_NE(text(r[0], "notice").find("say nothing about a GPU"), std::string::npos);
  EXPECT_NE(text(r[1], "notice").find("say nothing about a GPU"), std::string::npos);
  EXPECT_EQ(r[2]["chosen"][0], registry::allocators().front().traits->id);
  EXPECT_EQ(text(r[2], "built"), "outdated: CFMMalloc");
}

// All buttons are as wide as their words, at the smallest usual size and on a dense screen.
TEST_F(Faults, NoLabelIsClipped) {
  for (const std::string scale : {"1", "1.5"}) {
    const auto r = reports({"atrium:1k", "--size", "1280x800", "--scale", scale},
                           "wait built\nREPORT\nkey N\nREPORT\nkey F7\nREPORT\nkey H\n"
                           "wait recorded\nREPORT\nkey F5\nwait live 1\nREPORT\n");
    for (const Json& report : r) EXPECT_EQ(text(report, "clipped"), "") << scale;
  }
}

// A scene without triangles and an incomplete tree have no speed.
TEST_F(Faults, OnlyACompleteTreeHasASpeed) {
  const auto empty = reports({"empty"}, "wait built\nREPORT\n");
  EXPECT_EQ(text(empty[0], "speed"), "");
  const auto full = reports({"atrium:3k", "--pool", "200K"}, "wait built\nREPORT\n");
  EXPECT_EQ(text(full[0], "speed"), "");
  EXPECT_NE(text(full[0], "built").find("incomplete"), std::string::npos);
}

// A path that cannot be opened stays in its field. Commands follow the characters of the keyboard's
// layout. Esc closes a drop-down, and only that.
TEST_F(Faults, TypedTextKeysAndDropDowns) {
  const auto r = reports({"atrium:1k", "--size", "1280x800"},
                         "wait built\nclick scene path\ntype /nowhere/a.obj\nkey Enter\n"
                         "wait built 2\n"
                         "REPORT\nkey T\nkey ] as +\nkey ] as +\nkey / as -\nREPORT\n"
                         "key Y as z\nkey Q as t\nREPORT\n"
                         "click allocator\nREPORT\nkey Escape\nREPORT\n");
  EXPECT_EQ(r[0]["path"], "/nowhere/a.obj");
  EXPECT_EQ(r[0]["scene"], "atrium:1k");
  EXPECT_EQ(r[1]["tree"]["depth"], r[0]["tree"]["depth"].get<int>() + 1);
  EXPECT_TRUE(r[1]["tree"]["visible"].get<bool>());
  EXPECT_FALSE(has_message(r[1], "saved view")) << r[1]["messages"];
  EXPECT_FALSE(r[2]["tree"]["visible"].get<bool>());
  EXPECT_TRUE(r[3]["popup"].get<bool>());
  EXPECT_FALSE(r[4]["popup"].get<bool>());
  EXPECT_FALSE(has_message(r[4], "Cancelled")) << r[4]["messages"];
}

// Space plays a recording again from its end. The legend is that of both maps, and the same
// allocator on both sides has two maps.
TEST_F(Faults, TwoMapsAreExplainedAndPlayedAgain) {
  const auto r = reports({"atrium:1k", "--allocator", "cfmmalloc", "--beside", "atomic"},
                         "wait built\nkey H\nwait recorded\nkey Space\ndrag 100 690 101 690\n"
                         "click time\nkey . shift\nkey . shift\nkey . shift\nkey . shift\n"
                         "key . shift\nkey . shift\nkey . shift\nkey . shift\nkey . shift\n"
                         "REPORT\nkey Space\nREPORT\n");
  EXPECT_NE(text(r[0], "legend").find("never reused"), std::string::npos) << text(r[0], "legend");
  EXPECT_EQ(r[0]["heap"][0]["time"], r[0]["heap"][0]["events"]);
  EXPECT_LT(r[1]["heap"][0]["time"], r[1]["heap"][0]["events"]);
  EXPECT_GT(r[1]["heap"][0]["time"], 0);
  const auto same = reports({"atrium:1k", "--allocator", "cfmmalloc", "--beside", "cfmmalloc"},
                            "wait built\nkey H\nwait recorded\nREPORT\n");
  EXPECT_EQ(same[0]["heap"].size(), 2u);
}

// Live goes on with the last valid pool.
TEST_F(Faults, LiveKeepsItsPool) {
  const auto r = reports({"atrium:1k", "--tab", "live"},
                         "wait live 2\nclick pool\nkey End\ntype 64K\nkey Enter\nwait 0.3\n"
                         "wait live 4\nREPORT\n");
  EXPECT_EQ(r[0]["live"]["problem"], "");
  EXPECT_TRUE(r[0]["messages"].empty()) << r[0]["messages"];
  EXPECT_NE(text(r[0], "pool problem").find("still using fast"), std::string::npos);
}

// Hints appear where the mouse rests, but not over the list of keys or while text is typed.
TEST_F(Faults, HintsDoNotCoverWhatMatters) {
  const auto r = reports({"atrium:1k", "--size", "1280x800"},
                         "wait built\nclick tab learn\nwait 0.8\nREPORT\nkey F1\nwait 0.8\nREPORT\n"
                         "key F1\nclick pool\nwait 0.8\nREPORT\n");
  EXPECT_NE(r[0]["hint"].get<std::string>().find("The tree, its nodes"), std::string::npos);
  EXPECT_EQ(r[1]["hint"], "");
  EXPECT_EQ(r[2]["hint"], "");
}

// Messages end with their cause, and hiding all panels says how to get them back.
TEST_F(Faults, MessagesEndWithTheirCause) {
  const auto r = reports({"atrium:5k", "--runs", "60"},
                         "wait built\nkey C\nkey B\nREPORT\nkey Escape\nwait idle\nREPORT\n"
                         "key F2\nREPORT\n");
  EXPECT_TRUE(has_message(r[0], "Another job is running")) << r[0]["messages"];
  EXPECT_FALSE(has_message(r[1], "Another job is running")) << r[1]["messages"];
  EXPECT_TRUE(has_message(r[2], "F2 shows")) << r[2]["messages"];
}

// Cancelling a job stops every launch, also that of a button's rays. The window stays.
TEST_F(Faults, ALightIsChosenWhileAJobIsCancelled) {
  const std::vector<std::string> arguments{"atrium:1k", "--size", "1280x960"};
  const Json light = reports(arguments, "wait built\nREPORT\n")[0]["places"]["Light"];
  const auto r = reports(arguments, "wait built\nmove " + light[0].dump() + " " + light[1].dump() +
                                        "\nwait 0.2\ndrop statue:4m\nwait 0.4\npress\nwait 0.05\n"
                                        "key Escape\nrelease\nwait idle\nREPORT\n");
  EXPECT_TRUE(has_message(r[0], "Cancelled")) << r[0]["messages"];
  EXPECT_EQ(r[0]["scene"], "atrium:1k");
}

// A camera path belongs to its scene's coordinates: it is not played in a scene elsewhere.
TEST_F(Faults, APathIsNotPlayedInASceneElsewhere) {
  write_file(path("far.obj"), "v 500000 0 0\nv 500001 0 0\nv 500000 1 0\nf 1 2 3\n");
  write_file(path("far.path"), "0 500000 0 5 500000 0 0 40\n1 500000 0 9 500000 0 0 40\n");
  const auto r =
      reports({path("far.obj"), "--size", "1280x960"},
              "wait built\ndrop " + path("far.path") + "\nwait 1.2\nREPORT\n" +
                  "drop atrium:1k\nwait built 2\nREPORT\nclick Play path\nwait 1.2\n" + "REPORT\n");
  EXPECT_EQ(r[0]["camera"], "500000,0,9,500000,0,0,40") << r[0]["camera"];
  EXPECT_EQ(r[2]["camera"], r[1]["camera"]);
}

// A path that cannot be read leaves the one that is being recorded.
TEST_F(Faults, AWrongPathEndsNoRecording) {
  write_file(path("wrong.path"), "0 1 2 3\n");
  const std::string name = "atrium-1k-001.path";
  std::filesystem::remove(name);
  const auto r = reports({"atrium:1k"}, "wait built\nkey R\nwait 0.3\ndrop " + path("wrong.path") +
                                            "\nwait 0.3\nkey R\nREPORT\n");
  EXPECT_TRUE(has_message(r[0], "expected 8 numbers")) << r[0]["messages"];
  EXPECT_TRUE(has_message(r[0], "Saved " + name)) << r[0]["messages"];
  EXPECT_TRUE(std::filesystem::remove(name));
}

// F12 says what it does, and closing the window waits for the file.
TEST_F(Faults, ClosingFinishesTheScreenshot) {
  write_file(path("settings.json"), R"({"shot_width": 320, "shot_height": 240, "shot_spp": 16})");
  const std::string name = "atrium-1k-001.png";
  std::filesystem::remove(name);
  const auto closed = reports({"atrium:1k", "--settings", path("settings.json")},
                              "wait built\nkey F12\nREPORT\nclose\n");
  EXPECT_TRUE(has_message(closed[0], name)) << closed[0]["messages"];
  EXPECT_TRUE(std::filesystem::exists(name));
  std::filesystem::remove(name);
}

// Files given on the command line do not overwrite each other, and numbers are decimal.
TEST_F(Faults, OptionsAreCheckedAsThoseOfHeapwood) {
  write_file(path("model.obj"), obj_text(10));
  write_file(path("script"), "quit\n");
  const auto run = [&](const std::vector<std::string>& arguments) {
    return Running(view_, arguments).wait();
  };
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{path("model.obj"), "--screenshot", path("model.obj")},
        {"--script", path("script"), "--settings", path("script")},
        {"--script", path("script"), "--screenshot", path("script")}}) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.exit, 2) << outcome.err;
    EXPECT_NE(outcome.err.find("already used in this command"), std::string::npos) << outcome.err;
  }
  EXPECT_EQ(read_file(path("model.obj")), obj_text(10));
  const auto octal =
      reports({"atrium:1k", "--spp", "010", "--size", "320x240"}, "wait done\nREPORT\n");
  EXPECT_EQ(octal[0]["samples"], 10);
  const Outcome scale = run({"--scale", "big"});
  EXPECT_EQ(scale.exit, 2);
  EXPECT_NE(scale.err.find("'big' is not a number"), std::string::npos) << scale.err;
}

}  // namespace

}  // namespace heapwood::tests
