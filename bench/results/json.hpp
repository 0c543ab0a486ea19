// SPDX-License-Identifier: MIT
// JSON values. Only json.cpp includes the library for their text, which takes seconds to compile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "simt/error.hpp"

namespace heapwood::bench {

template <class T>
concept JsonNumber = std::is_arithmetic_v<T> && !std::is_same_v<T, char>;
template <class T>
concept JsonList = requires(const T& list) {
  list.begin();
  list.size();
}
&&!std::is_convertible_v<T, std::string_view>;
template <class T>
concept JsonKey = std::is_convertible_v<const T&, std::string_view>;

// A key and its value. A template, because Json is still incomplete here.
template <class Value>
struct JsonEntry {
  std::string key;
  Value value;
  bool operator==(const JsonEntry&) const = default;
};

// A JSON value. It is made from numbers, text and containers, and converts to them. Because files
// may have been edited, reading a value of another type throws std::invalid_argument; reading a
// missing key, or a number that does not fit an integer type, throws std::out_of_range.
class Json {
 public:
  using Entry = JsonEntry<Json>;

  Json(std::nullptr_t = nullptr) {}
  template <JsonNumber T>
  Json(T value) {
    if constexpr (std::is_same_v<T, bool>)
      value_ = value;
    else if constexpr (std::is_floating_point_v<T>)
      value_ = static_cast<double>(value);
    else if (std::cmp_less(value, 0))
      value_ = static_cast<std::int64_t>(value);
    else
      value_ = static_cast<std::uint64_t>(value);
  }
  Json(const char* text) : value_(std::string(text)) {}
  Json(std::string text) : value_(std::move(text)) {}
  template <JsonList T>
  Json(const T& list) {
    if constexpr (requires { typename T::mapped_type; }) {
      *this = object();
      for (const auto& [key, value] : list) (*this)[key] = value;
    } else {
      *this = array();
      for (const auto& one : list) push_back(one);
    }
  }
  template <class T>
  Json(const std::optional<T>& value) {
    if (value) *this = Json(*value);
  }
  // Makes an object if all elements are pairs of text and a value, otherwise a list.
  Json(std::initializer_list<Json> values);
  static Json array(std::initializer_list<Json> values = {});
  static Json object();

  Json(const Json&);
  Json(Json&&) noexcept;
  Json& operator=(const Json&);
  Json& operator=(Json&&) noexcept;
  ~Json();

  // Throws std::runtime_error, "line 3: not valid JSON", also if the nesting is deeper than that of
  // any file of this program.
  static Json parse(const std::string& text);
  // Writes the value with `indent` spaces per level, or on one line. `ascii`: escapes all other
  // characters, because names from files may contain some that control a terminal. Invalid UTF-8 is
  // replaced.
  std::string dump(std::optional<unsigned> indent = {}, bool ascii = true) const;

  bool is_null() const { return value_.index() == 0; }
  bool is_boolean() const { return std::holds_alternative<bool>(value_); }
  bool is_integer() const { return is_unsigned() || std::holds_alternative<std::int64_t>(value_); }
  bool is_unsigned() const { return std::holds_alternative<std::uint64_t>(value_); }
  bool is_number() const { return is_integer() || std::holds_alternative<double>(value_); }
  bool is_string() const { return std::holds_alternative<std::string>(value_); }
  bool is_array() const { return std::holds_alternative<std::vector<Json>>(value_); }
  bool is_object() const { return std::holds_alternative<Entries>(value_); }

