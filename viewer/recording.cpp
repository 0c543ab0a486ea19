// SPDX-License-Identifier: MIT
#include "viewer/recording.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "alloc/recording/trace_file.hpp"
#include "bench/program/command_files.hpp"
#include "bench/replay_bench.hpp"
#include "bench/results/format.hpp"
#include "simt/memory.hpp"
#include "viewer/theme.hpp"
#include "workloads/program_trace/replay.hpp"

namespace heapwood::viewer {

Recording::Recording(std::string scene_name, const registry::RegisteredAllocator& entry,
                     std::string device_key, std::uint64_t pool,
                     std::span<const alloc::RecordedEvent> lines)
    : scene(std::move(scene_name)),
      allocator(entry.traits->id),
      label(entry.traits->label),
      device(std::move(device_key)),
      frees(entry.traits->frees),
      in_pool(entry.traits->in_pool),
      pool_bytes(pool),
      events_in_all(lines.size()),
      builder_(frees, in_pool ? pool : 0) {
  note_point();
  for (const alloc::RecordedEvent& line : lines) add(line);
  if (points.back().time != events) note_point();
}

Recording::Recording(std::string scene_name, const registry::RegisteredAllocator& entry,
                     std::string device_key, std::uint64_t pool, const kdtree::RecordedRun& run)
    : Recording(std::move(scene_name), entry, std::move(device_key), pool,
                std::span<const alloc::RecordedEvent>(run.events)) {
  events_in_all = run.events_in_all;
  regions = run.regions;
  requests = run.instrumented.requests;
}

std::vector<Recording::Point>::const_iterator Recording::after(std::uint32_t time) const {
  return std::ranges::upper_bound(points, time, {}, &Point::time);
}

const Recording::Point& Recording::at(std::uint32_t time) const {
  const auto found = after(time);
  return found == points.begin() ? *found : *std::prev(found);
}

void Recording::add(const alloc::RecordedEvent& line) {
  using Kind = alloc::RecordedEvent::Kind;
  const workloads::Block* freed =
      line.kind() == Kind::free ? builder_.in_use_at(line.offset()) : nullptr;
  if (freed) used_ -= freed->bytes;
  builder_.add(line);
  if (line.kind() == Kind::allocate) {
    used_ += line.bytes;
    high_water_bytes = std::max(high_water_bytes, used_);
    reach = std::max(reach, line.offset() + line.bytes);
  }
  if (++events % stride_ == 0) note_point();
}

void Recording::note_point() {
  points.push_back({events, builder_.gaps(), used_, high_water_bytes});
  if (points.size() <= 2 * min_points) return;
  // Keeps every second point, from the first to the last: their number is odd.
  for (std::size_t i = 1; 2 * i < points.size(); ++i) points[i] = points[2 * i];
  points.resize(min_points + 1);
  stride_ *= 2;
}

const Recording::Point& Recording::tightest() const {
  return *std::ranges::min_element(points, {},
                                   [](const Point& point) { return point.pool.largest_gap_bytes; });
}

std::string Recording::time_text(std::uint32_t time) const {
  return fmt::format("event {} of {}", bench::count_text(time), bench::count_text(events));
}

namespace {

using alloc::RecordedEvent;
using alloc::TraceEvent;

// A limit: each event takes 16 bytes on the host, and each block a record of its lifetime.
constexpr std::size_t max_trace_events = std::size_t{24} << 20;

// Throws Error{Exit::usage} for an allocator that cannot serve a trace from the pool.
void check_fits(const alloc::AllocatorTraits& traits, std::uint64_t pool) {
  if (!traits.keeps_live_memory)
    throw Error(Exit::usage, fmt::format("{}: may hand out memory in use; choose another allocator",
                                         traits.label));
  if (!traits.in_pool)
    throw Error(
        Exit::usage,
        fmt::format("{}: has its blocks outside the pool; choose another allocator", traits.label));
  if (pool < traits.smallest_pool)
    throw Error(Exit::usage, fmt::format("{}: needs a pool of at least {}", traits.label,
                                         bench::bytes_text(traits.smallest_pool)));
}

std::string warning_of(const alloc::ProgramTrace& trace) {
  std::string text;
  const auto add = [&](std::uint64_t count, const char* what) {
    if (count > 0)
      text += fmt::format("{}{} {}", text.empty() ? "" : "; ", bench::count_text(count), what);
  };
  add(trace.dropped, "events at the end were not recorded");
  add(trace.unmatched, "frees of blocks from before the recording are left out");
  add(trace.refused, "refused requests are left out");
  return text;
}

alloc::ProgramTrace read_trace(const std::string& path) {
  const std::optional<std::string> file = bench::read_text(path, Exit::scene);
  if (!file) throw Error(Exit::scene, path + ": no such file; --record-trace writes traces");
  alloc::ProgramTrace trace = alloc::read_program_trace(*file, path);
  if (trace.requests == 0) throw Error(Exit::scene, path + ": the trace has no requests");
  if (trace.events.size() > max_trace_events)
    throw Error(Exit::scene, fmt::format("{}: {} events are too many for a heap map (at most {})",
                                         path, bench::count_text(trace.events.size()),
                                         bench::count_text(max_trace_events)));
  return trace;
}

}  // namespace

bool is_program_trace(const std::string& path) {
  if (path.ends_with(".trace")) return true;
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;
  std::ifstream file(path, std::ios::binary);
  std::string magic(alloc::trace_file::magic.size(), 0);
  file.read(magic.data(), static_cast<std::streamsize>(magic.size()));
  return file && magic == alloc::trace_file::magic;
}

TraceRecorder::TraceRecorder(const std::string& path, const bench::PoolSize& pool,
                             const Allocators& allocators, const simt::DeviceInfo& device,
                             double seconds)
    : name_(std::filesystem::path(path).stem().string()),
      device_(device),
      seconds_(seconds),
      trace_(read_trace(path)) {
  warning_ = warning_of(trace_);
  bench::ReplayBench bench;
  bench.summary = workloads::summarize(trace_);
  bench.allocators = allocators;
  bench.device = device;
  pool_bytes_ = bench::pool_bytes(bench, pool);
}

std::shared_ptr<const Recording> TraceRecorder::record(
    const registry::RegisteredAllocator& entry) const {
  check_fits(*entry.traits, pool_bytes_);
  // One thread serves all requests, in their order.
  alloc::ProgramTrace serial = trace_;
  for (TraceEvent& event : serial.events) {
    event.warp = 0;
    event.lane = 0;
  }
  const workloads::ReplayPlan plan = workloads::plan_replay(serial, {});
  workloads::ReplayData data(device_.id, plan);
  const simt::Memory pool(device_.id, pool_bytes_);
  workloads::ReplayJob job;
  job.device = device_.id;
  job.pool = {pool.data(), pool.bytes()};
  job.plan = &plan;
  job.data = &data;
  job.seconds = seconds_;
  job.options = entry.options;
  const workloads::ReplayResult result = bench::compiled_for(entry, device_).replay(job);
  const std::vector<std::uint64_t> blocks = data.blocks.download();

  const auto base = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(pool.data()));
  std::vector<RecordedEvent> events;
  events.reserve(trace_.events.size());
  for (const TraceEvent& event : trace_.events) {
    const std::uint64_t address = blocks[event.request];
    if (address == workloads::ReplayBlock::refused || address == workloads::ReplayBlock::unserved)
      continue;
    const bool frees = event.kind == TraceEvent::Kind::free;
    events.push_back(RecordedEvent::make(
        frees ? RecordedEvent::Kind::free : RecordedEvent::Kind::allocate, 0, event.warp,
        (address - base) / alloc::granule, frees ? 0 : std::uint64_t{event.bytes}));
  }
  auto recording = std::make_shared<Recording>(name_, entry, device_.key, pool_bytes_, events);
  recording->is_trace = true;
  recording->requests.allocations = trace_.requests - result.refused;
  recording->requests.failures = result.refused;
  return recording;
}

