// SPDX-License-Identifier: MIT
// A recording that is observed while it is written, and that the observer can pause. Only on
// devices whose memory the host can read while a kernel runs, that is, on the CPU. On other devices
// nothing can be read and nothing waits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <vector>

#include "alloc/primitives/word.hpp"
#include "alloc/recording/recording.hpp"

namespace heapwood::alloc {

class LiveRecording {
 public:
  // The position of an observer.
  struct Place {
    unsigned round = 0;  // builds are repeated if their output arrays were too small
    std::size_t line = 0;
  };

  // The build's side. `lines` are zero when opened; an event has been written once its word is not
  // 0.
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
  // Threads wait before events from this number on.
  std::uint64_t* held_from() { return &held_from_; }

  // The observer's side, from any thread.
  void hold_from(std::uint64_t line) {
    // relaxed: only a limit.
    Word64(held_from_).store(line, simt::relaxed);
  }
  // Appends up to `max_events` events after the observer's position, without gaps. Returns false,
  // without any events, if a new round has begun: everything read before is invalid.
  bool read(Place& place, std::size_t max_events, std::vector<RecordedEvent>& into) {
    const std::lock_guard lock(mutex_);  // the buffer stays valid meanwhile
    if (place.round != round_) {
      const bool first = place.round == 0;
      place = {round_, 0};
      if (!first) return false;
    }
    if (lines_ == nullptr) return true;
    for (const std::size_t end = std::min(capacity_, place.line + max_events); place.line < end;
         ++place.line) {
      RecordedEvent& line = lines_[place.line];
      // acquire: its bytes were written before its word.
      const std::uint64_t word = Word64(line.word).load(simt::acquire);
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
