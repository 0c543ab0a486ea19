// SPDX-License-Identifier: MIT
#include "scenes/obj_lines.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <utility>
#include <vector>

#include "scenes/file.hpp"
#include "scenes/signs.hpp"
#include "simt/error.hpp"

namespace heapwood::scenes::obj {
namespace {

constexpr std::size_t max_corners = 255;  // tinyobjloader counts a face's corners in a byte

constexpr std::string_view blanks = " \t\v\f";

// `#` at the start of a line or after a blank.
bool has_comment(std::string_view line) {
  for (std::size_t at = line.find('#'); at != line.npos; at = line.find('#', at + 1)) {
    if (at == 0 || blanks.find(line[at - 1]) != blanks.npos) return true;
  }
  return false;
}

// Splits text into lines, which end in \n, \r\n or \r. A final `\` continues the line, except in a
// comment.
class LineReader {
 public:
  explicit LineReader(std::string_view text) : text_(text) {}

  std::size_t number() const { return number_; }

  bool next(std::string_view& line) {
    if (at_ == text_.size()) return false;
    number_ += lines_in_last_;
    lines_in_last_ = 1;
    line = physical();
    if (!continues(line)) return true;
    // The line may be the whole file: growing in steps would take up to three times its size.
    // Memory that is not written is not used.
    joined_.reserve(text_.size());
    joined_.clear();
    while (continues(line)) {
      joined_.append(line.substr(0, line.size() - 1)).push_back(' ');
      line = {};
      if (at_ == text_.size()) break;
      line = physical();
      ++lines_in_last_;
    }
    joined_.append(line);
    line = joined_;
    return true;
  }

 private:
  static bool continues(std::string_view line) {
    return line.ends_with('\\') && !has_comment(line);
  }

  std::string_view physical() {
    check_interruption();
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != '\n' && text_[at_] != '\r') ++at_;
    const std::string_view line = text_.substr(begin, at_ - begin);
    if (at_ < text_.size() && text_[at_++] == '\r' && at_ < text_.size() && text_[at_] == '\n')
      ++at_;
    return line;
  }

  std::string_view text_;
  std::string joined_;
  std::size_t at_ = 0, number_ = 1, lines_in_last_ = 0;
};

std::string_view next_word(std::string_view& line) {
  const std::size_t begin = std::min(line.find_first_not_of(blanks), line.size());
  line.remove_prefix(begin);
  const std::string_view word = line.substr(0, std::min(line.find_first_of(blanks), line.size()));
  line.remove_prefix(word.size());
  return word;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(blanks), text.size());
  const std::size_t end = text.find_last_not_of(blanks);
  return end == text.npos ? std::string_view{} : text.substr(begin, end + 1 - begin);
}

class Validator {
 public:
  Validator(std::string_view text, const std::string& source, Content content)
      : text_(text), source_(source), reader_(text), materials_(content == Content::materials) {}

  Lines run() {
    total_ = count_vertices();
    materials_ = !lines_.libraries.empty();
    if (total_ > std::numeric_limits<std::int32_t>::max())
      fail("the file has more vertices than 31-bit indices can name; split it");
    std::string_view line;
    while (reader_.next(line)) {
      const std::string_view keyword = next_word(line);
      if (keyword == "v") {
        vertex(line);
      } else if (keyword == "f" || keyword == "fo") {  // `fo` (face outline): an old form of `f`
        face(line);
      } else if (!materials_) {
        continue;
      } else if (keyword == "vt") {
        texture_coordinates(line);
      } else if (keyword == "usemtl") {
        lines_.runs.push_back(
            {lines_.faces + lines_.large_faces.size(), std::string(trimmed(line))});
      }
    }
    for (std::uint32_t& uv : lines_.corner_uvs) uv = uv < lines_.uvs.size() ? uv : no_uv;
    return std::move(lines_);
  }

 private:
  [[noreturn]] void fail(const std::string& reason) const {
    throw Error(Exit::scene,
                source_ + ": line " + std::to_string(reader_.number()) + ": " + reason);
  }

  // A face may refer to later vertices. Collects the material libraries, too.
  std::size_t count_vertices() {
    std::size_t count = 0;
    LineReader reader(text_);
    for (std::string_view line; reader.next(line);) {
      const std::string_view keyword = next_word(line);
      count += keyword == "v";
      if (materials_ && keyword == "mtllib") lines_.libraries.emplace_back(trimmed(line));
    }
    return count;
  }

  void texture_coordinates(std::string_view line) {
    float at[2] = {};
    for (float& x : at) {
      const std::string_view word = without_plus(next_word(line));
      const char* const end = word.data() + word.size();
      const auto [stop, error] = std::from_chars(word.data(), end, x);
      if (stop != end || error != std::errc() || !std::isfinite(x)) x = 0;
    }
    lines_.uvs.push_back({at[0], 1 - at[1]});
  }

