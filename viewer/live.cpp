// SPDX-License-Identifier: MIT
#include "viewer/live.hpp"

#include <fmt/format.h>

#include <chrono>

#include "bench/results/format.hpp"

namespace heapwood::viewer {

void LiveTimes::add(const LiveSample& sample) {
  samples_.push_back(sample);
  if (samples_.size() > window) samples_.pop_front();
  if (sample.complete) latest_.insert_or_assign(sample.frame % period_, sample);
  std::vector<double> ms;
  for (const LiveSample& one : samples_) {
    if (one.complete) ms.push_back(one.ms);
  }
  if (ms.empty()) return;
  median_ = *bench::median(ms);
  low_ = *bench::quantile(ms, 0.1);
  high_ = *bench::quantile(ms, 0.9);
}

const LiveSample* LiveTimes::latest_like(const LiveSample& sample) const {
  const auto found = latest_.find(sample.frame % period_);
  return found == latest_.end() ? nullptr : &found->second;
}

double LiveTimes::median_of(double LiveSample::*figure) const {
  std::vector<double> values;
  for (const LiveSample& sample : samples_) {
    if (sample.*figure > 0) values.push_back(sample.*figure);
  }
  return bench::median(values).value_or(0);
}

std::string slower_text(double factor) {
  if (factor < 1.1) return fmt::format("is {:.1f}% slower", 100 * (factor - 1));
  if (factor < 1.5) return fmt::format("is {:.0f}% slower", 100 * (factor - 1));
  return fmt::format("takes {:.{}f} times as long", factor, factor < 10 ? 1 : 0);
}

PairedFrames paired_frames(const LiveTimes& side, const LiveTimes& other) {
  PairedFrames frames;
  std::vector<double> ms, other_ms, ratios, differences;
  for (const auto& [key, sample] : side.latest()) {
    const LiveSample* const one = other.latest_like(sample);
    if (!one) continue;
    ++frames.all;
    frames.slower += sample.ms > one->ms;
    ms.push_back(sample.ms);
    other_ms.push_back(one->ms);
    ratios.push_back(one->ms > 0 ? sample.ms / one->ms : 1);
    differences.push_back(sample.ms - one->ms);
  }
  frames.ms = bench::median(ms).value_or(0);
  frames.other_ms = bench::median(other_ms).value_or(0);
  frames.ratio = bench::median(ratios).value_or(1);
  frames.difference_ms = bench::median(differences).value_or(0);
  return frames;
}

LiveVerdict judge(const LiveSide& a, const LiveSide& b, const LiveTimes& reference) {
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
    if (full.recording && full.recording->in_pool) {
      const std::uint64_t hole = full.recording->largest_request();
      verdict.detail += (hole < refused ? ": the pool's largest hole shrinks to "
                                        : ": headers, alignment or a fixed division of the pool "
                                          "prevent the use of its largest hole, ") +
                        bench::bytes_text(hole);
    }
    verdict.detail += ".";
    return verdict;
  }
  PairedFrames frames = paired_frames(a.times, b.times);
  if (frames.all < LiveTimes::min_to_rank) {
    verdict.text = "Measuring ...";
    verdict.detail = fmt::format("{} of {} frames", frames.all, LiveTimes::min_to_rank);
    return verdict;
  }
  verdict.slower = frames.ratio > 1 ? 0 : 1;
  const LiveSide &slow = *sides[verdict.slower], &fast = *sides[1 - verdict.slower];
  if (verdict.slower == 1) frames = paired_frames(b.times, a.times);
  verdict.factor = frames.ratio;
  verdict.ms[verdict.slower] = frames.ms;
  verdict.ms[1 - verdict.slower] = frames.other_ms;
  // What a build takes longer than AtomicMalloc's, which only increments a counter.
  for (std::size_t side = 0; side < 2; ++side) {
    const PairedFrames atomic = paired_frames(sides[side]->times, reference);
    if (atomic.all > 0) verdict.allocation_ms[side] = std::max(0.0, atomic.difference_ms);
  }
  const std::string share = fmt::format("{} of {} frames", frames.slower, frames.all);
  if (frames.slower * 10 < frames.all * 9 || frames.slower == 0) {
    verdict.kind = Kind::noisy;
    verdict.text = "Too noisy to rank";
    verdict.detail = fmt::format("{} is {:.1f}% slower by the median, but in only {}.",
                                 slow.label(), 100 * (verdict.factor - 1), share);
    if (a.allocator == b.allocator)
      verdict.detail = "The same allocator on both sides: what differs is noise.";
    return verdict;
  }
  verdict.kind = Kind::ranked;
  verdict.text = fmt::format("{} {}", slow.label(), slower_text(verdict.factor));
  verdict.detail =
      fmt::format("{} against {} ms per build, slower in {}", bench::figure_text(frames.ms),
                  bench::figure_text(frames.other_ms), share);
  if (std::ranges::min(verdict.allocation_ms) < 0) return verdict;
  const auto cost = [&](std::size_t side) {
    return fmt::format("{:.2g} of {:.3g} ms", verdict.allocation_ms[side], verdict.ms[side]);
  };
  verdict.detail = fmt::format("{}: {}. {}, in {}.", fast.label(), cost(1 - verdict.slower),
                               verdict.text, share);
  verdict.text = fmt::format("{}: allocation takes {}", slow.label(), cost(verdict.slower));
  return verdict;
}

