// SPDX-License-Identifier: MIT
#include "bench/results/table.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <utility>

#include "scenes/file.hpp"

namespace heapwood::bench {

namespace {

constexpr const char* gap = "  ";
constexpr std::size_t gap_width = 2;

std::string spaces(std::size_t n) { return std::string(n, ' '); }

std::string aligned(const std::string& text, std::size_t width, bool left) {
  const std::size_t used = display_width(text);
  const std::string fill = spaces(width > used ? width - used : 0);
  return left ? text + fill : fill + text;
}

std::string bold(const std::string& text, bool on) {
  return on ? "\033[1m" + text + "\033[0m" : text;
}

void trim_end(std::string& line) {
  while (!line.empty() && line.back() == ' ') line.pop_back();
}

// A block: the first column and columns [first, last) that fit beside it.
class TextBlock {
 public:
  TextBlock(const Table& table, const TextStyle& style, std::vector<std::size_t> widths, bool marks)
      : table_(table), style_(style), widths_(std::move(widths)), marks_(marks) {}

  std::string write(std::size_t first, std::size_t last) const {
    std::string out;
    if (grouped(first, last)) out += group_line(first, last);
    std::string titles;
    each(first, last, [&](std::size_t c) {
      titles +=
          aligned(table_.columns[c].title, widths_[c], table_.columns[c].left) + tail(c) + gap;
    });
    trim_end(titles);
    out += bold(titles, style_.bold) + "\n" + rule(first, last);
    for (const Row& row : table_.rows) out += row.heading ? heading(row) : lines(row, first, last);
    return out;
  }

 private:
  template <class F>
  void each(std::size_t first, std::size_t last, F f) const {
    f(std::size_t{0});
    for (std::size_t c = first; c < last; ++c) f(c);
  }

  // Figures reserve space for the mark of the best one, so that they stay aligned.
  std::string tail(std::size_t c, bool best = false) const {
    return !marks_ || table_.columns[c].left ? "" : best ? " ◂" : "  ";
  }

  bool grouped(std::size_t first, std::size_t last) const {
    return std::any_of(table_.columns.begin() + static_cast<std::ptrdiff_t>(first),
                       table_.columns.begin() + static_cast<std::ptrdiff_t>(last),
                       [](const Column& column) { return !column.group.empty(); });
  }

  std::string group_line(std::size_t first, std::size_t last) const {
    std::string line = aligned("", widths_[0], true) + tail(0) + gap;
    for (std::size_t c = first; c < last;) {
      std::size_t end = c;
      std::size_t width = 0;
      for (; end < last && table_.columns[end].group == table_.columns[c].group; ++end) {
        width += widths_[end] + display_width(tail(end)) + gap_width;
      }
      const std::size_t used = display_width(table_.columns[c].group) + gap_width;
      const std::string& name = table_.columns[c].group;
      line += name.empty() ? spaces(width) : spaces(width > used ? width - used : 0) + name + gap;
      c = end;
    }
    trim_end(line);
    return bold(line, style_.bold) + "\n";
  }

  std::string rule(std::size_t first, std::size_t last) const {
    std::size_t width = 0;
    each(first, last,
         [&](std::size_t c) { width += widths_[c] + display_width(tail(c)) + gap_width; });
    std::string line;
    for (std::size_t i = gap_width; i < width; ++i) line += "─";
    return line + "\n";
  }

  std::string heading(const Row& row) const {
    return "\n" + bold(row.cells.front().text, style_.bold) + "\n";
  }

