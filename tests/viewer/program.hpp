// SPDX-License-Identifier: MIT
// Runs heapwood-view with a script, on a separate display.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "render/image.hpp"
#include "tests/app/executable.hpp"

namespace heapwood::tests {

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
  // Runs the viewer in the Learn tab unless the arguments name one; `steps` is its script, if any.
  Outcome view(std::vector<std::string> arguments, const std::string& steps = "") const {
    std::vector<std::string> command{view_, "--device", "cpu"};
    if (std::find(arguments.begin(), arguments.end(), "--tab") == arguments.end())
      command.insert(command.end(), {"--tab", "learn"});
    if (!steps.empty()) {
      std::ofstream(path("script")) << steps << "quit\n";
      command.insert(command.end(), {"--script", path("script")});
    }
    command.insert(command.end(), arguments.begin(), arguments.end());
    return on_display(command);
  }
  Outcome heapwood(const std::vector<std::string>& arguments) const {
    return Running(heapwood_, arguments).wait();
  }
  nlohmann::json json(const std::string& name) const {
    std::ifstream file(path(name));
    return nlohmann::json::parse(file);
  }

  std::string view_, heapwood_;
  Folder folder_;
};

}  // namespace heapwood::tests