void LiveView::take(const LiveEvent& event) {
  choice = event.choice;
  if (event.side == 2) return reference.add(event.sample);
  LiveSide& side = sides[event.side];
  switch (event.kind) {
    case LiveEvent::Kind::restarted:
      moves = event.period > 0;
      side = {event.allocator, LiveTimes(moves ? event.period : LiveTimes::window), {}};
      reference = side.times;
      pool_bytes = event.pool_bytes;
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
      const LiveSample* const other = sides[1 - event.side].times.latest_like(event.sample);
      if (!event.sample.hash || !other || !other->hash) break;
      ++compared;
      different += other->hash != event.sample.hash;
      break;
    }
  }
}

double LiveView::frames_per_second(std::size_t side) const {
  const auto& samples = sides[side].times.samples();
  if (samples.size() < 2) return 0;
  // Only the last 30 frames count: before that the window may have been frozen.
  const LiveSample& first = samples[samples.size() > 30 ? samples.size() - 30 : 0];
  const double seconds = samples.back().seconds - first.seconds;
  return seconds > 0 ? static_cast<double>(samples.back().frame - first.frame) / seconds : 0;
}

std::array<double, 4> LiveView::parts() const {
  const LiveTimes &a = sides[0].times, &b = sides[1].times;
  const auto both = [&](double LiveSample::*figure) {
    return a.median_of(figure) + b.median_of(figure);
  };
  return {a.median(), b.median(), both(&LiveSample::trace_ms), both(&LiveSample::other_ms)};
}

double LiveView::slowed_by_others() const {
  double share = 1;
  for (const LiveSide& side : sides) {
    if (side.times.samples().size() < LiveTimes::min_to_rank) return 1;
    share = std::min(share, side.times.median_of(&LiveSample::cpu_share));
  }
  return share > 0 && share < 0.6 ? 1 / share : 1;
}

void LiveView::show_recordings() {
  const double place = heap.place;
  heap.clear();
  heap.place = place;
  for (const LiveSide& side : sides) {
    if (side.recording) heap.recordings.push_back(side.recording);
  }
}

void LiveLink::choose(const LiveAllocators& allocators) {
  const std::lock_guard lock(mutex_);
  wish_.allocators = allocators;
  ++choice_;
}

void LiveLink::show(const View& view) {
  const std::lock_guard lock(mutex_);
  if (view == wish_.view) return;
  wish_.view = view;
  ++wish_.view_number;
  changed_.notify_all();
}

bool LiveLink::has_refined_view() const {
  const std::lock_guard lock(mutex_);
  return refined_view_ == wish_.view_number;
}

std::uint64_t LiveLink::choice() const {
  const std::lock_guard lock(mutex_);
  return choice_;
}

std::vector<LiveEvent> LiveLink::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(events_, {});
}

void LiveLink::begin() {
  const std::lock_guard lock(mutex_);
  stop_ = false;
  events_.clear();
  wish_.view = {};
}

std::optional<LiveWish> LiveLink::next_frame(std::uint64_t view_number, bool refines) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] {
    return stop_ || !wish_.frozen || refines || (view_number && view_number != wish_.view_number);
  });
  if (stop_) return std::nullopt;
  taken_choice_ = choice_;
  return wish_;
}

void LiveLink::publish(LiveEvent event) {
  const std::lock_guard lock(mutex_);
  event.choice = taken_choice_;
  events_.push_back(std::move(event));
}

bool LiveLink::begin_drawing(double seconds) {
  std::unique_lock lock(mutex_);
  drawing_ = true;
  return changed_.wait_for(lock, std::chrono::duration<double>(seconds),
                           [&] { return !building_; });
}

void LiveLink::begin_build() {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::duration<double>(max_drawing_seconds),
                    [&] { return !drawing_ || stop_; });
  building_ = true;
}

void LiveLink::wait(double seconds) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return stop_; });
}

}  // namespace heapwood::viewer
