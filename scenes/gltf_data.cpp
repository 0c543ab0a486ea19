// SPDX-License-Identifier: MIT
#include "scenes/gltf_data.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "scenes/exact_math.hpp"

namespace heapwood::scenes::gltf {

namespace {

constexpr std::size_t decoded_per_byte = 64, always_decoded = std::size_t{16} << 20;

std::size_t size_of(Component component) {
  if (component == Component::i8 || component == Component::u8) return 1;
  return component == Component::i16 || component == Component::u16 ? 2 : 4;
}

bool is_unsigned(Component component) {
  return component == Component::u8 || component == Component::u16 || component == Component::u32;
}

template <class T>
T value_at(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

float as_float(const std::byte* bytes, Component component, bool normalized) {
  const auto scaled = [&](float x, float largest) {
    return normalized ? std::max(x / largest, -1.0f) : x;
  };
  switch (component) {
    case Component::i8:
      return scaled(value_at<std::int8_t>(bytes), 127);
    case Component::u8:
      return scaled(value_at<std::uint8_t>(bytes), 255);
    case Component::i16:
      return scaled(value_at<std::int16_t>(bytes), 32767);
    case Component::u16:
      return scaled(value_at<std::uint16_t>(bytes), 65535);
    case Component::u32:
      return static_cast<float>(value_at<std::uint32_t>(bytes));
    case Component::f32:
      break;
  }
  return value_at<float>(bytes);
}

std::uint32_t as_integer(const std::byte* bytes, Component component) {
  return component == Component::u8    ? value_at<std::uint8_t>(bytes)
         : component == Component::u16 ? value_at<std::uint16_t>(bytes)
                                       : value_at<std::uint32_t>(bytes);
}

// Converts linear light to an 8-bit sRGB value.
std::uint32_t srgb_byte(float linear) {
  const float x = linear > 0 ? std::min(linear, 1.0f) : 0.0f;
  return byte_of(x <= 0.0031308f ? 12.92f * x : 1.055f * exact::pow(x, 1 / 2.4f) - 0.055f);
}

}  // namespace

Container split(std::span<const std::byte> file, const std::string& source) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (!text.starts_with("glTF")) return {text, {}};
  const auto fail = [&](const auto&... reason) {
    throw Error(Exit::scene, concat(source, ": ", reason...));
  };
  if (file.size() < 20) fail("the file ends in its header");
  if (const std::uint32_t version = value_at<std::uint32_t>(&file[4]); version != 2)
    fail("byte 4: glTF version ", version, " is not supported; expected 2");
  const std::size_t claimed = value_at<std::uint32_t>(&file[8]);
  if (claimed > file.size()) fail("byte 8: it claims ", claimed, " bytes, but has ", file.size());
  // Bytes after the claimed length do not belong to the model.
  file = file.first(std::max<std::size_t>(claimed, 12));
  Container container;
  std::size_t offset = 12;
  for (bool first = true; file.size() - offset >= 8; first = false) {
    const std::size_t length = value_at<std::uint32_t>(&file[offset]);
    const std::uint32_t type = value_at<std::uint32_t>(&file[offset + 4]);
    if (length > file.size() - offset - 8)
      fail("byte ", offset, ": a chunk claims ", length, " bytes, but ", file.size() - offset - 8,
           " follow");
    if (first && type != 0x4e4f534a) fail("byte 16: the first chunk is not JSON");
    if (first) container.json = text.substr(offset + 8, length);
    if (type == 0x004e4942 && container.binary.empty())
      container.binary = file.subspan(offset + 8, length);
    offset += 8 + length;
  }
  return container;
}

bool decode_data_uri(std::string_view uri, std::vector<std::byte>& bytes) {
  if (!uri.starts_with("data:")) return false;
  const std::size_t comma = uri.find(',');
  if (comma == uri.npos || !uri.substr(0, comma).ends_with(";base64")) return false;
  uri.remove_prefix(comma + 1);
  bytes.reserve(uri.size() / 4 * 3);
  constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::uint32_t word = 0;
  unsigned bits = 0;
  for (const char c : uri) {
    if (c == '=') break;
    // Also accepts '-' and '_', from the alphabet of RFC 4648, section 5.
    const std::size_t digit = digits.find(c == '-' ? '+' : c == '_' ? '/' : c);
    if (digit == digits.npos) return false;
    word = word << 6 | static_cast<std::uint32_t>(digit);
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes.push_back(static_cast<std::byte>(word >> bits & 255));
  }
  return true;
}

std::string decode_percent(std::string_view uri) {
  std::string result;
  for (std::size_t i = 0; i < uri.size(); ++i) {
    unsigned char byte = 0;
    if (uri[i] == '%' && i + 2 < uri.size() && parse_number(uri.substr(i + 1, 2), byte, 16)) {
      result += static_cast<char>(byte);
      i += 2;
    } else {
      result += uri[i];
    }
  }
  return result;
}

Accessors::Accessors(const Document& document, const Container& container, const std::string& path)
    : document_(document), source_(printable(path, path.size())) {
  const CompanionFiles companions(path);
  std::map<std::string, std::span<const std::byte>> known;
  std::size_t bytes_read = container.json.size() + container.binary.size();
  for (std::size_t i = 0; i < document.buffers.size(); ++i) {
    const BufferInfo& buffer = document.buffers[i];
    const std::string place = concat("buffers[", i, "]: ");
    std::span<const std::byte> bytes;
    if (buffer.uri.empty()) {
      bytes = container.binary;
    } else if (buffer.uri.starts_with("data:")) {
      if (!decode_data_uri(buffer.uri, decoded_.emplace_back()))
        fail(place, "its data URI is not valid base64");
      bytes = decoded_.back();
    } else {
      const std::string name = decode_percent(buffer.uri);
      try {
        const std::string found = companions.find(name);
        if (const auto old = known.find(found); old != known.end()) {
          bytes = old->second;
        } else {
          bytes = files_.emplace_back(read_file(found)).bytes();
          bytes_read += bytes.size();
          known[found] = bytes;
        }
      } catch (const simt::Stopped&) {
        throw;
      } catch (const Error& error) {
        fail(place, error.what());
      }
    }
    if (bytes.size() < buffer.bytes)
      fail(place, "it claims ", buffer.bytes, " bytes, but has ", bytes.size());
    buffers_.push_back(bytes.first(buffer.bytes));
  }
  memory_limit_ = always_decoded + decoded_per_byte * bytes_read;
}

void Accessors::use_memory(std::size_t bytes) {
  if (bytes > memory_limit_ - memory_)
    fail("its meshes together claim more than ", memory_limit_,
         " bytes, too many for a file of its size");
  memory_ += bytes;
}

std::span<const std::byte> Accessors::view_bytes(std::uint32_t index) const {
  const View& view = document_.views[index];
  const std::span<const std::byte> buffer = buffers_[view.buffer];
  if (view.offset > buffer.size() || view.bytes > buffer.size() - view.offset) {
    fail("bufferViews[", index, "]: bytes ", view.offset, " to ", view.offset + view.bytes,
         " are outside of the buffer's ", buffer.size());
  }
  return buffer.subspan(view.offset, view.bytes);
}

template <class T, class Convert>
std::vector<T> Accessors::decode(std::uint32_t index, unsigned components, Convert convert) {
  const Accessor& accessor = document_.accessors[index];
  const std::string place = concat("accessors[", index, "]: ");
  if (accessor.components != components)
    fail(place, "its elements have ", accessor.components, " components, expected ", components);
  // Returns the first element, after a check that `count` elements lie in the view.
  const auto elements = [&](const Location& location, std::size_t count, std::size_t size,
                            std::size_t& stride) {
    const std::span<const std::byte> bytes = view_bytes(location.view);
    const std::size_t given = document_.views[location.view].stride;
    stride = given == 0 ? size : given;
    if (stride < size) fail(place, "its elements overlap");
    const bool fits = location.offset <= bytes.size() && bytes.size() - location.offset >= size &&
                      (bytes.size() - location.offset - size) / stride >= count - 1;
    if (count > 0 && !fits)
      fail(place, count, " elements do not fit in bufferViews[", location.view, "]");
    return bytes.data() + location.offset;
  };
  const std::size_t size = size_of(accessor.location.component) * components;
  std::size_t stride = 0;
  const std::byte* from = nullptr;
  if (accessor.location.view != none && accessor.count > 0)
    from = elements(accessor.location, accessor.count, size, stride);
  if (accessor.count > memory_limit_) use_memory(accessor.count);
  use_memory(accessor.count * components * sizeof(T));
  std::vector<T> result(accessor.count * components);
  const auto copy = [&](std::size_t to, const std::byte* element) {
    for (unsigned k = 0; k < components; ++k) {
      result[to * components + k] = convert(element + k * size_of(accessor.location.component),
                                            accessor.location.component, accessor.normalized);
    }
  };
  for (std::size_t i = 0; from != nullptr && i < accessor.count; ++i) copy(i, from + i * stride);
  if (accessor.sparse_count == 0) return result;
  std::size_t index_stride = 0, value_stride = 0;
  const Location& indices = accessor.sparse_indices;
  if (!is_unsigned(indices.component)) fail(place, "its sparse indices must be unsigned integers");
  const std::byte* const index_at =
      elements(indices, accessor.sparse_count, size_of(indices.component), index_stride);
  const std::byte* const value_at =
      elements(accessor.sparse_values, accessor.sparse_count, size, value_stride);
  for (std::size_t i = 0; i < accessor.sparse_count; ++i) {
    const std::uint32_t to = as_integer(index_at + i * index_stride, indices.component);
    if (to >= accessor.count)
      fail(place, "a sparse index is ", to, ", but there are ", accessor.count, " elements");
    copy(to, value_at + i * value_stride);
  }
  return result;
}

std::vector<float> Accessors::floats(std::uint32_t accessor, unsigned components) {
  return decode<float>(accessor, components, as_float);
}

std::vector<std::uint32_t> Accessors::integers(std::uint32_t accessor, unsigned components) {
  if (!is_unsigned(document_.accessors[accessor].location.component))
    fail("accessors[", accessor, "]: unsigned integers are expected");
  return decode<std::uint32_t>(
      accessor, components,
      [](const std::byte* bytes, Component type, bool) { return as_integer(bytes, type); });
}

std::vector<std::uint32_t> Accessors::colours(std::uint32_t accessor) {
  const unsigned components = document_.accessors[accessor].components == 3 ? 3 : 4;
  const std::vector<float> values = floats(accessor, components);
  std::vector<std::uint32_t> result;
  result.reserve(values.size() / components);
  for (std::size_t i = 0; i + components <= values.size(); i += components) {
    result.push_back(srgb_byte(values[i]) | srgb_byte(values[i + 1]) << 8 |
                     srgb_byte(values[i + 2]) << 16 |
                     byte_of(components == 4 ? values[i + 3] : 1) << 24);
  }
  return result;
}

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
  const auto above = std::ranges::upper_bound(times, seconds);
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
