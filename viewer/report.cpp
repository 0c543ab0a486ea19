// SPDX-License-Identifier: MIT

#include <numeric>

#include "bench/program/command_files.hpp"
#include "bench/results/json_report.hpp"
#include "viewer/comparison.hpp"
#include "viewer/widgets.hpp"

namespace heapwood::viewer {

namespace {

using bench::Json;

Json heap_json(const HeapView& view) {
  Json list = Json::array();
  for (std::size_t i = 0; i < view.recordings.size() && i < 2; ++i) {
    const Recording& r = *view.recordings[i];
    const std::uint32_t time = view.time(r);
    std::uint64_t used = 0;
    for (const workloads::Block& block : r.blocks()) used += block.in_use(time) ? block.bytes : 0;
    Json regions = Json::array();
    for (const alloc::Region& region : r.regions) {
      if (region.state == alloc::Region::State::used)
        regions.push_back({region.offset, region.bytes});
    }
    const Recording::Point& point = r.at(time);
    Json json = {{"allocator", r.allocator},
                 {"events", r.events},
                 {"time", time},
                 {"used_bytes", used},
                 {"requests", r.requests.allocations},
                 {"unmatched_frees", r.history().unmatched_frees},
                 {"overlaps", r.history().overlaps},
                 {"used_regions_at_end", regions},
                 {"pool_bytes", r.pool_bytes},
                 {"refused", r.requests.failures},
                 {"scene", r.scene},
                 {"points", r.points.size()}};
    if (r.in_pool) {
      json["mark_bytes"] = point.pool.mark_bytes;
      json["largest_below_bytes"] = point.pool.largest_below_bytes;
    }
    const HeapView::Drawn& drawn = view.drawn[i];
    if (drawn.map) {
      json["columns"] = drawn.map->columns;
      json["rows"] = drawn.map->rows;
      json["cell_bytes"] = drawn.map->cell_bytes;
      json["area"] = drawn.area;
      Json colours = Json::array();
      for (const gl::Rgba8 c : drawn.map->colours()) colours.push_back(c.r << 16 | c.g << 8 | c.b);
      json["colours"] = colours;
    }
    list.push_back(json);
  }
  return list;
}

}  // namespace

void write_report(const State& state, const std::string& path) {
  Json json;
  json["schema"] = "heapwood.view/1";
  json["scene"] = state.scene ? Json(state.scene->source) : Json();
  json["camera"] =
      render::to_string(state.camera, state.scene ? state.scene->mesh.origin : Vec3d{});
  json["mode"] = render::name(state.mode);
  json["material"] = state.clay ? "clay" : "scene";
  json["panel"] = state.show.panel;
  json["help"] = state.help;
  json["scale"] = ImGui::GetFontSize() / 15;
  json["samples"] = state.picture.status().samples;
  json["frames_per_second"] = state.frames.last_second_fps;
  const std::deque<double>& ms = state.frames.cpu_ms;
  json["frame_cpu_ms"] =
      ms.empty()
          ? Json()
          : Json(std::accumulate(ms.begin(), ms.end(), 0.0) / static_cast<double>(ms.size()));
  json["messages"] = Json::array();
  for (const Message& message : state.messages) json["messages"].push_back(message.text);
  std::vector<bench::Result> results = state.compared;
  if (state.built) results.push_back(*state.built);
  json["bench"] = bench::bench_report({}, state.choice.device, results);
  json["table"] = Json::array();
  json["comparing"] = is_running(state, JobSpec::Kind::compare);
  for (const CompareRow& row : compare_rows(state.compared, json["comparing"].get<bool>())) {
    json["table"].push_back({row.allocator, row.ms, row.slowdown, row.address, row.best});
  }
  if (const char* clipboard = ImGui::GetClipboardText()) json["clipboard"] = clipboard;
  json["chosen"] = {state.choice.allocator->traits->id,
                    state.choice.other ? state.choice.other->traits->id : ""};
  json["tab"] = name(state.tab);
  json["light"] = state.show.light;
  json["fly"] = state.show.fly;
  json["live"] = {{"frames", state.live.frames},
                  {"compared", state.live.compared},
                  {"different", state.live.different},
                  {"frozen", state.live.frozen},
                  {"problem", state.live.problem},
                  {"pool_bytes", state.live.pool_bytes},
                  {"moves", state.live.moves},
                  {"frames_per_second", state.live.frames_per_second()},
                  {"pool", state.choice.pools[1].size.text},
                  {"in_step", state.live.in_step},
                  {"sides", Json::array()}};
  // Medians of the parts of a frame in milliseconds.
  const auto [build_a, build_b, rays, rest] = state.live.parts();
  json["live"]["frame_ms"] = {
      {"build_a", build_a}, {"build_b", build_b}, {"rays", rays}, {"everything_else", rest}};
  for (const LiveSide& side : state.live.sides) {
    json["live"]["sides"].push_back(
        {{"allocator", side.allocator ? side.allocator->traits->id : ""},
         {"samples", side.times.samples().size()},
         {"frame", side.times.samples().empty() ? 0 : side.times.samples().back().frame},
         {"exhausted", side.times.exhausted()}});
  }
  json["texts"] = state.places.texts;
  json["hint"] = ui::shown_hint();
  json["places"] = Json::object();  // x and y of each widget's centre, and its width
  for (const auto& [name, centre] : state.places.centre)
    json["places"][name] = {centre[0], centre[1], state.places.width.at(name)};
  json["popup"] = ImGui::IsPopupOpen("", ImGuiPopupFlags_AnyPopup);
  json["path"] = state.choice.path_text;
  json["heap"] = heap_json(state.heap);
  json["heap_place"] = state.heap.place;
  json["heap_playing"] = state.heap.playing;
  json["tree"] = {{"visible", state.tree.visible}, {"depth", state.tree.depth}};
  if (state.node.shown) {
    const NodeExplanation& node = *state.node.shown;
    json["node"] = {
        {"depth", node.depth()}, {"leaf", node.leaf}, {"refs", node.refs}, {"left", node.left}};
  }
  json["lesson"] = state.lesson.step ? Json(*state.lesson.step + 1) : Json();
  if (state.probe.path) {
    const RayPath& ray = *state.probe.path;
    json["ray"] = {{"steps", ray.inner_steps + ray.leaves.size()},
                   {"tests", ray.tests},
                   {"hit", ray.hit.found()}};
  }
  bench::OutputFile(path).write(bench::json_text(json));
}

}  // namespace heapwood::viewer
