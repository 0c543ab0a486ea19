// SPDX-License-Identifier: MIT
#include "scenes/gltf_pose.hpp"

#include <algorithm>
#include <cmath>

namespace heapwood::scenes::gltf {
namespace {

double dot(const Quaternion& a, const Quaternion& b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
}

// Returns a unit quaternion; the identity if the length is 0.
Quaternion normalized(Quaternion q) {
  const double length = std::sqrt(dot(q, q));
  if (!(length > 0)) return {0, 0, 0, 1};
  for (double& c : q) c /= length;
  return q;
}

// Interpolates spherically by bisecting the arc: trigonometric functions differ between C
// libraries.
Quaternion slerp(Quaternion a, Quaternion b, double t) {
  a = normalized(a);
  b = normalized(b);
  if (dot(a, b) < 0) {
    for (double& c : b) c = -c;
  }
  if (t <= 0) return a;
  if (t >= 1) return b;
  for (unsigned i = 0; i < 30; ++i) {
    Quaternion middle;
    for (unsigned k = 0; k < 4; ++k) middle[k] = a[k] + b[k];
    middle = normalized(middle);
    t *= 2;
    if (t < 1) {
      b = middle;
    } else {
      a = middle;
      t -= 1;
    }
  }
  return a;
}

Affine local_of(const Node& node) {
  if (node.matrix) return affine_of(node.matrix->data());
  const auto [x, y, z, w] = normalized(node.rotation);
  Affine result;
  result.x =
      Vec3d{1 - 2 * (y * y + z * z), 2 * (x * y + z * w), 2 * (x * z - y * w)} * node.scale.x;
  result.y =
      Vec3d{2 * (x * y - z * w), 1 - 2 * (x * x + z * z), 2 * (y * z + x * w)} * node.scale.y;
  result.z =
      Vec3d{2 * (x * z + y * w), 2 * (y * z - x * w), 1 - 2 * (x * x + y * y)} * node.scale.z;
  result.origin = node.translation;
  return result;
}

}  // namespace

Affine operator*(const Affine& outer, const Affine& inner) {
  return {outer.turned(inner.x), outer.turned(inner.y), outer.turned(inner.z), outer(inner.origin)};
}

Clip::Clip(const AnimationInfo& info, Accessors& accessors) {
  for (const Channel& channel : info.channels) {
    Track track{channel, accessors.floats(channel.input, 1), {}, 0};
    float previous = 0;
    for (float& time : track.times) {
      const bool valid = time >= previous && time < 1e9f;
      has_moved_times_ = has_moved_times_ || !valid;
      previous = time = valid ? time : previous;
    }
    if (track.times.empty()) continue;
    const unsigned components = channel.path == Path::rotation  ? 4
                                : channel.path == Path::weights ? 1
                                                                : 3;
    track.values = accessors.floats(channel.output, components);
    const std::size_t keys =
        track.times.size() * (channel.interpolation == Interpolation::cubic ? 3 : 1);
    track.width = track.values.size() / keys;
    const bool complete =
        track.width * keys == track.values.size() &&
        (channel.path == Path::weights ? track.width > 0 : track.width == components);
    if (!complete) {
      accessors.fail("accessors[", channel.output, "]: ", track.values.size(), " values for ",
                     track.times.size(), " times");
    }
    for (float& value : track.values) value = std::isfinite(value) ? value : 0;
    duration_ = std::max(duration_, static_cast<double>(track.times.back()));
    tracks_.push_back(std::move(track));
  }
}

void Clip::sample(const Track& track, float seconds, std::vector<double>& value) const {
  const std::vector<float>& times = track.times;
  const auto above = std::upper_bound(times.begin(), times.end(), seconds);
  const std::size_t next =
      std::min<std::size_t>(static_cast<std::size_t>(above - times.begin()), times.size() - 1);
  const std::size_t key = above == times.begin() || above == times.end() ? next : next - 1;
  const double length = static_cast<double>(times[next]) - times[key];
  const double t = length > 0 ? (static_cast<double>(seconds) - times[key]) / length : 0;
  const bool cubic = track.channel.interpolation == Interpolation::cubic;
  // In a cubic spline a key has three parts: in-tangent, value, out-tangent.
  const auto values = [&](std::size_t k, std::size_t part) {
    return track.values.data() + (cubic ? 3 * k + part : k) * track.width;
  };
  const float* const a = values(key, 1);
  const float* const b = values(next, 1);
  value.resize(track.width);
  if (cubic) {
    const double t2 = t * t, t3 = t2 * t;
    const float *const out = values(key, 2), *const in = values(next, 0);
    for (std::size_t i = 0; i < track.width; ++i) {
      value[i] = (2 * t3 - 3 * t2 + 1) * a[i] + length * (t3 - 2 * t2 + t) * out[i] +
                 (-2 * t3 + 3 * t2) * b[i] + length * (t3 - t2) * in[i];
    }
  } else if (track.channel.interpolation == Interpolation::step) {
    value.assign(a, a + track.width);
  } else if (track.channel.path == Path::rotation) {
    const Quaternion q = slerp({a[0], a[1], a[2], a[3]}, {b[0], b[1], b[2], b[3]}, t);
    value.assign(q.begin(), q.end());
  } else {
    for (std::size_t i = 0; i < track.width; ++i) value[i] = a[i] + t * (b[i] - a[i]);
  }
}

void Clip::apply(double seconds, std::vector<Node>& nodes) const {
  const double clamped = seconds > 0 ? std::min(seconds, duration_) : 0;
  std::vector<double> v;
  for (const Track& track : tracks_) {
    Node& node = nodes[track.channel.node];
    sample(track, static_cast<float>(clamped), v);
    // glTF does not permit a matrix in an animated node, so it is dropped.
    node.matrix.reset();
    switch (track.channel.path) {
      case Path::translation:
        node.translation = {v[0], v[1], v[2]};
        break;
      case Path::scale:
        node.scale = {v[0], v[1], v[2]};
        break;
      case Path::rotation:
        node.rotation = {v[0], v[1], v[2], v[3]};
        break;
      case Path::weights:
        node.weights.assign(v.begin(), v.end());
        break;
    }
  }
}

Pose pose_at(const Document& document, const Clip* clip, double seconds) {
  std::vector<Node> moved;
  if (clip != nullptr) {
    moved = document.nodes;
    clip->apply(seconds, moved);
  }
  const std::vector<Node>& nodes = clip != nullptr ? moved : document.nodes;
  Pose pose;
  pose.globals.resize(nodes.size());
  for (const std::uint32_t i : document.order) {
    const Affine local = local_of(nodes[i]);
    const std::uint32_t parent = nodes[i].parent;
    pose.globals[i] = parent == none ? local : pose.globals[parent] * local;
  }
  for (const Node& node : nodes) pose.weights.push_back(node.weights);
  return pose;
}

}  // namespace heapwood::scenes::gltf
