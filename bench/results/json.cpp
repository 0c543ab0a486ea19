// SPDX-License-Identifier: MIT
#include "bench/results/json.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>
#include <stdexcept>

#include "bench/program/command_files.hpp"
#include "bench/program/process.hpp"
#include "geometry/picture_file.hpp"
#include "scenes/file.hpp"

namespace heapwood::bench {

namespace {

using Ordered = nlohmann::ordered_json;

constexpr std::size_t max_depth = 100;  // limits the recursion of reading and writing

Json from_library(const Ordered& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_unsigned()) return value.get<std::uint64_t>();
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number()) return value.get<double>();
  if (value.is_string()) return value.get_ref<const std::string&>();
  Json json = value.is_array() ? Json::array() : value.is_object() ? Json::object() : Json();
  if (value.is_array()) {
    for (const Ordered& one : value) json.push_back(from_library(one));
  }
  if (value.is_object()) {
    for (const auto& [key, one] : value.items()) json[key] = from_library(one);
  }
  return json;
}

template <class Library>
Library to_library(const Json& json) {
  Library value;
  if (json.is_boolean()) value = json.get<bool>();
  if (json.is_unsigned())
    value = json.get<std::uint64_t>();
  else if (json.is_integer())
    value = json.get<std::int64_t>();
  else if (json.is_number())
    value = json.get<double>();
  if (json.is_string()) value = json.get<std::string>();
  if (json.is_array()) {
    value = Library::array();
    for (const Json& one : json) value.push_back(to_library<Library>(one));
  }
  if (json.is_object()) {
    value = Library::object();
    for (const auto& [key, one] : json.items()) value[key] = to_library<Library>(one);
  }
  return value;
}

const char* type_of(const Json& json) {
  if (json.is_null()) return "null";
  if (json.is_boolean()) return "a boolean";
  if (json.is_string()) return "text";
  if (json.is_array()) return "a list";
  return json.is_object() ? "an object" : "a number";
}

[[noreturn]] void refuse_integer(const Json& found) {
  throw std::out_of_range("expected an integer that fits, found " +
                          (found.is_number() ? found.dump() : std::string(type_of(found))));
}

}  // namespace

Json::Json(const Json&) = default;
Json::Json(Json&&) noexcept = default;
Json& Json::operator=(const Json&) = default;
Json& Json::operator=(Json&&) noexcept = default;
Json::~Json() = default;

Json::Json(std::initializer_list<Json> values) {
  const bool has_keys = std::ranges::all_of(values, [](const Json& one) {
    return one.is_array() && one.size() == 2 && one.front().is_string();
  });
  *this = has_keys ? object() : array();
  for (const Json& one : values) {
    if (has_keys)
      (*this)[one.front().get<std::string>()] = one.at(1);
    else
      push_back(one);
  }
}

Json Json::array(std::initializer_list<Json> values) {
  Json json;
  json.value_ = std::vector<Json>(values);
  return json;
}

Json Json::object() {
  Json json;
  json.value_ = Entries();
  return json;
}

Json Json::parse(const std::string& text) {
  const auto refuse = [&text](std::size_t byte) {
    const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(byte, text.size()));
    throw std::runtime_error("line " + std::to_string(1 + std::count(text.begin(), end, '\n')) +
                             ": not valid JSON");
  };
  if (scenes::json_nesting(text) > max_depth)
    throw std::runtime_error("nested more than " + std::to_string(max_depth) + " levels deep");
  const LackOfMemoryEnds end;
  try {
    return from_library(Ordered::parse(text));
  } catch (const Ordered::parse_error& error) {
    refuse(error.byte);
  } catch (const Ordered::exception&) {  // a number out of range
  }
  throw std::runtime_error("not valid JSON");
}

std::string Json::dump(std::optional<unsigned> indent, bool ascii) const {
  const LackOfMemoryEnds end;
  return to_library<Ordered>(*this).dump(indent ? static_cast<int>(*indent) : -1, ' ', ascii,
                                         Ordered::error_handler_t::replace);
}

void Json::refuse_type(const char* expected) const {
  throw std::invalid_argument(std::string("expected ") + expected + ", found " + type_of(*this));
}

