// SPDX-License-Identifier: MIT
#include "bench/build_profile.hpp"

#include <algorithm>

#include "bench/bench_runner.hpp"
#include "bench/program/messages.hpp"
#include "bench/results/format.hpp"

namespace heapwood::bench {

namespace {

using kdtree::Phase;
using kdtree::phase_count;

double ms_of(std::uint64_t ns) { return 1e-6 * static_cast<double>(ns); }

// The time of all warps in a bucket: the bucket's length times the warps; the last one is shorter.
double capacity_ns(const kdtree::BuildProfile& profile, unsigned bucket) {
  const std::uint64_t begin = bucket * profile.bucket_ns,
                      end = std::min(begin + profile.bucket_ns, profile.wall_ns());
  return static_cast<double>(end - begin) * profile.run.warps;
}

unsigned buckets(const kdtree::BuildProfile& profile) {
  const std::uint64_t used =
      (profile.wall_ns() + profile.bucket_ns - 1) / std::max<std::uint64_t>(1, profile.bucket_ns);
  return static_cast<unsigned>(std::min<std::uint64_t>(used, kdtree::profile_buckets));
}

Json phases_json(const kdtree::BuildProfile& profile) {
  const auto all = static_cast<double>(std::max<std::uint64_t>(1, profile.lifetime_ns()));
  Json json = Json::array();
  for (unsigned i = 0; i < phase_count; ++i) {
    const auto phase = static_cast<Phase>(i);
    const std::uint64_t ns = profile.phase_ns(phase);
    json.push_back({{"phase", kdtree::name(phase)},
                    {"warp_ms", ms_of(ns)},
                    {"share", static_cast<double>(ns) / all},
                    {"visits", profile.phase_visits(phase)}});
  }
  return json;
}

// Time per level of the tree. Leaves out phases that belong to no node.
Json levels_json(const kdtree::BuildProfile& profile) {
  Json json = Json::array();
  for (unsigned level = 0; level + 1 < kdtree::profile_levels; ++level) {
    const std::uint64_t* const ns = profile.sums.ns + level * phase_count;
    if (std::all_of(ns, ns + phase_count, [](std::uint64_t value) { return value == 0; })) continue;
    Json of = Json::object(), visits = Json::object();
    for (unsigned i = 0; i < phase_count; ++i) {
      if (ns[i] == 0) continue;
      of[kdtree::name(static_cast<Phase>(i))] = ms_of(ns[i]);
      visits[kdtree::name(static_cast<Phase>(i))] = profile.sums.visits[level * phase_count + i];
    }
    json.push_back({{"depth", level}, {"warp_ms", std::move(of)}, {"visits", std::move(visits)}});
  }
  return json;
}

// For each time bucket the share of the warps that are in each phase.
Json timeline_json(const kdtree::BuildProfile& profile) {
  Json json{{"bucket_ms", ms_of(profile.bucket_ns)}};
  for (unsigned i = 0; i < phase_count; ++i) {
    Json shares = Json::array();
    for (unsigned bucket = 0; bucket < buckets(profile); ++bucket) {
      const double share =
          static_cast<double>(profile.sums.by_time[bucket][i]) / capacity_ns(profile, bucket);
      shares.push_back(std::round(share * 1e5) / 1e5);
    }
    json["shares"][kdtree::name(static_cast<Phase>(i))] = std::move(shares);
  }
  return json;
}

Json waits_json(const kdtree::BuildProfile& profile) {
  Json json = Json::array();
  for (unsigned i = 0; i < kdtree::wait_buckets; ++i) {
    if (profile.sums.waits[i] != 0)
      json.push_back({{"below_ns", std::uint64_t{1} << i}, {"number", profile.sums.waits[i]}});
  }
  return json;
}

}  // namespace

bool can_profile(const Allocator& entry, const simt::DeviceInfo& device) {
  const registry::CompiledAllocator* compiled = entry.on(device.id.kind);
  return compiled && compiled->build_profiled;
}

void check_profile(const BuildSettings& settings, const Allocator& entry,
                   const simt::DeviceInfo& device) {
  if (settings.refs != kdtree::RefKind::clipped)
    throw Error(Exit::usage, "--profile needs --refs clipped");
  if (!can_profile(entry, device))
    throw_error(Exit::usage,
                "--profile: {} has no kernel with a probe: use heapwood or atomic, "
                "or build with -DHEAPWOOD_PROBES=ON",
                entry.traits->id);
}

double share_of_calls(const kdtree::BuildProfile& profile) {
  const std::uint64_t work = profile.lifetime_ns() - profile.phase_ns(Phase::wait),
                      calls = profile.phase_ns(Phase::allocate) + profile.phase_ns(Phase::free);
  return work == 0 ? 0 : static_cast<double>(calls) / static_cast<double>(work);
}

std::optional<double> share_of_build(const ProfiledBuild& built) {
  const std::optional<double> with = median(built.runs_ms), without = median(built.without_cost_ms);
  if (!with || !without || *with <= 0) return std::nullopt;
  return 1 - *without / *with;
}

ProfiledBuild profile_build(PreparedScene& scene, const Allocator& entry,
                            const BuildSettings& settings,
                            const std::function<void(const std::string&)>& announce) {
  ProfiledBuild built;
  built.scene = scene.name();
  built.triangles = scene.triangles();
  built.set_allocator(*entry.traits);
  built.status = Status::ok;
  announce(scene.name() + ": builds without the probe");
  scene.build_growing(entry);  // a warm-up
  kdtree::NoCostBuilder without_cost(scene.workspace().mesh(), scene.build_options());
  for (int run = 0; run < settings.runs; ++run) {
    built.runs_ms.push_back(scene.build_growing(entry).ms);
    built.without_cost_ms.push_back(without_cost.build().ms);
  }
  built.pool_bytes = scene.pool_bytes();
  announce(scene.name() + ": profile");
  const kdtree::BuildOptions options = scene.build_options();
  built.profile = scene.prepare(entry).build_profiled(scene.workspace(), options);
  if (built.profile->run.incomplete) {
    built.status = Status::incomplete;
    built.reason = "the pool is exhausted and the tree is incomplete";
  }
  return built;
}

Json to_json(ProfiledBuild built) {
  Json json{{"scene", built.scene},
            {"triangles", built.triangles},
            {"pool_bytes", built.pool_bytes},
            {"runs_ms", built.runs_ms}};
  JsonFields fields(json);
  describe_allocator(fields, built);
  describe_outcome(fields, built);
  put(json, "median_ms", median(built.runs_ms));
  Json& share = json["allocator_share"];
  share["without_cost_ms"] = built.without_cost_ms;
  put(share, "of_build", share_of_build(built));
  if (!built.profile) return json;
  const kdtree::BuildProfile& profile = *built.profile;
  share["of_work"] = share_of_calls(profile);
  json["warps"] = profile.run.warps;
  json["incomplete"] = profile.run.incomplete;
  json["profiled_ms"] = profile.run.ms;
  json["wall_ms"] = ms_of(profile.wall_ns());
  json["warp_ms"] = ms_of(profile.lifetime_ns());
  json["phases"] = phases_json(profile);
  json["levels"] = levels_json(profile);
  json["timeline"] = timeline_json(profile);
  json["waits"] = waits_json(profile);
  return json;
}

}  // namespace heapwood::bench
