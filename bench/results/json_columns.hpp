// SPDX-License-Identifier: MIT
// CSV of a report: which keys of its results are the columns of a table.
#pragma once

#include <string>

#include "bench/results/json.hpp"
#include "bench/results/table.hpp"

namespace heapwood::bench {

// One row per result or, if `list` is the key of a list in it, one per element of that list and one
// for a result without elements. `columns` are separated by white space:
//
//   reason                          the value at this key; empty if there is none
//   held=memory/peak/held_bytes     a title, and a path of keys; -1 is the last element of a list
//   batch=.batch  pass=@            of the element; its number, from 1
//   samples=runs_ms#  reset_ms~     the number of samples; their median
//   rounds|1                        1 if there is none
//   refused?median_ms  id!name      only if the result has median_ms; only if it has no name
//
// Numbers have six significant digits, integers all; booleans are yes and no.
Table table_of_json(const Json& results, const std::string& columns, const char* list = "");

}  // namespace heapwood::bench
