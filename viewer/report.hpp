// SPDX-License-Identifier: MIT
// What the window shows, as JSON: for tests, which compare it with what `heapwood` prints and with the pictures.
#pragma once

#include <string>

#include "viewer/state.hpp"

namespace heapwood::viewer {

void write_report(const State& state, const std::string& path);

}  // namespace heapwood::viewer
