// SPDX-License-Identifier: MIT
// The keys of a JSON object, listed once for writing and for reading:
//
//   void describe(JsonFields& fields, PoolAfterFrame& pool) {
//     fields("frame", pool.frame);
//     fields.finite("external_fragmentation_merged", pool.state.external_merged);
//   }
//
// Reading throws std::exception if a key that is always written is missing, or if a value has
// another type.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "bench/results/json.hpp"
#include "bench/results/table.hpp"

namespace heapwood::bench {

class JsonFields {
 public:
  explicit JsonFields(Json& written) : written_(&written) {}
  explicit JsonFields(const Json& read) : read_(&read) {}

  bool reads() const { return read_ != nullptr; }
  // Reading: whether the object has this key. Writing: returns `present`.
  bool has(const char* key, bool present) const { return reads() ? read_->contains(key) : present; }

  // Reading: the value at a key that needs other handling.
  const Json& raw(const char* key) const { return read_->at(key); }

  template <class T>
  void operator()(const char* key, T& value) {
    if (reads())
      value = read_->at(key).get<T>();
    else
      (*written_)[key] = value;
  }
  // The key is absent if there is no value, or a double is not finite: JSON cannot express it.
  template <class T>
  void optional(const char* key, std::optional<T>& value) {
    if (!has(key, value && is_finite(*value))) return;
    if (reads()) value.emplace();
    (*this)(key, *value);
  }
  // The key is absent if the value is T{}: 0, "", no samples.
  template <class T>
  void unless_empty(const char* key, T& value) {
    if (has(key, value != T{})) return (*this)(key, value);
    if (reads()) value = T{};
  }
  // The key is absent if the value is not finite.
  void finite(const char* key, double& value) {
    if (has(key, is_finite(value))) (*this)(key, value);
  }

  // A value that follows from others; it is written and not read.
  void derived(const char* key, Json value) {
    if (!reads()) put(*written_, key, std::move(value));
  }
  void derived_quartiles(const std::vector<double>& ms);  // "median_ms", "q1_ms", "q3_ms"

  // A value that is stored by its name, which set() reads.
  void named(const char* key, std::string name, const std::function<void(const std::string&)>& set);
  // One of the values `all`, stored by its name; reading throws if there is none of this name.
  template <class T>
  void one_of(const char* key, T& value, std::initializer_list<T> all, const char* (*name_of)(T)) {
    named(key, name_of(value), [&](const std::string& text) {
      for (const T one : all) {
        if (text == name_of(one)) return void(value = one);
      }
      throw std::invalid_argument("unknown value '" + text + "'");
    });
  }
  // Hashes of 16 hexadecimal digits; the key is absent if there are none.
  void hashes(const char* key, std::vector<std::uint64_t>& values);

  // An object whose keys are listed by describe(JsonFields&, T&).
  template <class T>
  void object(const char* key, T& part) {
    within(key, [&](JsonFields& fields) { describe(fields, part); });
  }
  template <class T>
  void object(const char* key, std::optional<T>& part) {
    if (!has(key, part.has_value())) return;
    if (!part) part.emplace();
    object(key, *part);
  }
  void within(const char* key, const std::function<void(JsonFields&)>& describe_part);
  template <class T>
  void list(const char* key, std::vector<T>& parts) {
    each(
        key, parts.size(), [&](std::size_t count) { parts.resize(count); },
        [&](JsonFields& fields, std::size_t i) { describe(fields, parts[i]); });
  }

 private:
  template <class T>
  static bool is_finite(const T& value) {
    if constexpr (std::is_floating_point_v<T>) return std::isfinite(value);
    return true;
  }
  void each(const char* key, std::size_t count, const std::function<void(std::size_t)>& resize,
            const std::function<void(JsonFields&, std::size_t)>& describe_part);

  Json* written_ = nullptr;
  const Json* read_ = nullptr;
};

// The value as JSON, by describe(JsonFields&, T&).
template <class T>
Json described(T value) {
  Json json;
  JsonFields fields(json);
  describe(fields, value);
  return json;
}
template <class T>
T read_described(const Json& json) {
  T value;
  JsonFields fields(json);
  describe(fields, value);
  return value;
}

// Makes a table with one row per result. If `list` is the key of a list in the results, there is
// one row per element of that list, and one for a result without elements. `columns` are separated
// by white space:
//
// reason                          the value at this key; empty if there is none
// held=memory/peak/held_bytes     a title, and a path of keys; -1 is the last element of a list
// batch=.batch  pass=@            a key of the element; the element's number, from 1
// samples=runs_ms#  reset_ms~     the number of samples; their median
// rounds|1                        1 if there is no value
// refused?median_ms  id!name      only if the result has median_ms; only if it has no name
//
// Numbers have six significant digits, integers all; booleans are yes and no.
Table table_of_json(const Json& results, const std::string& columns, const char* list = "");

}  // namespace heapwood::bench
