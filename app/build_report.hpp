// SPDX-License-Identifier: MIT
// The report of `heapwood build` on one result.
#pragma once

#include <string>

#include "app/result.hpp"
#include "app/table.hpp"

namespace heapwood::app {

std::string build_text(const Result& result, const std::string& device, const TextStyle& style);
// "cfmmalloc: pool of 4 MiB exhausted, tree incomplete: requested ..., max used ..., free ...,
// largest free region ...; ADVICE".
std::string exhaustion_text(const Result& result);

}  // namespace heapwood::app
