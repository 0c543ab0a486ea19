// SPDX-License-Identifier: MIT
#include "bench/results/table.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

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

// Escapes characters that control a terminal: names of scenes and reasons come from files.
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

// Writes a table as blocks of at most the style's width, each beginning with the first column.
class TextWriter {
 public:
  TextWriter(const Table& table, const TextStyle& style) : table_(table), style_(style) {
    for (const Column& column : columns()) widths_.push_back(display_width(column.title));
    for (const Row& row : table.rows) {
      for (std::size_t c = 0; !row.heading && c < std::min(row.cells.size(), widths_.size()); ++c) {
        widths_[c] = std::max(widths_[c], display_width(row.cells[c].text));
        marks_ |= row.cells[c].best;
      }
    }
    if (widths_.size() < 2 || !columns().back().wrap) return;
    const std::size_t used = block_width(1, widths_.size() - 1) + gap_width,
                      left = style.width > used ? style.width - used : 0;
    widths_.back() = std::min(widths_.back(), std::max<std::size_t>(left, 24));
  }

  std::string write() {
    std::string out;
    std::size_t first = 1;
    do {
      const std::size_t last = end_of_block(first);
      out += (first > 1 ? "\n" : "") + block(first, last);
      first = last;
    } while (first < widths_.size());
    return out;
  }

 private:
  const std::vector<Column>& columns() const { return table_.columns; }

  // Text after a figure: the mark of the best one, or as much space, so that figures align.
  std::string tail(std::size_t c, bool best = false) const {
    return !marks_ || columns()[c].left ? "" : best ? " ◂" : "  ";
  }
  // The width of a column with the mark and the gap.
  std::size_t full_width(std::size_t c, std::size_t width) const {
    return width + display_width(tail(c)) + gap_width;
  }
  std::size_t end_of_group(std::size_t c, std::size_t last) const {
    std::size_t end = c;
    while (end < last && columns()[end].group == columns()[c].group) ++end;
    return end;
  }

  // Widths of the columns [first, last): those of a group together fit the group's title.
  std::vector<std::size_t> widths_of(std::size_t first, std::size_t last) const {
    std::vector<std::size_t> all = widths_;
    for (std::size_t c = first, end = c; c < last; c = end) {
      end = end_of_group(c, last);
      std::size_t used = 0;
      for (std::size_t i = c; i < end; ++i) used += full_width(i, all[i]);
      const std::string& name = columns()[c].group;
      const std::size_t wanted = name.empty() ? 0 : display_width(name) + gap_width;
      for (std::size_t i = 0; used < wanted; ++i, ++used) ++all[c + i % (end - c)];
    }
    return all;
  }
  std::size_t block_width(std::size_t first, std::size_t last) const {
    const std::vector<std::size_t> all = widths_of(first, last);
    std::size_t used = full_width(0, all[0]) - gap_width;
    for (std::size_t c = first; c < last; ++c) used += full_width(c, all[c]);
    return used;
  }
  // The end of a block that begins at `first`. Splits a group only if it alone is too wide.
  std::size_t end_of_block(std::size_t first) const {
    std::size_t last = first;
    while (last < widths_.size() && (last == first || block_width(first, last + 1) <= style_.width))
      ++last;
    if (last >= widths_.size() || columns()[last].group.empty()) return last;
    std::size_t end = last;
    while (end > first && columns()[end - 1].group == columns()[last].group) --end;
    return end > first ? end : last;
  }

  std::string block(std::size_t first, std::size_t last) const {
    const std::vector<std::size_t> widths = widths_of(first, last);
    std::vector<std::size_t> shown{0};
    for (std::size_t c = first; c < last; ++c) shown.push_back(c);

    std::string groups(full_width(0, widths[0]), ' '), titles;
    for (std::size_t c = first; c < last;) {
      const std::string& name = columns()[c].group;
      std::size_t width = 0;
      for (const std::size_t end = end_of_group(c, last); c < end; ++c)
        width += full_width(c, widths[c]);
      groups += aligned(name, width - gap_width, false) + gap;
    }
    for (const std::size_t c : shown)
      titles += aligned(columns()[c].title, widths[c], columns()[c].left) + tail(c) + gap;
    const bool has_groups = groups.find_first_not_of(' ') != groups.npos;
    std::string out = (has_groups ? title_line(groups) : "") + title_line(titles);
    for (std::size_t i = 0; i < block_width(first, last); ++i) out += "─";
    out += "\n";
    for (const Row& row : table_.rows)
      out += row.heading ? "\n" + title_line(row.cells.front().text) : lines(row, shown, widths);
    return out;
  }

  std::string title_line(std::string text) const {
    trim_end(text);
    return bold(text, style_.bold) + "\n";
  }

  std::string lines(const Row& row, const std::vector<std::size_t>& shown,
                    const std::vector<std::size_t>& widths) const {
    std::string line;
    std::vector<std::string> wrapped;
    std::size_t indent = 0;
    for (const std::size_t c : shown) {
      const Cell cell = c < row.cells.size() ? row.cells[c] : Cell();
      if (columns()[c].wrap) {
        indent = display_width(line);
        wrapped = wrap_text(cell.text, widths[c]);
        if (!wrapped.empty()) line += wrapped.front();
      } else {
        const std::string text = aligned(cell.text, widths[c], columns()[c].left);
        line += bold(text, cell.best && style_.bold) + tail(c, cell.best) + gap;
      }
    }
    trim_end(line);
    line += "\n";
    for (std::size_t i = 1; i < wrapped.size(); ++i) line += spaces(indent) + wrapped[i] + "\n";
    return line;
  }

  const Table& table_;
  const TextStyle& style_;
  std::vector<std::size_t> widths_;
  bool marks_ = false;
};

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
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
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
  std::string out = table.title.empty() ? "" : bold(table.title, style.bold) + "\n\n";
  out += TextWriter(table, style).write();
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