Json& Json::member(std::string_view key) {
  if (is_null()) *this = object();
  if (!is_object()) refuse_type("an object");
  if (const Json* found = find(key)) return const_cast<Json&>(*found);
  return std::get<Entries>(value_).emplace_back(Entry{std::string(key), {}}).value;
}

const Json& Json::at(std::string_view key) const {
  if (!is_object()) refuse_type("an object");
  if (const Json* found = find(key)) return *found;
  throw std::out_of_range("'" + std::string(key) + "' is missing");
}

const Json* Json::find(std::string_view key) const {
  if (!is_object()) return nullptr;
  for (const Entry& entry : items()) {
    if (entry.key == key) return &entry.value;
  }
  return nullptr;
}

void Json::erase(std::string_view key) {
  if (is_object())
    std::erase_if(std::get<Entries>(value_), [&](const Entry& entry) { return entry.key == key; });
}

void Json::update(const Json& other) {
  for (const auto& [key, value] : other.items()) (*this)[key] = value;
}

Json& Json::push_back(Json value) {
  if (is_null()) *this = array();
  if (!is_array()) refuse_type("a list");
  return std::get<std::vector<Json>>(value_).emplace_back(std::move(value));
}

const Json* Json::begin() const { return is_array() ? elements().data() : nullptr; }
const Json* Json::end() const { return is_array() ? begin() + size() : nullptr; }

std::size_t Json::size() const {
  if (is_array()) return elements().size();
  return is_object() ? items().size() : is_null() ? 0 : 1;
}

bool Json::is_finite() const {
  const auto* const number = std::get_if<double>(&value_);
  return !number || std::isfinite(*number);
}

bool operator==(const Json& a, const Json& b) {
  if (a.is_number() && b.is_number()) {
    return a.is_integer() && b.is_integer() ? a.value_ == b.value_ : a.number() == b.number();
  }
  if (!a.is_object() || !b.is_object()) return a.value_ == b.value_;
  return a.size() == b.size() && std::ranges::all_of(a.items(), [&](const Json::Entry& entry) {
           const Json* const other = b.find(entry.key);
           return other && entry.value == *other;
         });
}

std::ostream& operator<<(std::ostream& out, const Json& json) { return out << json.dump(); }

double Json::number() const {
  if (const auto* const natural = std::get_if<std::uint64_t>(&value_))
    return static_cast<double>(*natural);
  if (const auto* const negative = std::get_if<std::int64_t>(&value_))
    return static_cast<double>(*negative);
  return as<double>("a number");
}

std::uint64_t Json::natural(std::uint64_t max) const {
  const auto* const value = std::get_if<std::uint64_t>(&value_);
  if (!value || *value > max) refuse_integer(*this);
  return *value;
}

std::int64_t Json::integer(std::int64_t min, std::int64_t max) const {
  const auto* const negative = std::get_if<std::int64_t>(&value_);
  if (!negative) return static_cast<std::int64_t>(natural(static_cast<std::uint64_t>(max)));
  if (*negative < min) refuse_integer(*this);
  return *negative;
}

void put(Json& json, std::string_view key, Json value) {
  if (!value.is_null() && value.is_finite()) json[key] = std::move(value);
}

std::string sorted_text(const Json& json) {
  const LackOfMemoryEnds end;
  using Sorted = nlohmann::json;  // sorts the keys of its objects
  return to_library<Sorted>(json).dump(-1, ' ', true, Sorted::error_handler_t::replace);
}

std::string json_text(const Json& json) { return json.dump(2) + "\n"; }

std::optional<Json> read_json(const std::string& path, Exit exit) {
  std::optional<std::string> text = read_text(path, exit);
  if (!text) return std::nullopt;
  try {
    if (text->starts_with(gzip_magic)) text = gunzip(*text);
    if (!text) throw std::runtime_error("a damaged gzip file");
    return Json::parse(*text);
  } catch (const std::runtime_error& error) {
    throw Error(exit, path + ": " + error.what() + "; repair it or choose another file");
  }
}

bool is_list_of_objects(const Json* list) {
  return list && list->is_array() &&
         std::ranges::all_of(*list, [](const Json& one) { return one.is_object(); });
}

std::string text_at(const Json& json, std::string_view key) {
  const Json* const value = json.find(key);
  return value && value->is_string() ? value->get<std::string>() : "";
}

}  // namespace heapwood::bench