namespace {

gl::Rgba8 mix(gl::Rgba8 a, gl::Rgba8 b, double share) {
  const auto one = [&](unsigned x, unsigned y) {
    return static_cast<std::uint8_t>(std::lround(x + (static_cast<double>(y) - x) * share));
  };
  return {one(a.r, b.r), one(a.g, b.g), one(a.b, b.b), 255};
}

}  // namespace

HeapMap::HeapMap(const Recording& recording, std::uint32_t time_index, unsigned wide, unsigned high,
                 std::uint64_t shown)
    : columns(std::max(wide, 1u)),
      rows(std::max(high, 1u)),
      bytes(std::max<std::uint64_t>(shown, 1)),
      time(time_index) {
  const std::uint64_t count = std::uint64_t{columns} * rows;
  cell_bytes = alloc::round_up((bytes + count - 1) / count, alloc::granule);
  cells.resize(count);
  for (const workloads::Block& block : recording.blocks()) {
    if (block.born >= time) break;
    const std::uint64_t end = std::min(block.offset + block.bytes, bytes);
    if (block.offset >= end) continue;
    const bool used = block.in_use(time), abandoned = !used && block.occupies(time);
    for (std::uint64_t c = block.offset / cell_bytes; c <= (end - 1) / cell_bytes; ++c) {
      HeapCell& cell = cells[c];
      cell.touched = true;
      if (!used && !abandoned) continue;
      const std::uint64_t part =
          std::min(end, (c + 1) * cell_bytes) - std::max(block.offset, c * cell_bytes);
      (used ? cell.used_bytes : cell.abandoned_bytes) += part;
    }
  }
  measure(recording);
}

