// SPDX-License-Identifier: MIT
// Runs heapwood-view with a script, on a separate display.
#pragma once

#include <algorithm>
#include <iterator>

#include "tests/app/executable.hpp"
#include "tests/render/pictures.hpp"

namespace heapwood::tests {

using Json = nlohmann::json;

// Whether a text, or a list of texts, contains a word.
inline bool has(const Json& text, const std::string& word) {
  return (text.is_string() ? text.get<std::string>() : text.dump()).find(word) != std::string::npos;
}
inline bool has_not(const Json& text, const std::string& word) { return !has(text, word); }

template <class Wanted>
long count_pixels(const render::Image& image, const Wanted& wanted) {
  return std::ranges::count_if(image.pixels, wanted);
}
inline long count_near(const render::Image& image, render::Rgb8 colour, int limit) {
  return count_pixels(image, [&](render::Rgb8 c) {
    return std::abs(c.r - colour.r) < limit && std::abs(c.g - colour.g) < limit &&
           std::abs(c.b - colour.b) < limit;
  });
}

// A program in place of ffmpeg that writes the frames as it gets them; like ffmpeg with -n it does
// not replace a file.
inline void write_stub_of_ffmpeg(const std::string& path) {
  write_file(path, "#!/bin/sh\nset -C\nfor last; do :; done\n/bin/cat > \"${last#file:}\"\n");
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
}

class Program : public testing::Test {
 protected:
  void SetUp() override {
    const char* beside = std::getenv("HEAPWOOD_BINARY");
    if (!beside) GTEST_SKIP() << "HEAPWOOD_BINARY is not set: run the tests with ctest";
    const std::filesystem::path bin = std::filesystem::path(beside).parent_path();
    view_ = bin / "heapwood-view";
    heapwood_ = bin / "heapwood";
    const Outcome display = on_display({"true"});
    if (display.exit == 77) GTEST_SKIP() << display.err;
  }
  std::string path(const std::string& name) const { return folder_ / name; }

  static std::string wrapper() { return HEAPWOOD_SOURCE_DIR "/tests/viewer/xvfb.sh"; }
  // Runs a command on a separate display.
  Outcome on_display(std::vector<std::string> command) const {
    return Running(wrapper(), command).wait();
  }
  // In arguments and scripts, @NAME is a file in the test's folder.
  std::string with_paths(std::string text) const {
    for (std::size_t mark = 0; (mark = text.find('@', mark)) != std::string::npos;)
      text.replace(mark, 1, path(""));
    return text;
  }
  // Splits the arguments at blanks.
  std::vector<std::string> split(const std::string& arguments) const {
    std::istringstream stream(with_paths(arguments));
    return {std::istream_iterator<std::string>(stream), {}};
  }
  // Semicolons separate the steps of a script.
  std::string write_script(std::string steps) const {
    std::ranges::replace(steps, ';', '\n');
    write_file(path("script"), with_paths(steps));
    return path("script");
  }
  // Runs the viewer in the Learn tab unless the arguments name one; `steps`: its script, if any.
  Outcome view(const std::string& arguments, const std::string& steps = "") const {
    std::vector<std::string> command{view_, "--device", "cpu"};
    if (has_not(arguments, "--tab")) command.insert(command.end(), {"--tab", "learn"});
    if (!steps.empty()) command.insert(command.end(), {"--script", write_script(steps + "; quit")});
    for (const std::string& word : split(arguments)) command.push_back(word);
    return on_display(command);
  }
  // Runs the viewer as view() does and expects exit status 0. Returns the report that it writes at
  // the end of the script, if there is one.
  Json run(const std::string& arguments, const std::string& steps = "") const {
    const Outcome outcome = view(arguments, steps.empty() ? "" : steps + "; report @at_end");
    EXPECT_EQ(outcome.exit, 0) << outcome.err;
    return std::filesystem::exists(path("at_end")) ? json("at_end") : Json();
  }
  // The reports of a script that writes one at each step REPORT.
  std::vector<Json> reports(const std::string& arguments, std::string steps) const {
    std::vector<std::string> names;
    for (std::size_t found; (found = steps.find("REPORT")) != std::string::npos;) {
      names.push_back("report-" + std::to_string(names.size()));
      steps.replace(found, 6, "wait 0.1; report @" + names.back());
    }
    run(arguments, steps);
    std::vector<Json> all;
    for (const std::string& name : names) all.push_back(json(name));
    return all;
  }
  // Runs heapwood, which has to succeed.
  void heapwood(const std::string& arguments) const {
    const Outcome outcome = Running(heapwood_, split(arguments)).wait();
    EXPECT_EQ(outcome.exit, 0) << outcome.err;
  }
  Json json(const std::string& name) const { return Json::parse(std::ifstream(path(name))); }
  render::Image picture(const std::string& name) const { return render::read_png(path(name)); }

  std::string view_, heapwood_;
  Folder folder_;
};

}  // namespace heapwood::tests
