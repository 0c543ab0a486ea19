// SPDX-License-Identifier: MIT
// The moving scene `explode`: the head of `statue` bursts into shards. Each shard is rigid, spins,
// falls, and comes to rest on the floor; shards do not touch each other. The poses of all frames
// are computed once.
#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "scenes/exact_math.hpp"
#include "scenes/moving/sources.hpp"
#include "scenes/random.hpp"
#include "scenes/shapes.hpp"
#include "simt/cpu.hpp"

namespace heapwood::scenes {
namespace {

constexpr Vec3 centre{0, 1.1f, 0.05f};  // centre of the explosion

struct Pose {
  Vec3 centre;
  float angle = 0;
};

struct Shard {
  std::uint32_t first = 0, end = 0;  // range of its vertices
  Vec3 centre, axis;
  float radius = 0;
};

// Height of the plinth or the floor under a point.
float ground(Vec3 p) {
  const float r2 = p.x * p.x + p.z * p.z;
  return r2 < 1.7f ? 0 : r2 < 2.2f ? -0.3f : r2 < 2.9f ? -0.42f : -0.8f;
}

class Explosion {
 public:
  explicit Explosion(const Request& request) : threads_(static_cast<int>(request.threads)) {
    still_ = make_statue(request);
    still_.camera = CameraHint{{-4.2f, 3.3f, 9.6f}, {0, 1.25f, 0}, 42};
    break_up(request);
    for (std::size_t i = 0; i < shards_.size(); ++i) fly(i, request.seed);
  }
  Mesh mesh(unsigned frame) const {
    Mesh mesh = still_;
    simt::Cpu({.threads = threads_}).for_each(shards_.size(), [&](std::size_t i) {
      const Shard& shard = shards_[i];
      const Pose& pose = poses_[std::size_t{frame} * shards_.size() + i];
      const float c = exact::cos(pose.angle), s = exact::sin(pose.angle);
      for (std::uint32_t v = shard.first; v < shard.end; ++v) {
        const Vec3 p = still_.vertices[v] - shard.centre, a = shard.axis;
        mesh.vertices[v] = pose.centre + p * c + cross(a, p) * s + a * (dot(a, p) * (1 - c));
      }
    });
    return mesh;
  }

 private:
  void break_up(const Request& request);
  void fly(std::size_t index, std::uint64_t seed);