void HeapMap::measure(const Recording& recording) {
  std::vector<std::array<std::uint64_t, 2>> taken;  // begin and end of each block
  std::uint64_t limit = 0;
  for (const workloads::Block& block : recording.blocks()) {
    if (block.born >= time) break;
    const std::uint64_t end = block.offset + alloc::padded(block.bytes);
    limit = std::max(limit, end);
    if (!block.occupies(time)) continue;
    taken.push_back({block.offset, end});
    taken_bytes += block.bytes;
  }
  taken_blocks = taken.size();
  if (!std::ranges::is_sorted(taken)) std::ranges::sort(taken);
  limit = std::min(limit, recording.pool_bytes);
  taken.push_back({limit, limit});
  std::uint64_t free_from = 0;
  for (const auto& [begin, end] : taken) {
    if (begin > free_from && begin - free_from > hole_bytes) {
      hole_begin = free_from;
      hole_bytes = begin - free_from;
    }
    free_from = std::max(free_from, end);
  }
}

std::vector<gl::Rgba8> HeapMap::colours(gl::Rgba8 used) const {
  std::vector<gl::Rgba8> result(cells.size(), colour::outside);
  for (std::size_t i = 0; i < cells.size() && i * cell_bytes < bytes; ++i) {
    const HeapCell& cell = cells[i];
    const gl::Rgba8 ground = cell.touched ? colour::freed : colour::untouched;
    const double taken = static_cast<double>(cell.used_bytes + cell.abandoned_bytes) /
                         static_cast<double>(cell_bytes);
    const gl::Rgba8 mark = cell.used_bytes >= cell.abandoned_bytes ? used : colour::abandoned;
    // A cell that has even the smallest part of a block is visibly different.
    result[i] = taken > 0 ? mix(ground, mark, std::min(1.0, 0.25 + 0.75 * taken)) : ground;
  }
  return result;
}

HeapMap::Run HeapMap::hole_cells() const {
  const std::uint64_t end = std::min(hole_begin + hole_bytes, bytes);
  const std::uint64_t first = (hole_begin + cell_bytes - 1) / cell_bytes;
  // The last cell may extend beyond the bytes that are shown.
  const std::uint64_t last = end == bytes ? (end + cell_bytes - 1) / cell_bytes : end / cell_bytes;
  return last > first ? Run{first, last - first} : Run{};
}

const workloads::Block* first_block(const Recording& recording, std::uint32_t time,
                                    std::uint64_t begin, std::uint64_t end) {
  const workloads::Block* first = nullptr;
  for (const workloads::Block& block : recording.blocks()) {
    if (block.born >= time) break;
    const bool inside = block.offset < end && begin < block.offset + alloc::padded(block.bytes);
    if (inside && block.occupies(time) && (!first || block.offset < first->offset)) first = &block;
  }
  return first;
}

void HeapView::show(std::vector<std::shared_ptr<const Recording>> latest) {
  clear();
  recordings = std::move(latest);
  playing = true;
  place = 0;
}

void HeapView::toggle_play() {
  if (!playing && (place >= 1 || place == played_to_)) place = 0;
  playing = !playing;
}

void HeapView::play(double seconds) {
  if (!playing || recordings.empty()) return;
  place = std::min(place + seconds / seconds_to_play, 1.0);
  playing = place < 1;
  played_to_.reset();
  if (playing) return;
  const Recording& first = *recordings.front();
  if (first.points.back().used_bytes == 0) place = first.place_of(first.tightest().time);
  played_to_ = place;
}

void HeapView::go_to_worst() {
  if (recordings.empty()) return;
  playing = false;
  place = recordings.front()->place_of(recordings.front()->tightest().time);
}

std::uint64_t HeapView::shown_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& recording : recordings) {
    if (recording->in_pool)
      bytes = std::max(bytes, std::min(recording->reach, recording->pool_bytes));
  }
  return bytes;
}

}  // namespace heapwood::viewer
