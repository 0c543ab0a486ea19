// SPDX-License-Identifier: MIT
#include "bench/shard.hpp"

#include <cstdlib>
#include <optional>

#include "bench/program/messages.hpp"
#include "scenes/file.hpp"

namespace heapwood::bench {

namespace {

std::optional<std::size_t> number_of(const std::string& text) {
  std::size_t value = 0;
  return scenes::parse_number(text, value) ? std::optional(value) : std::nullopt;
}

}  // namespace

std::string shard_text(const Shard& shard) {
  return fmt::format("{}/{}", shard.number, shard.count);
}

Shard parse_shard(const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash != std::string::npos) {
    const auto number = number_of(text.substr(0, slash)), count = number_of(text.substr(slash + 1));
    if (number && count && *number >= 1 && *number <= *count) return {*number, *count};
  }
  throw_error(Exit::usage, "--shard '{}': expected I/N, the I-th of N shards: 2/4", text);
}

Shard shard_of_array(const SlurmArray& array) {
  if (array.id.empty()) return {};
  const auto id = number_of(array.id), min = number_of(array.min), max = number_of(array.max),
             count = number_of(array.count);
  const auto step = array.step.empty() ? std::optional<std::size_t>(1) : number_of(array.step);
  const bool is_even = id && min && max && count && step && *step > 0 && *min <= *id &&
                       *id <= *max && (*max - *min) / *step + 1 == *count &&
                       (*id - *min) % *step == 0;
  if (!is_even) {
    throw_error(Exit::usage,
                "SLURM_ARRAY_TASK_ID '{}' of {} tasks from '{}' to '{}': the shard "
                "is known only of evenly spaced numbers; give --shard I/N",
                array.id, array.count, array.min, array.max);
  }
  return {(*id - *min) / *step + 1, *count};
}

void add_shard_option(CommandOptions& command, std::string& text) {
  command.text("--shard", text,
               "measure the I-th of N parts of the cases, for merge;\ndefault: the task of a Slurm "
               "array (docs/sweeps.md)",
               "I/N");
}

Shard chosen_shard(const std::string& text) {
  if (!text.empty()) return parse_shard(text);
  const auto variable = [](const char* name) -> std::string {
    const char* value = std::getenv(name);
    return value ? value : "";
  };
  const SlurmArray array{variable("SLURM_ARRAY_TASK_ID"), variable("SLURM_ARRAY_TASK_MIN"),
                         variable("SLURM_ARRAY_TASK_MAX"), variable("SLURM_ARRAY_TASK_STEP"),
                         variable("SLURM_ARRAY_TASK_COUNT")};
  const Shard shard = shard_of_array(array);
  if (!array.id.empty())
    note("shard {}, from SLURM_ARRAY_TASK_ID {}; --shard 1/1 measures everything",
         shard_text(shard), array.id);
  return shard;
}

void check_shard_file(const std::string& path, const Shard& shard) {
  if (path.empty()) return;
  std::optional<Json> earlier;
  try {
    earlier = read_json(path);
  } catch (const Error&) {
    return;  // --resume reports the file; without it, the file is overwritten as usual
  }
  if (!earlier || !earlier->is_object() || !earlier->contains("shard")) return;
  Json mine = Json::object();
  add_shard(mine, shard);
  if (mine.value("shard", Json()) != (*earlier)["shard"])
    throw_error(Exit::usage,
                "{}: has results of a different shard, not of {}; write one file per shard", path,
                shard_text(shard));
}

void add_shard(Json& report, const Shard& shard) {
  if (!shard.is_whole()) report["shard"] = {{"number", shard.number}, {"count", shard.count}};
}

}  // namespace heapwood::bench
