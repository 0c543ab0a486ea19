// SPDX-License-Identifier: MIT
// Reads items.txt, which the build embeds as a string.
#include <algorithm>
#include <ctime>
#include <filesystem>
#include <set>
#include <sstream>

#include "bench/program/messages.hpp"
#include "bench/reproduce/reproduce.hpp"
#include "bench/results/json.hpp"
#include "scenes/file.hpp"

namespace heapwood::bench {

namespace {

constexpr const char* items_text =
#include "reproduce_items.inc"
    ;

using Texts = std::map<std::string, std::string>;

std::string expanded(const std::string& text, const Texts& texts) {
  std::string out;
  for (std::size_t index = 0; index < text.size();) {
    if (text[index] != '$') {
      out += text[index++];
      continue;
    }
    const std::size_t end = std::min(
        text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_", index + 1), text.size());
    out += expanded(texts.at(text.substr(index + 1, end - index - 1)), texts);
    index = end;
  }
  return out;
}

// The parts of a line between bars, without surrounding spaces.
std::vector<std::string> parts_of(const std::string& line) {
  std::vector<std::string> parts = split(line, '|');
  for (std::string& part : parts) {
    const std::size_t begin = part.find_first_not_of(' '), end = part.find_last_not_of(' ');
    part = begin == std::string::npos ? "" : part.substr(begin, end + 1 - begin);
  }
  return parts;
}

std::vector<ReproduceItem> read_items() {
  // A line that is indented further continues the one above; after a comma even its last word.
  std::vector<std::string> lines;
  std::istringstream text(items_text);
  for (std::string line; std::getline(text, line);) {
    if (line.empty() || line.starts_with('#')) continue;
    if (line.starts_with("    "))
      lines.back() += line.substr(lines.back().ends_with(',') ? 4 : 3);
    else
      lines.push_back(line);
  }
  std::vector<ReproduceItem> items;
  Texts texts;
  for (const std::string& line : lines) {
    if (line.starts_with('$')) {
      const std::size_t equals = line.find(" = ");
      texts[line.substr(1, equals - 1)] = line.substr(equals + 3);
    } else if (line.starts_with(' ')) {
      const std::vector<std::string> parts = parts_of(expanded(line, texts));
      items.back().experiments.emplace_back(parts[0], parts.size() > 1 ? parts[1] : "");
    } else {
      const std::vector<std::string> parts = parts_of(line);
      items.push_back({parts.at(0), parts.at(1), parts.at(2), parts.at(3), {}, ""});
      if (parts[0] == "regeff-uniform" && !registry::find("cmalloc-published"))
        items.back().absent =
            "the published lists are not compiled: configure with -DHEAPWOOD_PUBLISHED=ON";
    }
  }
  return items;
}

std::string group(const ReproduceItem& item) { return item.id.substr(0, item.id.find('-')); }

using MakeCases = std::vector<ReproduceCase> (*)(const Experiment&, const ReproduceSetup&);
const std::map<std::string, MakeCases> makers{
    {"stress", stress_cases}, {"build", scene_cases},        {"recorded", scene_cases},
    {"trace", scene_cases},   {"profile", scene_cases},      {"graph", graph_cases},
    {"host", host_cases},     {"registers", register_cases}, {"semaphore", primitive_cases},
    {"rcu", primitive_cases}, {"strings", steps_cases},      {"particles", steps_cases},
};

}  // namespace

Experiment::Experiment(const std::string& papers, const std::string& quick) {
  const auto read = [](std::istringstream words, std::map<std::string, std::string>& values) {
    for (std::string word; words >> word;) {
      const std::size_t equals = std::min(word.find('='), word.size());
      values[word.substr(0, equals)] = word.substr(std::min(equals + 1, word.size()));
    }
  };
  std::istringstream words(papers);
  words >> kind;
  if (kind == "stress") words >> test;
  read(std::move(words), papers_);
  read(std::istringstream(quick), quick_);
}

std::string Experiment::text(const char* key, const std::string& otherwise) const {
  const auto found = papers_.find(key);
  return found == papers_.end() ? otherwise : found->second;
}

double Experiment::number(const char* key, double otherwise) const {
  const std::string value = text(key);
  return value.empty() ? otherwise : std::stod(value);
}

std::string Experiment::list(const char* key, const ReproduceSetup& setup) const {
  const std::map<std::string, std::string>& values = setup.full ? papers_ : quick_;
  const auto found = values.find(key);
  return found == values.end() ? "" : found->second;
}

int Experiment::runs(const ReproduceSetup& setup) const {
  const int runs = static_cast<int>(number("runs", 5));
  return setup.full ? runs : std::min(runs, 3);
}

Allocators Experiment::allocators(const ReproduceSetup& setup) const {
  Allocators some = setup.allocators;
  const std::vector<std::string> wanted = split(text("only"), ',');
  std::erase_if(some, [&](const Allocator* entry) {
    return has("only") && std::ranges::find(wanted, entry->traits->id) == wanted.end();
  });
  return some;
}

const std::vector<ReproduceItem>& reproduce_items() {
  static const std::vector<ReproduceItem> items = read_items();
  return items;
}

std::vector<const ReproduceItem*> find_items(const std::string& list) {
  std::set<std::string> asked;
  for (const std::string& part : split(list, ',')) asked.insert(part);
  std::set<std::string> unknown = asked;
  unknown.erase("all");
  std::vector<const ReproduceItem*> found;
  for (const ReproduceItem& item : reproduce_items()) {
    unknown.erase(item.id);
    unknown.erase(group(item));
    if (asked.contains("all") || asked.contains(item.id) || asked.contains(group(item)))
      found.push_back(&item);
  }
  if (unknown.empty()) return found;
  throw_error(Exit::usage,
              "reproduce: unknown item '{}': use all, a group (regeff, "
              "ouroboros, bulk, host, own) or an "
              "item of 'heapwood reproduce --list'",
              *unknown.begin());
}

std::vector<ReproduceCase> reproduce_cases(const std::vector<const ReproduceItem*>& items,
                                           const ReproduceSetup& setup) {
  std::vector<ReproduceCase> cases;
  std::set<std::string> keys;
  for (const ReproduceItem* item : items) {
    for (const Experiment& experiment : item->experiments) {
      for (ReproduceCase& one : makers.at(experiment.kind)(experiment, setup)) {
        if (keys.insert(one.key).second) cases.push_back(std::move(one));
      }
    }
  }
  return cases;
}

namespace {

std::string made_folder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    throw_error(Exit::failed, "{}: cannot create the folder: {}; choose another with --out", folder,
                error.message());
  return results_path(folder);
}

// The parts of a device that must agree: the GPU, but neither the driver nor the host's memory.
Json identity(const Json& device) {
  Json kept = Json::object();
  for (const char* key : {"kind", "name", "threads", "multiprocessors"}) {
    if (device.contains(key)) kept[key] = device[key];
  }
  return kept;
}

// Whether all values that this class reads have the expected types.
bool is_ours(const Json& json) {
  if (text_at(json, "schema") != reproduce_schema) return false;
  for (const char* key : {"runs", "items", "cases"}) {
    if (!is_list_of_objects(json.find(key))) return false;
  }
  const auto has_types = [](const Json& one) {
    return one.contains("key") && one["key"].is_string() &&
           is_list_of_objects(one.find("results")) && one.contains("seconds") &&
           one["seconds"].is_number();
  };
  const Json& cases = json["cases"];
  return json.contains("device") && json["device"].is_object() &&
         std::ranges::all_of(cases, has_types);
}

Json earlier_file(const std::string& path, const Json& head) {
  const std::optional<Json> read = read_json(path);
  if (!read) return head;
  const Json& json = *read;
  if (!is_ours(json))
    throw_error(Exit::failed, "{}: not a {} file; choose another folder with --out", path,
                reproduce_schema);
  if (identity(json["device"]) != identity(head["device"]) ||
      text_at(json, "scale") != text_at(head, "scale")) {
    throw_error(Exit::usage, "{}: measured on '{}', scale '{}'; choose another folder with --out",
                path, scenes::printable(text_at(json["device"], "name"), 120),
                scenes::printable(text_at(json, "scale")));
  }
  return json;
}

}  // namespace

std::string results_path(const std::string& folder) {
  return (std::filesystem::path(folder) / "results.json").string();
}

ReproduceResults::ReproduceResults(const std::string& folder, const ReproduceSetup& setup,
                                   const std::vector<std::string>& argv)
    : file_(made_folder(folder)), device_(setup.device) {
  Json head = report_head(reproduce_schema, argv, setup.device);
  for (const char* key : {"argv", "version", "git", "device_record", "results"}) head.erase(key);
  head["scale"] = setup.full ? "full" : "quick";
  for (const char* key : {"runs", "items", "cases"}) head[key] = Json::array();
  json_ = earlier_file(file_.path(), head);

  run_ = report_head("", argv, setup.device);
  run_.erase("schema");
  run_.erase("results");
  run_["compilers"] = compilers();
  const std::time_t now = std::time(nullptr);
  char started[sizeof "2026-01-31T00:00:00Z"];
  std::strftime(started, sizeof started, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
  run_["started"] = started;
}

const Json* ReproduceResults::find(const std::string& key) const {
  for (const Json& one : json_["cases"]) {
    if (text_at(one, "key") == key) return &one;
  }
  return nullptr;
}

const Json* ReproduceResults::results(const std::string& key) const {
  const Json* one = find(key);
  return one ? one->find("results") : nullptr;
}

double ReproduceResults::seconds(const std::string& key) const {
  const Json* one = find(key);
  return one ? one->value("seconds", 0.0) : 0;
}

bool ReproduceResults::has(const ReproduceCase& one) const {
  const Json* measured = results(one.key);
  return measured && std::ranges::all_of(one.allocators, [&](const Allocator* entry) {
           return std::ranges::any_of(*measured, [&](const Json& result) {
             return text_at(result, "allocator") == entry->traits->id;
           });
         });
}

void ReproduceResults::add(const ReproduceCase& one, double seconds, Json results) {
  if (!run_.empty()) json_["runs"].push_back(std::move(run_));
  run_ = {};
  if (Json record = device_record(device_); !record.is_null())
    json_["runs"].back()["device_record"] = std::move(record);
  const Json* found = find(one.key);
  Json& entry = found ? const_cast<Json&>(*found) : json_["cases"].push_back(Json());
  entry = {{"key", one.key},
           {"run", json_["runs"].size() - 1},
           {"seconds", std::round(seconds * 1e3) / 1e3}};
  if (!one.about.empty()) entry["about"] = one.about;
  entry["results"] = std::move(results);
}

void ReproduceResults::describe(const std::vector<ReproduceItem>& items,
                                const ReproduceSetup& setup) {
  Json described = Json::array();
  for (const ReproduceItem& item : items) {
    Json json{
        {"id", item.id}, {"paper", item.paper}, {"figure", item.figure}, {"title", item.title}};
    if (!item.absent.empty()) json["absent"] = item.absent;
    Json& keys = json["cases"] = Json::array();
    for (const ReproduceCase& one : reproduce_cases({&item}, setup)) keys.push_back(one.key);
    // Keeps cases of an earlier run with other scenes.
    for (const Json& earlier : json_["items"]) {
      if (text_at(earlier, "id") != item.id || !earlier.contains("cases")) continue;
      for (const Json& key : earlier["cases"]) {
        if (key.is_string() && results(key) && std::ranges::find(keys, key) == keys.end())
          keys.push_back(key);
      }
    }
    described.push_back(std::move(json));
  }
  json_["items"] = std::move(described);
}

void ReproduceResults::write() { file_.write(json_.dump(1, false) + "\n"); }

}  // namespace heapwood::bench
