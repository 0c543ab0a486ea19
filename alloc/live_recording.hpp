// SPDX-License-Identifier: MIT
// A recording that somebody watches while it is written, and holds up so that one can see it. Only on devices whose memory
// the host reads while a kernel runs, so on the CPU: elsewhere nothing is ever there to read, and nothing waits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <vector>

#include "alloc/recording.hpp"
#include "simt/atomic_ref.hpp"

namespace heapwood::alloc {

class LiveRecording {
 public:
  // Where a watcher is.
  struct Place {
    unsigned round = 0;  // builds begin anew where their output arrays were too small
    std::size_t line = 0;
  };

  // The build's side. `lines` are zero when they are opened; a line is there once its word is not 0.
  void open(RecordedEvent* lines, std::size_t capacity) {
    const std::lock_guard lock(mutex_);
    lines_ = lines;
    capacity_ = capacity;
    ++round_;
  }
  void close() {
    const std::lock_guard lock(mutex_);
    lines_ = nullptr;
  }
  // Lines from this number on wait.
  std::uint64_t* held_from() { return &held_from_; }

  // The watcher's side, from any thread.
  void hold_from(std::uint64_t line) {
    // relaxed: it only says how far to go.
    simt::atomic_ref<std::uint64_t>(held_from_).store(line, simt::relaxed);
  }
  // Appends up to `most` lines behind the watcher's place, without gaps. False, and nothing else, where a new round has
  // begun: what was read before is void.
  bool read(Place& place, std::size_t most, std::vector<RecordedEvent>& into) {
    const std::lock_guard lock(mutex_);  // the lines stay where they are meanwhile
    if (place.round != round_) {
      const bool first = place.round == 0;
      place = {round_, 0};
      if (!first) return false;
    }
    if (lines_ == nullptr) return true;
    for (const std::size_t end = std::min(capacity_, place.line + most); place.line < end; ++place.line) {
      RecordedEvent& line = lines_[place.line];
      // acquire: its bytes were written before its word.
      const std::uint64_t word = simt::atomic_ref<std::uint64_t>(line.word).load(simt::acquire);
      if (word == 0) break;
      into.push_back(line);
    }
    return true;
  }

 private:
  std::mutex mutex_;
  RecordedEvent* lines_ = nullptr;
  std::size_t capacity_ = 0;
  unsigned round_ = 0;
  std::uint64_t held_from_ = ~std::uint64_t{0};
};

}  // namespace heapwood::alloc