  int threads_;
  Mesh still_;  // vertices of the plinth and the floor, then shard by shard
  std::vector<Shard> shards_;
  std::vector<Pose> poses_;  // poses of all frames, frame by frame
};

// Divides the head into shards: Voronoi cells of random points, one in each cell of a grid.
void Explosion::break_up(const Request& request) {
  constexpr float surface = 32;  // area of the head
  const double wanted = std::clamp(static_cast<double>(request.triangles) / 250, 40.0, 4000.0);
  const float cell = std::sqrt(surface / static_cast<float>(wanted));
  using Cell = std::tuple<std::int32_t, std::int32_t, std::int32_t>;
  const std::size_t count = still_.triangles.size();
  std::vector<Cell> cells(count);
  std::vector<std::uint8_t> bursts(count);
  simt::Cpu({.threads = threads_}).for_each(count, [&](std::size_t i) {
    const Triangle& t = still_.triangles[i];
    const Vec3 p =
        (still_.vertices[t.v[0]] + still_.vertices[t.v[1]] + still_.vertices[t.v[2]]) * (1 / 3.0f);
    bursts[i] = p.y > -0.002f && dot(p, p) < 36;
    if (!bursts[i]) return;
    const auto base = [&](float x) { return static_cast<std::int32_t>(std::floor(x / cell)); };
    float nearest = 1e30f;
    for (std::int32_t z = base(p.z) - 1; z <= base(p.z) + 1; ++z) {
      for (std::int32_t y = base(p.y) - 1; y <= base(p.y) + 1; ++y) {
        for (std::int32_t x = base(p.x) - 1; x <= base(p.x) + 1; ++x) {
          const auto word = [](std::int32_t k) { return static_cast<std::uint64_t>(k + 4096); };
          const std::uint64_t bits =
              mix((word(x) << 40 | word(y) << 20 | word(z)) ^ mix(request.seed));
          const Vec3 within{unit_float(bits), unit_float(bits << 20), unit_float(mix(bits))};
          const Vec3 site =
              (Vec3{static_cast<float>(x), static_cast<float>(y), static_cast<float>(z)} + within) *
              cell;
          const float distance = dot(p - site, p - site);
          if (distance < nearest) {
            nearest = distance;
            cells[i] = {x, y, z};
          }
        }
      }
    }
  });

  // Orders triangles and vertices by shard; a vertex of several shards is copied.
  std::map<Cell, std::vector<std::uint32_t>> members;
  Mesh broken;
  std::vector<std::uint32_t> copy(still_.vertices.size(), ~0u), copied;
  const auto add = [&](const Triangle& t) {
    Triangle moved;
    for (unsigned k = 0; k < 3; ++k) {
      std::uint32_t& index = copy[t.v[k]];
      if (index == ~0u) {
        index = static_cast<std::uint32_t>(broken.vertices.size());
        broken.vertices.push_back(still_.vertices[t.v[k]]);
        copied.push_back(t.v[k]);
      }
      moved.v[k] = index;
    }
    broken.triangles.push_back(moved);
  };
  const auto end_part = [&] {
    for (const std::uint32_t v : copied) copy[v] = ~0u;
    copied.clear();
  };
  for (std::uint32_t i = 0; i < count; ++i) {
    if (bursts[i])
      members[cells[i]].push_back(i);
    else
      add(still_.triangles[i]);
  }
  end_part();
  for (const auto& [cell_of_shard, triangles] : members) {
    Shard shard;
    shard.first = static_cast<std::uint32_t>(broken.vertices.size());
    for (const std::uint32_t i : triangles) add(still_.triangles[i]);
    end_part();
    shard.end = static_cast<std::uint32_t>(broken.vertices.size());
    Box box;
    for (std::uint32_t v = shard.first; v < shard.end; ++v) box.grow(broken.vertices[v]);
    shard.centre = box.centre();
    shard.radius = 0.5f * length(box.extent());
    shards_.push_back(shard);
  }
  still_.vertices = std::move(broken.vertices);
  still_.triangles = std::move(broken.triangles);
  poses_.resize(shards_.size() * procedural_frames);
}

void Explosion::fly(std::size_t index, std::uint64_t seed) {
  constexpr std::uint32_t steps_per_frame = 8;
  constexpr float step = 1.0f / static_cast<float>(steps_per_frame * frames_per_second);
  constexpr float gravity = 6, first_burst = 0.35f;  // seconds
  Shard& shard = shards_[index];
  Random random(seed * 0x51ed27 + index);
  const auto signed_unit = [&] { return random.uniform(-1, 1); };
  const Vec3 away = shard.centre - centre;
  const float distance = length(away);
  const Vec3 jitter{signed_unit(), signed_unit(), signed_unit()};
  const float speed = random.uniform(3.2f, 7.5f) / (0.9f + distance);
  Vec3 velocity = away * (speed / std::max(distance, 0.05f)) + jitter * 0.7f;
  velocity.y += random.uniform(0.8f, 3.2f);
  const Vec3 axis{signed_unit(), signed_unit(), signed_unit()};
  shard.axis = dot(axis, axis) > 1e-4f ? normalize(axis) : Vec3{0, 1, 0};
  float spin = random.uniform(1.5f, 8.0f);
  // The shock wave reaches far shards later.
  const float start = first_burst + 0.09f * distance;
  // A shard at rest lies flat, so its centre is lower than its radius.
  const float rest = 0.3f * shard.radius;

  Pose pose{shard.centre};
  for (unsigned frame = 0; frame < procedural_frames; ++frame) {
    poses_[frame * shards_.size() + index] = pose;
    for (unsigned k = 0; k < steps_per_frame; ++k) {
      if (static_cast<float>(frame * steps_per_frame + k) * step < start) continue;
      velocity.y -= gravity * step;
      pose.centre = pose.centre + velocity * step;
      pose.angle += spin * step;
      const float floor = ground(pose.centre) + rest;
      if (pose.centre.y >= floor || velocity.y > 0) continue;
      // A shard that moves below a step of the plinth is raised to it over several time steps.
      pose.centre.y = std::min(floor, pose.centre.y + 0.03f);
      const bool bounces = velocity.y < -0.8f;
      velocity = {velocity.x * 0.6f, bounces ? -0.32f * velocity.y : 0, velocity.z * 0.6f};
      spin *= bounces ? 0.55f : 0.7f;
    }
  }
}

}  // namespace

FrameMaker make_explosion(const Request& request) {
  return [scene = Explosion(request)](unsigned frame) { return scene.mesh(frame); };
}

}  // namespace heapwood::scenes
