// SPDX-License-Identifier: MIT
// The hash table that replaces boundary tags: live blocks by device address. For .cpp files only.
#pragma once

#include <tsl/robin_map.h>

#include <cstddef>
#include <cstdint>

namespace heapwood::host_alloc {

// Addresses are multiples of 256, and the table uses the lowest bits of the hash: Fibonacci hashing
// (Knuth 6.4) moves the highest bits down.
struct AddressHash {
  std::size_t operator()(std::uintptr_t address) const {
    const std::uint64_t product = static_cast<std::uint64_t>(address) * 0x9E3779B97F4A7C15u;
    return static_cast<std::size_t>(product >> 32 ^ product);
  }
};

// At most half full. Initially has space for some thousand blocks, so that it rarely grows during a
// request.
template <class Value>
class AddressTable : public tsl::robin_map<std::uintptr_t, Value, AddressHash> {
 public:
  AddressTable() {
    this->max_load_factor(0.5f);
    this->reserve(4096);
  }
};

}  // namespace heapwood::host_alloc
