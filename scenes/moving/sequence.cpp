// SPDX-License-Identifier: MIT
// A moving scene of numbered files. One file is read per frame, and none is kept.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>

#include "scenes/file.hpp"
#include "scenes/gltf.hpp"
#include "scenes/moving/sources.hpp"
#include "simt/error.hpp"

namespace heapwood::scenes {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t max_digits = 9;

// The name of files in one folder: `before ### after`.
struct Pattern {
  fs::path folder;
  std::string before, after;
  std::size_t digits;

  explicit Pattern(const std::string& text) : folder(fs::path(text).parent_path()) {
    const std::string name = fs::path(text).filename().string();
    const std::size_t first = name.find('#');
    const std::size_t last = std::min(name.find_first_not_of('#', first), name.size());
    before = name.substr(0, first);
    after = name.substr(last);
    digits = last - first;
  }
  std::string name(std::uint64_t number) const {
    const std::string text = std::to_string(number);
    return before + std::string(digits - std::min(digits, text.size()), '0') + text + after;
  }
  std::string path(std::uint64_t number) const { return (folder / name(number)).string(); }
  // The number in a file's name; nullopt if the name does not match.
  std::optional<std::uint64_t> number(const std::string& file) const {
    if (file.size() < before.size() + digits + after.size() || !file.starts_with(before) ||
        !file.ends_with(after)) {
      return std::nullopt;
    }
    const std::string_view text =
        std::string_view(file).substr(before.size(), file.size() - before.size() - after.size());
    std::uint64_t value = 0;
    if (text.size() > max_digits || !parse_number(text, value)) return std::nullopt;
    // Each number has one name: with more digits than there are # it has no leading zero.
    return file == name(value) ? std::optional(value) : std::nullopt;
  }
};

}  // namespace

bool is_sequence(const std::string& text) {
  const std::string name = fs::path(text).filename().string();
  const std::size_t first = name.find('#');
  const std::string type = extension_of(text);
  if (first == std::string::npos || (type != ".ply" && type != ".obj")) return false;
  const std::size_t last = std::min(name.find_first_not_of('#', first), name.size());
  return name.find('#', last) == std::string::npos && last - first <= max_digits;
}

std::vector<std::string> sequence_files(const std::string& text) {
  const Pattern pattern(text);
  const std::string shown = printable(text, text.size());
  std::vector<std::uint64_t> numbers;
  std::error_code failed;
  const fs::path folder = pattern.folder.empty() ? fs::path(".") : pattern.folder;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    if (const auto number = pattern.number(entry->path().filename().string()))
      numbers.push_back(*number);
  }
  if (failed) throw Error(Exit::scene, shown + ": cannot read the folder: " + failed.message());
  if (numbers.empty()) {
    throw Error(Exit::scene, shown + ": no file has such a name; expected for example " +
                                 printable(pattern.name(0), 200));
  }
  std::ranges::sort(numbers);
  std::vector<std::string> files;
  for (const std::uint64_t number : numbers) {
    const std::uint64_t expected = numbers.front() + files.size();
    if (number != expected) {
      throw Error(Exit::scene, concat(shown, ": frame ", expected, " is missing: ",
                                      printable(pattern.name(expected), 200), " (there are frames ",
                                      numbers.front(), " to ", numbers.back(), ")"));
    }
    files.push_back(pattern.path(number));
  }
  return files;
}

MovingScene open_sequence(const std::string& pattern) {
  const std::vector<std::string> files = sequence_files(pattern);
  return {static_cast<unsigned>(files.size()),
          [files, origin = load(files.front()).origin](unsigned frame) {
            Mesh mesh = load(files.at(frame));
            require_triangles(mesh, printable(files[frame], files[frame].size()));
            move_origin(mesh, origin);
            return mesh;
          }};
}

// A moving scene: one animation of a glTF file, with node transforms, skins and morph targets.

namespace {

constexpr unsigned max_frames = 100'000;

std::string title(const GltfAnimation& file, std::size_t i) {
  const std::string& name = file.name(i);
  return std::to_string(i) + (name.empty() ? "" : " " + printable(name));
}

std::string all_titles(const GltfAnimation& file) {
  constexpr std::size_t max_listed = 8;
  std::string list;
  for (std::size_t i = 0; i < std::min(file.count(), max_listed); ++i)
    list += (i == 0 ? "" : ", ") + title(file, i);
  return list + (file.count() > max_listed ? ", ..." : "");
}

// The animation of this name or number; without a text the first one that has a duration.
std::size_t choose(const GltfAnimation& file, const GltfClip& clip) {
  const std::string shown = printable(clip.path, clip.path.size());
  if (file.count() == 0)
    throw Error(Exit::scene, shown + ": nothing moves: the file has no animation");
  if (clip.animation.empty()) {
    for (std::size_t i = 0; i < file.count(); ++i) {
      if (file.duration(i) > 0) return i;
    }
    return 0;
  }
  for (std::size_t i = 0; i < file.count(); ++i) {
    if (file.name(i) == clip.animation) return i;
  }
  std::size_t number = 0;
  if (parse_number(clip.animation, number) && number < file.count()) return number;
  throw Error(Exit::scene, shown + ": no animation `" + printable(clip.animation) +
                               "`; it has: " + all_titles(file));
}

}  // namespace

std::optional<GltfClip> parse_gltf_clip(const std::string& text) {
  if (is_gltf(extension_of(text))) return GltfClip{text, ""};
  for (std::size_t colon = text.find(':'); colon != std::string::npos;
       colon = text.find(':', colon + 1)) {
    if (is_gltf(extension_of(text.substr(0, colon))))
      return GltfClip{text.substr(0, colon), text.substr(colon + 1)};
  }
  return std::nullopt;
}

MovingScene open_gltf_clip(const GltfClip& clip) {
  const GltfAnimation file(read_file(clip.path).bytes(), clip.path);
  const std::size_t index = choose(file, clip);
  const double duration = file.duration(index);
  if (!(duration > 0)) {
    throw Error(Exit::scene, printable(clip.path, clip.path.size()) +
                                 ": nothing moves: animation " + title(file, index) +
                                 " takes no time");
  }
  const auto frames = static_cast<unsigned>(
      std::clamp(std::round(duration * frames_per_second), 1.0, double{max_frames}));
  // The last moment is not shown: in an animation made for repetition it equals the first frame.
  return {frames, [=](unsigned frame) {
            Mesh mesh = file.mesh_at(index, duration * frame / frames);
            check(mesh, mesh.name);
            return mesh;
          }};
}

}  // namespace heapwood::scenes
