// SPDX-License-Identifier: MIT
// A command line, one argument per line: parsed or rejected; no action runs.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "app/commands.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::string> arguments{"heapwood", ""};
  for (std::size_t i = 0; i < size; ++i) {
    if (data[i] == '\n')
      arguments.emplace_back();
    else if (data[i] != 0)
      arguments.back().push_back(static_cast<char>(data[i]));
  }
  if (arguments.back().empty()) arguments.pop_back();
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const int code = heapwood::app::check(static_cast<int>(arguments.size()), argv.data());
  if (code < 0 || code > 4) std::abort();
  return 0;
}
