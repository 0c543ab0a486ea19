// SPDX-License-Identifier: MIT
// Names of procedural scenes, `NAME[:COUNT][:SEED]`, with any table of names.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "scenes/scene.hpp"

namespace heapwood::scenes {

// Numbers of triangles that a scene can have.
struct CountLimits {
  std::uint64_t min, max;
};

// As parse_scene_name(): the result points into `table`; `limits` are in the same order.
std::optional<SceneName> parse_name(const std::string& text, std::span<const Procedural> table,
                                    std::span<const CountLimits> limits);

// 16 hexadecimal digits.
std::string hex_digits(std::uint64_t value);

}  // namespace heapwood::scenes
