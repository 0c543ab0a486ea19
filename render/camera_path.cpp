// SPDX-License-Identifier: MIT
#include "render/camera_path.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <sstream>

#include "simt/error.hpp"

namespace heapwood::render {
namespace {

constexpr double max_seconds = 1e6;
constexpr std::size_t max_word = 40;

bool parse_number(const std::string& word, double& value) {
  const char* const end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, value);
  return error == std::errc() && stop == end &&
         std::fabs(value) <= std::numeric_limits<float>::max();
}

// A word of the file for a message of one line.
std::string shown(const std::string& word) {
  std::string text = word.substr(0, max_word);
  for (char& c : text) c = c >= ' ' && c <= '~' ? c : '?';
  return "'" + text + (word.size() > max_word ? "...'" : "'");
}

}  // namespace

CameraPath CameraPath::parse(const std::string& text, const std::string& source) {
  CameraPath path;
  // Skips a byte order mark, which editors on Windows add.
  std::istringstream lines(text.starts_with("\xef\xbb\xbf") ? text.substr(3) : text);
  unsigned number = 0;
  const auto fail = [&](const std::string& what) {
    throw Error(Exit::scene, source + ": line " + std::to_string(number) + ": " + what);
  };
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::istringstream words(line.substr(0, line.find('#')));
    double values[8];
    unsigned count = 0;
    for (std::string word; words >> word; ++count) {
      if (count == 8) fail("expected 8 numbers, time ex ey ez tx ty tz fov; there are more");
      if (!parse_number(word, values[count])) fail(shown(word) + " is not a number");
    }
    if (count == 0) continue;
    if (count < 8) {
      fail("expected 8 numbers, time ex ey ez tx ty tz fov; there " +
           std::string(count == 1 ? "is " : "are ") + std::to_string(count));
    }
    Key key{values[0], {}};
    std::copy(values + 1, values + 8, key.number);
    if (!(std::fabs(key.time) <= max_seconds)) fail("the time is out of range");
    if (!path.keys_.empty() && !(key.time > path.keys_.back().time))
      fail("the time is not after that of the previous key");
    if (std::equal(key.number, key.number + 3, key.number + 3))
      fail("eye and target are the same point");
    if (!(key.number[6] >= 0.001 && key.number[6] <= 179.999))
      fail("the vertical angle must be 0.001 to 179.999 degrees");
    path.keys_.push_back(key);
  }
  if (path.keys_.size() < 2) {
    throw Error(Exit::scene, source + ": expected at least 2 keys, one per line; there is " +
                                 (path.keys_.empty() ? "none" : "1"));
  }
  return path;
}

// A component by cubic Hermite interpolation from a key to the next. The slope at a key is that of
// the parabola through it and its two neighbours; at an end, that of the first or last segment.
double CameraPath::coordinate(std::size_t key, unsigned i, double time) const {
  const auto value = [&](std::size_t k) { return keys_[k].number[i]; };
  const auto slope_after = [&](std::size_t k) {
    return (value(k + 1) - value(k)) / (keys_[k + 1].time - keys_[k].time);
  };
  const auto slope_at = [&](std::size_t k) {
    if (k == 0) return slope_after(0);
    if (k + 1 == keys_.size()) return slope_after(k - 1);
    const double before = keys_[k].time - keys_[k - 1].time,
                 after = keys_[k + 1].time - keys_[k].time;
    return (slope_after(k - 1) * after + slope_after(k) * before) / (before + after);
  };
  const double length = keys_[key + 1].time - keys_[key].time,
               t = (time - keys_[key].time) / length;
  const double t2 = t * t, t3 = t2 * t;
  return (2 * t3 - 3 * t2 + 1) * value(key) + (t3 - 2 * t2 + t) * length * slope_at(key) +
         (3 * t2 - 2 * t3) * value(key + 1) + (t3 - t2) * length * slope_at(key + 1);
}

Camera CameraPath::at(double seconds, unsigned up, const Vec3d& origin) const {
  const double time = keys_.front().time + std::clamp(seconds, 0.0, duration());
  const auto next = std::upper_bound(keys_.begin(), keys_.end(), time,
                                     [](double t, const Key& key) { return t < key.time; });
  const std::size_t key =
      std::min<std::size_t>(static_cast<std::size_t>(next - keys_.begin()) - 1, keys_.size() - 2);
  double number[7];
  for (unsigned i = 0; i < 6; ++i) number[i] = coordinate(key, i, time);
  const double t = (time - keys_[key].time) / (keys_[key + 1].time - keys_[key].time);
  number[6] = keys_[key].number[6] * (1 - t) + keys_[key + 1].number[6] * t;
  return {to_float(Vec3d{number[0], number[1], number[2]} - origin),
          to_float(Vec3d{number[3], number[4], number[5]} - origin), static_cast<float>(number[6]),
          up};
}

}  // namespace heapwood::render
