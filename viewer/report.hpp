// SPDX-License-Identifier: MIT
// The window's content as JSON, for tests that compare it with the output of `heapwood` and with
// pictures.
#pragma once

#include <string>

#include "viewer/state.hpp"

namespace heapwood::viewer {

void write_report(const State& state, const std::string& path);

}  // namespace heapwood::viewer
