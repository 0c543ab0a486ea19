// SPDX-License-Identifier: MIT
#include "bench/results/json_fields.hpp"

#include <fmt/format.h>

#include "bench/results/samples.hpp"

namespace heapwood::bench {

void JsonFields::derived_quartiles(const std::vector<double>& ms) {
  derived("median_ms", median(ms));
  derived("q1_ms", quantile(ms, 0.25));
  derived("q3_ms", quantile(ms, 0.75));
}

void JsonFields::named(const char* key, std::string name,
                       const std::function<void(const std::string&)>& set) {
  (*this)(key, name);
  if (reads()) set(name);
}

void JsonFields::hashes(const char* key, std::vector<std::uint64_t>& values) {
  if (!has(key, !values.empty())) return;
  std::vector<std::string> texts;
  for (const std::uint64_t hash : values) texts.push_back(fmt::format("{:016x}", hash));
  (*this)(key, texts);
  if (!reads()) return;
  for (const std::string& hash : texts) values.push_back(std::stoull(hash, nullptr, 16));
}

void JsonFields::within(const char* key, const std::function<void(JsonFields&)>& describe_part) {
  JsonFields part = reads() ? JsonFields(read_->at(key)) : JsonFields((*written_)[key]);
  describe_part(part);
}

void JsonFields::each(const char* key, std::size_t count,
                      const std::function<void(std::size_t)>& resize,
                      const std::function<void(JsonFields&, std::size_t)>& describe_part) {
  if (reads())
    resize(count = read_->at(key).size());
  else
    (*written_)[key] = Json::array();
  for (std::size_t i = 0; i < count; ++i) {
    JsonFields part =
        reads() ? JsonFields(read_->at(key).at(i)) : JsonFields((*written_)[key].push_back(Json()));
    describe_part(part, i);
  }
}

}  // namespace heapwood::bench