  // The index of a corner's texture coordinates, which follows its first slash; no_uv if there is
  // none or it is malformed.
  std::uint32_t uv_of(std::string_view word) const {
    const std::size_t slash = word.find('/');
    if (slash == word.npos) return no_uv;
    word.remove_prefix(slash + 1);
    std::int64_t index = 0;
    const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), index);
    if (error != std::errc()) return no_uv;
    index = index < 0 ? static_cast<std::int64_t>(lines_.uvs.size()) + index : index - 1;
    return index < 0 || index >= std::int64_t{no_uv} ? no_uv : static_cast<std::uint32_t>(index);
  }

  void vertex(std::string_view line) {
    lines_.text += 'v';
    for (unsigned axis = 0; axis < 3; ++axis) {
      const std::string_view word = next_word(line);
      if (word.empty()) fail("a vertex needs three numbers");
      const char* const end = word.data() + word.size();
      double value = 0;
      const auto [stop, error] = std::from_chars(without_plus(word).data(), end, value);
      if (stop != end || error == std::errc::invalid_argument)
        fail("`" + printable(word) + "` is not a number");
      const bool far = error == std::errc::result_out_of_range;
      if (far) value = std::strtod(std::string(word).c_str(), nullptr);
      if (!std::isfinite(static_cast<float>(value)))
        fail("the vertex is not finite (`" + printable(word) + "`)");
      lines_.text += ' ';
      // Such an exponent overflows in tinyobjloader; the value is 0.
      if (far) {
        lines_.text += '0';
      } else {
        lines_.text += word;
      }
    }
    lines_.text += '\n';
    ++lines_.vertices;
  }

  void face(std::string_view line) {
    corners_.clear();
    uvs_.clear();
    for (std::string_view word = next_word(line); !word.empty(); word = next_word(line)) {
      if (word[0] == '#') break;
      check_interruption();
      corners_.push_back(corner(word));
      if (materials_) uvs_.push_back(uv_of(word));
    }
    if (corners_.size() < 3) return;
    lines_.corner_uvs.insert(lines_.corner_uvs.end(), uvs_.begin(), uvs_.end());
    if (corners_.size() > max_corners) {
      LargeFace& large = lines_.large_faces.emplace_back();
      large.place = lines_.faces;
      for (const std::size_t one_based : corners_)
        large.corners.push_back(static_cast<std::uint32_t>(one_based - 1));
      return;
    }
    lines_.text += 'f';
    for (const std::size_t one_based : corners_) append(one_based);
    lines_.text += '\n';
    ++lines_.faces;
  }

  void append(std::size_t one_based) {
    lines_.text += ' ';
    lines_.text += std::to_string(one_based);
  }

  // `7`, `-1`, `7/2`, `7//3`, `7/2/3`: the vertex's index from 1.
  std::size_t corner(std::string_view word) const {
    const std::string_view digits = word.substr(0, word.find('/'));
    std::int64_t index = 0;
    const char* const end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(without_plus(digits).data(), end, index);
    if (stop != end || error == std::errc::invalid_argument) {
      fail("`" + printable(word) + "` is not a corner of a face");
    }
    if (error == std::errc::result_out_of_range || index == 0 ||
        index > static_cast<std::int64_t>(total_)) {
      fail("the face refers to vertex " + printable(digits) + ", but there are " +
           std::to_string(total_) + ", counted from 1");
    }
    if (index > 0) return static_cast<std::size_t>(index);
    const std::int64_t absolute = static_cast<std::int64_t>(lines_.vertices) + 1 + index;
    if (absolute < 1) {
      fail("the face refers to vertex " + printable(digits) + ", but only " +
           std::to_string(lines_.vertices) + " precede it");
    }
    return static_cast<std::size_t>(absolute);
  }

  std::string_view text_;
  const std::string& source_;
  LineReader reader_;
  std::size_t total_ = 0;
  bool materials_;
  std::vector<std::size_t> corners_;
  std::vector<std::uint32_t> uvs_;  // of the face
  Lines lines_;
};

}  // namespace

Lines validate(std::string_view text, const std::string& source, Content content) {
  return Validator(text, source, content).run();
}

std::vector<std::string> find_libraries(std::string_view text) {
  std::vector<std::string> libraries;
  LineReader reader(text);
  for (std::string_view line; reader.next(line);) {
    if (next_word(line) == "mtllib") libraries.emplace_back(trimmed(line));
  }
  return libraries;
}

}  // namespace heapwood::scenes::obj