  std::string lines(const Row& row, std::size_t first, std::size_t last) const {
    std::string line;
    std::vector<std::string> rest;
    std::size_t indent = 0;
    each(first, last, [&](std::size_t c) {
      const Cell cell = c < row.cells.size() ? row.cells[c] : Cell();
      if (table_.columns[c].wrap) {
        indent = display_width(line);
        rest = wrap_text(cell.text, widths_[c]);
        if (rest.empty()) return;
        line += rest.front();
        rest.erase(rest.begin());
        return;
      }
      const std::string text = aligned(cell.text, widths_[c], table_.columns[c].left);
      line += bold(text, cell.best && style_.bold) + tail(c, cell.best) + gap;
    });
    trim_end(line);
    line += "\n";
    for (const std::string& more : rest) line += spaces(indent) + more + "\n";
    return line;
  }

  const Table& table_;
  const TextStyle& style_;
  std::vector<std::size_t> widths_;
  bool marks_;
};

// Names of scenes and reasons come from files and may contain what controls a terminal.
Table printable(Table table) {
  const auto escape = [](std::string& text) { text = scenes::printable(text, text.size()); };
  escape(table.title);
  for (Column& column : table.columns) {
    escape(column.title);
    escape(column.group);
  }
  for (Row& row : table.rows) {
    for (Cell& cell : row.cells) escape(cell.text);
  }
  for (std::string& note : table.notes) escape(note);
  return table;
}

std::string escape_markdown(std::string text) {
  for (std::size_t at = 0; (at = text.find_first_of("\\|*_<`", at)) != std::string::npos; at += 2)
    text.insert(at, 1, '\\');
  return text;
}

std::string quote_csv(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  quoted += '"';
  return quoted;
}

std::string column_name(const Column& column) {
  return column.group.empty() ? column.title : column.group + " " + column.title;
}

// The end of a block of columns that splits no group, unless the first group alone is too wide.
std::size_t whole_groups(const Table& table, std::size_t first, std::size_t last) {
  if (last >= table.columns.size() || table.columns[last].group.empty()) return last;
  std::size_t end = last;
  while (end > first && table.columns[end - 1].group == table.columns[last].group) --end;
  return end > first ? end : last;
}

}  // namespace

std::vector<Column> columns_of(const std::string& text) {
  std::vector<Column> columns;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts >> std::ws, part, ';');) {
    const std::size_t colon = part.find(": ");
    const bool has_group = colon != std::string::npos;
    std::istringstream titles(has_group ? part.substr(colon + 2) : part);
    for (std::string title; std::getline(titles >> std::ws, title, has_group ? ',' : ';');) {
      const char mark = title.empty() ? ' ' : title.back();
      const bool left = mark == '<' || mark == '~';
      if (left) title.pop_back();
      columns.push_back({title, left, mark == '~', has_group ? part.substr(0, colon) : ""});
    }
  }
  return columns;
}

std::size_t display_width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

