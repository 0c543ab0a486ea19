// SPDX-License-Identifier: MIT
// The history of a whole recording.
#pragma once

#include <span>

#include "workloads/block_history.hpp"

namespace heapwood::workloads {

inline BlockHistory block_history(std::span<const alloc::RecordedEvent> events,
                                  alloc::Frees frees) {
  HistoryBuilder builder(frees, 0);
  for (const alloc::RecordedEvent& event : events) builder.add(event);
  return builder.history();
}

}  // namespace heapwood::workloads
