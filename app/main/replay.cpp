// SPDX-License-Identifier: MIT
// main() of heapwood-replay: `heapwood-replay TRACE` is `heapwood replay TRACE`.
#include <vector>

#include "app/commands.hpp"

int main(int argc, char** argv) {
  static char command[] = "replay";
  std::vector<char*> arguments(argv, argv + argc);
  arguments.insert(arguments.begin() + 1, command);
  static constexpr heapwood::app::AddCommand* commands[] = {heapwood::app::add_replay};
  return heapwood::app::run(static_cast<int>(arguments.size()), arguments.data(), commands);
}
