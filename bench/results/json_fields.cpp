// SPDX-License-Identifier: MIT
#include "bench/results/json_fields.hpp"

#include <sstream>

#include "bench/results/format.hpp"
#include "scenes/file.hpp"

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
  for (const std::uint64_t hash : values) texts.push_back(scenes::hex_digits(hash));
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

namespace {

struct JsonColumn {
  std::string title, path, absent, present_if, absent_if;
  char figure = 0;  // '#': the number of samples; '~': their median
  bool of_element = false;

  explicit JsonColumn(std::string text) {
    const auto cut = [&text](char mark) {
      const std::size_t mark_index = text.find(mark);
      if (mark_index == std::string::npos) return std::string();
      const std::string rest = text.substr(mark_index + 1);
      text.resize(mark_index);
      return rest;
    };
    absent = cut('|');
    present_if = cut('?');
    absent_if = cut('!');
    if (text.back() == '#' || text.back() == '~') {
      figure = text.back();
      text.pop_back();
    }
    path = cut('=');
    title = text;
    if (path.empty()) path = title;
    of_element = path.front() == '.';
    if (of_element) path.erase(0, 1);
  }
};

const Json* find(const Json* json, const std::string& path) {
  std::istringstream keys(path);
  for (std::string key; json != nullptr && std::getline(keys, key, '/');) {
    if (json->is_array() && !json->empty()) {
      json = key == "-1" ? &json->back() : &json->front();
    } else {
      json = json->find(key);
    }
  }
  return json;
}

std::string csv_of(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_integer()) return value.dump();
  return value.is_number() ? csv_text(std::optional(value.get<double>())) : "";
}

std::string cell_text(const JsonColumn& column, const Json& result, const Json* element,
                      std::size_t number) {
  if (column.path == "@") return csv_text(element != nullptr, number);
  if (!column.present_if.empty() && find(&result, column.present_if) == nullptr) return "";
  if (!column.absent_if.empty() && find(&result, column.absent_if) != nullptr) return "";
  const Json* const value = find(column.of_element ? element : &result, column.path);
  if (value == nullptr) return column.absent;
  if (column.figure == '#') return std::to_string(value->size());
  if (column.figure == '~') return csv_text(median(value->get<std::vector<double>>()));
  return csv_of(*value);
}

}  // namespace

Table table_of_json(const Json& results, const std::string& columns, const char* list) {
  std::vector<JsonColumn> all;
  std::istringstream words(columns);
  for (std::string word; words >> word;) all.emplace_back(word);
  Table table;
  for (const JsonColumn& column : all) table.columns.push_back({column.title});
  const auto add = [&](const Json& result, const Json* element, std::size_t number) {
    std::vector<Cell> cells;
    for (const JsonColumn& column : all)
      cells.emplace_back(cell_text(column, result, element, number));
    table.add(std::move(cells));
  };
  for (const Json& result : results) {
    const Json* const elements = *list ? find(&result, list) : nullptr;
    if (elements == nullptr || elements->empty()) add(result, nullptr, 0);
    for (std::size_t i = 0; elements != nullptr && i < elements->size(); ++i)
      add(result, &(*elements)[i], i + 1);
  }
  return table;
}

}  // namespace heapwood::bench
