// SPDX-License-Identifier: MIT
#include "viewer/live.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bench/results/format.hpp"

namespace heapwood::viewer {

void LiveTimes::add(const LiveSample& sample) {
  samples_.push_back(sample);
  if (samples_.size() > window) samples_.pop_front();
  std::vector<double> ms;
  for (const LiveSample& one : samples_) {
    if (one.complete) ms.push_back(one.ms);
  }
  if (ms.empty()) return;
  median_ = *bench::median(ms);
  low_ = *bench::quantile(ms, 0.1);
  high_ = *bench::quantile(ms, 0.9);
}

std::string slower_text(double factor) {
  if (factor < 1.1) return fmt::format("is {:.1f}% slower", 100 * (factor - 1));
  if (factor < 1.5) return fmt::format("is {:.0f}% slower", 100 * (factor - 1));
  return fmt::format("takes {:.{}f} times as long", factor, factor < 10 ? 1 : 0);
}

std::uint64_t tightest_hole(const Recording& recording) {
  std::uint64_t tightest = ~std::uint64_t{0};
  for (const Recording::Point& point : recording.points)
    tightest = std::min(tightest, point.pool.largest_gap_bytes);
  return tightest;
}

PairedFrames paired_frames(const LiveTimes& side, const LiveTimes& other) {
  PairedFrames frames;
  auto one = other.samples().begin();
  for (const LiveSample& sample : side.samples()) {
    while (one != other.samples().end() && one->frame < sample.frame) ++one;
    if (one == other.samples().end()) break;
    if (one->frame != sample.frame || !one->complete || !sample.complete) continue;
    ++frames.all;
    frames.slower += sample.ms > one->ms;
  }
  return frames;
}

LiveVerdict judge(const LiveSide& a, const LiveSide& b) {
  using Kind = LiveVerdict::Kind;
  LiveVerdict verdict;
  const LiveSide* sides[] = {&a, &b};
  if (a.times.exhausted() || b.times.exhausted()) {
    verdict.kind = Kind::exhausted;
    verdict.slower = a.times.exhausted() ? 0 : 1;
    const LiveSide& full = *sides[verdict.slower];
    verdict.text = a.times.exhausted() && b.times.exhausted()
                       ? "Both pools are exhausted"
                       : std::string(full.label()) + ": pool exhausted";
    const std::uint64_t refused = full.times.samples().back().refused_bytes;
    verdict.detail = fmt::format("A request of {} was refused", bench::bytes_text(refused));
    const bool known = full.recording && full.recording->in_pool;
    const std::uint64_t hole = known ? tightest_hole(*full.recording) : 0;
    verdict.detail +=
        !known ? "."
        : hole < refused
            ? fmt::format(": the largest hole of the pool is {} at the tightest moment.",
                          bench::bytes_text(hole))
            : fmt::format(
                  " despite a largest hole of {}: headers, alignment or a fixed division "
                  "of the pool prevent its use.",
                  bench::bytes_text(hole));
    return verdict;
  }
  if (std::min(a.times.samples().size(), b.times.samples().size()) < LiveTimes::min_to_rank) {
    verdict.text = "Measuring ...";
    verdict.detail =
        fmt::format("{} of {} frames", std::min(a.times.samples().size(), b.times.samples().size()),
                    LiveTimes::min_to_rank);
    return verdict;
  }
  verdict.slower = a.times.median() > b.times.median() ? 0 : 1;
  const LiveTimes &slow = sides[verdict.slower]->times, &fast = sides[1 - verdict.slower]->times;
  verdict.factor = fast.median() > 0 ? slow.median() / fast.median() : 1;
  const PairedFrames frames = paired_frames(slow, fast);
  const std::string label = sides[verdict.slower]->label(),
                    share = fmt::format("{} of {} frames", frames.slower, frames.all);
  if (frames.slower * 10 < frames.all * 9 || frames.slower == 0) {
    verdict.kind = Kind::noisy;
    verdict.text = "Too noisy to rank";
    verdict.detail = fmt::format("The medians differ by {:.1f}%, but {} is slower in only {}.",
                                 100 * (verdict.factor - 1), label, share);
    if (a.allocator == b.allocator)
      verdict.detail = "The same allocator on both sides: what differs is noise.";
    return verdict;
  }
  verdict.kind = Kind::ranked;
  verdict.text = fmt::format("{} {}", label, slower_text(verdict.factor));
  verdict.detail =
      fmt::format("{} against {} ms per build, slower in {}", bench::figure_text(slow.median()),
                  bench::figure_text(fast.median()), share);
  return verdict;
}

void LiveView::take(const LiveEvent& event) {
  LiveSide& side = sides[event.side];
  choice = event.choice;
  switch (event.kind) {
    case LiveEvent::Kind::restarted:
      side = {};
      side.allocator = event.allocator;
      pool_bytes = event.pool_bytes;
      moves = event.moves;
      compared = different = 0;
      show_recordings();
      break;
    case LiveEvent::Kind::recording:
      side.recording = event.recording;
      show_recordings();
      break;
    case LiveEvent::Kind::sample: {
      side.times.add(event.sample);
      frames = std::max(frames, event.sample.frame + 1);
      const auto& others = sides[1 - event.side].times.samples();
      if (!event.sample.complete || others.empty() || !others.back().complete ||
          others.back().frame != event.sample.frame)
        break;
      ++compared;
      different += others.back().hash != event.sample.hash;
      break;
    }
  }
}

double LiveView::trace_ms() const {
  std::vector<double> ms;
  for (const LiveSample& sample : sides[0].times.samples()) {
    if (sample.trace_ms > 0) ms.push_back(sample.trace_ms);
  }
  return bench::median(ms).value_or(0);
}

double LiveView::frames_per_second() const {
  double rate = 0;
  for (const LiveSide& side : sides) {
    const auto& samples = side.times.samples();
    if (samples.size() < 2) continue;
    // Only the last 30 frames count: before that the window may have been frozen.
    const LiveSample& first = samples[samples.size() > 30 ? samples.size() - 30 : 0];
    const double seconds = samples.back().seconds - first.seconds;
    if (seconds > 0)
      rate = std::max(rate, static_cast<double>(samples.back().frame - first.frame) / seconds);
  }
  return rate;
}

void LiveView::show_recordings() {
  const double place = heap.place;
  heap.clear();
  heap.place = place;
  for (const LiveSide& side : sides) {
    if (side.recording) heap.recordings.push_back(side.recording);
  }
}

}  // namespace heapwood::viewer
