// SPDX-License-Identifier: MIT
#pragma once

#include <nlohmann/json.hpp>

#include "tests/app/executable.hpp"

namespace heapwood::tests {

class JsonExecutable : public Executable {
 protected:
  // What a command that succeeds prints with --format json.
  nlohmann::json run_json(const std::vector<std::string>& arguments) const {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.exit, 0) << outcome.err << outcome.out;
    return nlohmann::json::parse(outcome.out, nullptr, false);
  }
};

}  // namespace heapwood::tests