  template <class T>
  T get() const {
    if constexpr (std::is_same_v<T, Json>) {
      return *this;
    } else if constexpr (std::is_same_v<T, bool>) {
      return as<bool>("a boolean");
    } else if constexpr (std::is_floating_point_v<T>) {
      return static_cast<T>(number());
    } else if constexpr (std::is_unsigned_v<T>) {
      return static_cast<T>(natural(std::numeric_limits<T>::max()));
    } else if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(integer(std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
    } else if constexpr (std::is_same_v<T, std::string>) {
      return as<std::string>("text");
    } else {
      T list{};
      if constexpr (requires { list.resize(1); }) list.resize(elements().size());
      for (std::size_t i = 0; i < list.size(); ++i) list[i] = at(i).get<typename T::value_type>();
      return list;
    }
  }
  template <class T>
  requires JsonNumber<T> || std::is_same_v<T, std::string> || requires(T list) { list.resize(1); }
  operator T() const { return get<T>(); }

  // Functions of objects, whose keys stay in the order of insertion; null becomes an object. find()
  // returns nullptr if there is no such key, or no object. Templates, because otherwise json["key"]
  // could also be an index into the text, with a Json converted to a number.
  template <JsonKey Key>
  Json& operator[](const Key& key) {
    return member(key);
  }
  template <JsonKey Key>
  const Json& operator[](const Key& key) const {
    return at(key);
  }
  const Json& at(std::string_view key) const;
  Json& at(std::string_view key) { return const_cast<Json&>(std::as_const(*this).at(key)); }
  const Json* find(std::string_view key) const;
  bool contains(std::string_view key) const { return find(key) != nullptr; }
  template <class T>
  T value(std::string_view key, const T& otherwise) const {
    const Json* const found = find(key);
    return found ? found->get<T>() : otherwise;
  }
  void erase(std::string_view key);
  void update(const Json& other);  // adds the keys of `other`; replaces existing ones
  const std::vector<Entry>& items() const { return as<Entries>("an object"); }

  // Functions of lists; null becomes a list. Other values have no elements to iterate over.
  const Json& operator[](std::size_t i) const { return at(i); }
  Json& operator[](std::size_t i) { return at(i); }
  const Json& at(std::size_t i) const { return elements().at(i); }
  Json& at(std::size_t i) { return const_cast<Json&>(std::as_const(*this).at(i)); }
  const Json& front() const { return at(0); }
  const Json& back() const { return at(size() - 1); }
  Json& back() { return at(size() - 1); }
  Json& push_back(Json value);  // returns the element
  const Json* begin() const;
  const Json* end() const;
  Json* begin() { return const_cast<Json*>(std::as_const(*this).begin()); }
  Json* end() { return const_cast<Json*>(std::as_const(*this).end()); }

  // The number of elements of an object or a list; 0 for null, 1 for others.
  std::size_t size() const;
  bool empty() const { return size() == 0; }

  bool is_finite() const;  // false: NaN or infinite

  // Compares numbers by value, and objects whatever the order of their keys.
  friend bool operator==(const Json& a, const Json& b);
  template <JsonNumber T>
  friend bool operator==(const Json& a, T b) {
    return a == Json(b);
  }
  friend std::ostream& operator<<(std::ostream& out, const Json& json);

 private:
  Json& member(std::string_view key);
  template <class T>
  const T& as(const char* expected) const {
    if (const T* const value = std::get_if<T>(&value_)) return *value;
    refuse_type(expected);
  }
  [[noreturn]] void refuse_type(const char* expected) const;
  double number() const;
  std::uint64_t natural(std::uint64_t max) const;
  std::int64_t integer(std::int64_t min, std::int64_t max) const;
  const std::vector<Json>& elements() const { return as<std::vector<Json>>("a list"); }

  // Derived from std::vector: for standard containers alone GCC 12 assumes that a copy never leaves
  // a variant without a value, and calls a wrong destructor if memory runs out in a copy.
  struct Entries : std::vector<Entry> {
    using std::vector<Entry>::vector;
  };
  std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string,
               std::vector<Json>, Entries>
      value_;
};

// Adds a figure, unless it was not measured (null) or is not finite, which JSON cannot express.
void put(Json& json, std::string_view key, Json value);

// A text that is equal for equal values.
std::string sorted_text(const Json& json);

// The text of a results file.
std::string json_text(const Json& json);

// Reads a file, also one compressed by gzip; nullopt if there is none. If it is not JSON, throws an
// Error with this exit code that names file and line.
std::optional<Json> read_json(const std::string& path, Exit exit = Exit::failed);

bool is_list_of_objects(const Json* list);  // false for nullptr
// The string at this key of an object, or "".
std::string text_at(const Json& json, std::string_view key);

}  // namespace heapwood::bench
