// SPDX-License-Identifier: MIT
// Requests of the build, and the state of the pool.
#include "viewer/panels.hpp"

namespace heapwood::viewer {

namespace {

// Histogram of request sizes, one bar per power of two.
void plot_histogram(State& state, const alloc::RequestStats& requests) {
  std::size_t first = requests.histogram.size(), last = 0;
  std::uint64_t maximum = 1;
  for (std::size_t k = 0; k < requests.histogram.size(); ++k) {
    if (requests.histogram[k] == 0) continue;
    first = std::min(first, k);
    last = std::max(last, k);
    maximum = std::max(maximum, requests.histogram[k]);
  }
  if (first > last) return;
  const float em = ImGui::GetFontSize(), height = em * 5;
  const ui::Plot plot(state, "histogram", {ImGui::GetContentRegionAvail().x, em * 6.25f});
  const ImVec2 at = plot.at;
  const auto bars = static_cast<float>(last - first + 1);
  for (std::size_t k = first; k <= last; ++k) {
    const float left = at.x + plot.size.x * static_cast<float>(k - first) / bars;
    const float right = left + plot.size.x / bars - 2;
    const float share = static_cast<float>(requests.histogram[k]) / static_cast<float>(maximum);
    const bool under = plot.has_mouse_between_x(left, right + 2);
    ui::fill({left, at.y}, {right, at.y + height}, ui::white(under ? 16 : 6), 2);
    ui::fill({left, at.y + height * (1 - std::max(share, requests.histogram[k] ? 0.015f : 0.0f))},
             {right, at.y + height},
             under ? IM_COL32(150, 226, 174, 255) : IM_COL32(104, 196, 134, 230), 2);
    if ((k - first) % std::max<std::size_t>(1, static_cast<std::size_t>(bars) / 5) == 0) {
      const std::string text = bench::bytes_text(std::uint64_t{1} << k);
      const std::string trimmed =
          text.substr(0, text.find('.')) +
          (text.find('.') == std::string::npos ? "" : text.substr(text.find(' ')));
      // The last label ends with the bars.
      ui::text_at({std::min(left, plot.end.x - ui::width_of(trimmed)), at.y + height + 2}, trimmed,
                  ImGui::GetColorU32(ImGuiCol_TextDisabled));
    }
    if (under) {
      ImGui::SetTooltip("%s requests of up to %s", bench::count_text(requests.histogram[k]).c_str(),
                        bench::bytes_text(std::uint64_t{1} << k).c_str());
    }
  }
}

// Figures over the build, from a recording of the same allocator.
void draw_worst(State& state) {
  const auto& recordings = state.heap.recordings;
  const auto found = std::find_if(recordings.begin(), recordings.end(), [&](const auto& recording) {
    return recording->finished && recording->in_pool && !recording->in_rounds() &&
           !recording->is_trace && state.scene && recording->scene == state.scene->name &&
           recording->allocator == state.built->allocator;
  });
  if (found == recordings.end())
    return ui::dim_text("'Heap map' shows fragmentation over the build.");
  const Recording& recording = **found;
  const auto worst = [&](auto value) {
    return *std::max_element(recording.points.begin(), recording.points.end(),
                             [&](const auto& a, const auto& b) { return value(a) < value(b); });
  };
  const auto row = [&](const char* label, const std::string& figure, const Recording::Point& at,
                       const char* hint) {
    ui::row(label, fmt::format("{} at event {}", figure, bench::count_text(at.time)), hint);
  };
  if (!ui::begin_rows("over the build")) return;
  const Recording::Point external = worst([](const auto& p) { return p.pool.external_below(); });
  row("worst external", bench::figure_text(external.pool.external_below()), external,
      "Of the recorded build: the share of free bytes outside the largest hole, below the highest "
      "address reached so far.");
  const Recording::Point internal = worst([](const auto& p) { return p.internal.value_or(-1); });
  if (internal.internal) {
    row("worst internal", bench::figure_text(*internal.internal), internal,
        "Of the recorded build: mean of (served - requested) / served over blocks in use, served "
        "estimated as the smallest distance to the next block.");
  }
  ui::row("reached",
          fmt::format("{}, {} free below", bench::bytes_text(recording.reach),
                      bench::bytes_text(recording.points.back().pool.below_bytes)),
          "Highest address of a block, and what was free below it after the build.");
  ImGui::EndTable();
}

}  // namespace

void draw_allocations_section(State& state) {
  if (!ui::section("Allocations")) return;
  if (!state.built || !state.built->requests)
    return ui::dim_text("Press Build (B) to count requests.");
  const alloc::RequestStats& requests = *state.built->requests;
  if (ui::begin_rows("allocations")) {
    ui::row("requests", bench::count_text(requests.allocations));
    ui::row("freed", requests.deallocations == requests.allocations
                         ? "all"
                         : bench::count_text(requests.deallocations));
    if (requests.failures)
      ui::row("refused", bench::count_text(requests.failures), nullptr, colour::warning);
    ui::row("mean size", fmt::format("{} B, σ {} B", bench::figure_text(requests.mean_bytes),
                                     bench::figure_text(requests.sigma_bytes)));
    ImGui::EndTable();
  }
  plot_histogram(state, requests);
}

void draw_memory_section(State& state) {
  if (!ui::section("Memory")) return;
  if (!state.built || !state.built->requests)
    return ui::dim_text("Press Build (B) for these figures.");
  if (!ui::begin_rows("memory")) return;
  const bench::Result& built = *state.built;
  if (built.pool_bytes) {
    ui::row("pool", bench::bytes_text(*built.pool_bytes));
    ui::row(
        "high-water mark",
        fmt::format("{}, {:.1f}% of the pool", bench::bytes_text(built.requests->high_water_bytes),
                    100.0 * static_cast<double>(built.requests->high_water_bytes) /
                        static_cast<double>(std::max<std::uint64_t>(*built.pool_bytes, 1))),
        "Maximum of requested bytes in use at once.");
  }
  if (built.at_end && built.at_end->measured) {
    const alloc::Fragmentation& end = *built.at_end;
    ui::row("external frag.", bench::figure_text(end.external),
            "After the build: 1 - largest free region / all free memory. RegEff section 8.");
    ui::row("internal frag.",
            end.internal ? bench::figure_text(*end.internal) : std::string("–, no block is in use"),
            "After the build: mean of (size - requested) / size over regions in use. RegEff "
            "section 8.");
    ui::row("largest free", fmt::format("{} of {}", bench::bytes_text(end.largest_free_bytes),
                                        bench::bytes_text(end.free_bytes)));
    if (end.metadata_bytes)
      ui::row("tables", bench::bytes_text(end.metadata_bytes),
              "The allocator's tables in the pool.");
  } else {
    ui::row("fragmentation", "unknown", "This allocator's blocks are outside the pool.");
  }
  if (built.workspace_bytes) ui::row("outside the pool", bench::bytes_text(*built.workspace_bytes));
  ImGui::EndTable();
  draw_worst(state);
}

}  // namespace heapwood::viewer
