// SPDX-License-Identifier: MIT
// What test_own_new.cpp knows of the program's operators.
#pragma once

#include <atomic>

namespace own_new {

extern std::atomic<int> blocks;  // in use

}  // namespace own_new