std::vector<std::string> wrap_text(const std::string& text, std::size_t width) {
  std::vector<std::string> lines;
  std::string line;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = text.find(' ', begin);
    if (end == std::string::npos) end = text.size();
    const std::string word = text.substr(begin, end - begin);
    begin = end + 1;
    if (word.empty()) continue;
    if (!line.empty() && display_width(line) + 1 + display_width(word) > width) {
      lines.push_back(line);
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  if (!line.empty()) lines.push_back(line);
  return lines;
}

std::string to_text(const Table& given, const TextStyle& style) {
  const Table table = printable(given);
  std::vector<std::size_t> widths;
  bool marks = false;
  for (const Column& column : table.columns) widths.push_back(display_width(column.title));
  for (const Row& row : table.rows) {
    if (row.heading) continue;
    for (std::size_t c = 0; c < row.cells.size() && c < widths.size(); ++c) {
      widths[c] = std::max(widths[c], display_width(row.cells[c].text));
      marks |= row.cells[c].best;
    }
  }
  const std::size_t count = table.columns.size();
  const auto full_width = [&](std::size_t c, std::size_t width) {
    return width + gap_width + (marks && !table.columns[c].left ? 2 : 0);
  };
  // The widths in a block of columns [first, last): together, the columns of a group fit its name.
  const auto widths_of = [&](std::size_t first, std::size_t last) {
    std::vector<std::size_t> all = widths;
    for (std::size_t c = first, end = c; c < last; c = end) {
      const std::string& name = table.columns[c].group;
      std::size_t used = 0;
      for (; end < last && table.columns[end].group == name; ++end)
        used += full_width(end, all[end]);
      const std::size_t wanted = name.empty() ? 0 : display_width(name) + gap_width;
      for (std::size_t i = 0; used < wanted; ++i, ++used) ++all[c + i % (end - c)];
    }
    return all;
  };
  const auto block_width = [&](std::size_t first, std::size_t last) {
    const std::vector<std::size_t> all = widths_of(first, last);
    std::size_t used = full_width(0, all[0]) - gap_width;
    for (std::size_t c = first; c < last; ++c) used += full_width(c, all[c]);
    return used;
  };
  if (count > 1 && table.columns.back().wrap) {
    const std::size_t used = block_width(1, count - 1) + gap_width;
    widths.back() = std::min(
        widths.back(), std::max<std::size_t>(style.width > used ? style.width - used : 0, 24));
  }

  std::string out = table.title.empty() ? "" : bold(table.title, style.bold) + "\n\n";
  std::size_t first = 1;
  do {
    std::size_t last = first;
    while (last < count && (last == first || block_width(first, last + 1) <= style.width)) ++last;
    last = whole_groups(table, first, last);
    if (first > 1) out += "\n";
    out += TextBlock(table, style, widths_of(first, last), marks).write(first, last);
    first = last;
  } while (first < count);
  if (!table.notes.empty()) out += "\n";
  for (const std::string& text : table.notes) {
    const std::vector<std::string> lines = wrap_text(text, style.width - 2);
    for (std::size_t i = 0; i < lines.size(); ++i) out += (i ? "  " : "") + lines[i] + "\n";
  }
  return out;
}

std::string to_markdown(const Table& given) {
  const Table table = printable(given);
  std::string out = table.title.empty() ? "" : "**" + escape_markdown(table.title) + "**\n\n";
  std::string titles = "|", rule = "|";
  for (const Column& column : table.columns) {
    titles += " " + escape_markdown(column_name(column)) + " |";
    rule += column.left ? " :--- |" : " ---: |";
  }
  out += titles + "\n" + rule + "\n";
  for (const Row& row : table.rows) {
    out += "|";
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      const std::string text = c < row.cells.size() ? escape_markdown(row.cells[c].text) : "";
      const bool strong = !text.empty() && (row.heading || row.cells[c].best);
      const char* stars = strong ? "**" : "";
      const char* mark = strong && !row.heading ? " ◂" : "";
      out += fmt::format(" {}{}{}{} |", stars, text, stars, mark);
    }
    out += "\n";
  }
  if (!table.notes.empty()) out += "\n";
  for (const std::string& text : table.notes) out += "- " + escape_markdown(text) + "\n";
  return out;
}

std::string to_csv(const Table& given) {
  const Table table = printable(given);
  std::string out;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    if (c) out += ',';
    out += quote_csv(column_name(table.columns[c]));
  }
  out += "\n";
  for (const Row& row : table.rows) {
    if (row.heading) continue;
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      if (c) out += ',';
      if (c < row.cells.size()) out += quote_csv(row.cells[c].text);
    }
    out += "\n";
  }
  return out;
}

void print_tables(const std::vector<Table>& tables, const std::string& format) {
  const char* between = "";
  for (const Table& table : tables) {
    fmt::print("{}{}", between,
               format == "markdown" ? to_markdown(table) : to_text(table, terminal_style()));
    between = "\n";
  }
}

TextStyle terminal_style() {
  TextStyle style;
  if (isatty(STDOUT_FILENO) != 1) return style;
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 60)
    style.width = std::min<std::size_t>(size.ws_col, 120);
  style.bold = std::getenv("NO_COLOR") == nullptr;
  return style;
}

}  // namespace heapwood::bench
