// SPDX-License-Identifier: MIT
// What `heapwood build` prints about one result.
#pragma once

#include <string>

#include "app/result.hpp"
#include "app/table.hpp"

namespace heapwood::app {

std::string build_text(const Result& result, const std::string& device, const TextStyle& style);
// "cfmmalloc: pool of 4 MiB exhausted: requested ..., used ..., free ..., largest free region ...; what to do".
std::string exhaustion_text(const Result& result);

}  // namespace heapwood::app
