// SPDX-License-Identifier: MIT
// The JSON of reports and settings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "bench/program/out_of_memory.hpp"

namespace heapwood::bench {

// Reads integers only from integers that fit their type. The library converts any number, and the
// conversion of one that does not fit is undefined; files may have been edited.
template <class T, class = void>
struct JsonSerializer : nlohmann::adl_serializer<T> {};

template <class T>
struct JsonSerializer<T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>>> {
  template <class AnyJson>
  static void to_json(AnyJson& json, T value) {
    nlohmann::to_json(json, value);
  }
  // Throws std::out_of_range.
  template <class AnyJson>
  static void from_json(const AnyJson& json, T& value) {
    const auto read = [&](auto number) {
      if (!std::in_range<T>(number)) reject(json);
      value = static_cast<T>(number);
    };
    if (const auto* const number =
            json.template get_ptr<const typename AnyJson::number_unsigned_t*>()) {
      read(*number);
    } else if (const auto* const number =
                   json.template get_ptr<const typename AnyJson::number_integer_t*>()) {
      read(*number);
    } else {
      reject(json);
    }
  }

 private:
  template <class AnyJson>
  [[noreturn]] static void reject(const AnyJson& json) {
    throw std::out_of_range("expected an integer that fits, found " +
                            (json.is_number() ? json.dump() : std::string(json.type_name())));
  }
};

// Lack of memory for a value ends the process with one line: the library (3.11.2) gives a value its
// type before it has memory, and its destructor then follows a null pointer.
template <class T>
struct JsonAllocator : std::allocator<T> {
  JsonAllocator() = default;
  template <class U>
  JsonAllocator(const JsonAllocator<U>&) {}
  template <class U>
  struct rebind {
    using other = JsonAllocator<U>;
  };
  T* allocate(std::size_t n) {
    const LackOfMemoryEnds end;
    return std::allocator<T>::allocate(n);
  }
};

// Keys stay in insertion order.
using Json =
    nlohmann::basic_json<nlohmann::ordered_map, std::vector, std::string, bool, std::int64_t,
                         std::uint64_t, double, JsonAllocator, JsonSerializer>;

}  // namespace heapwood::bench
