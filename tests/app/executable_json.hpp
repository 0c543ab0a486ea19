// SPDX-License-Identifier: MIT
#pragma once

#include <nlohmann/json.hpp>

#include "tests/app/executable.hpp"

namespace heapwood::tests {

class JsonExecutable : public Executable {
 protected:
  // What a command that succeeds prints with --format json.
  nlohmann::json run_json(const Command& command) const {
    return nlohmann::json::parse(output(command), nullptr, false);
  }
};

}  // namespace heapwood::tests
