// SPDX-License-Identifier: Apache-2.0
#include "report/terminal/box_table.h"

#include <algorithm>

#include "report/terminal/text_width.h"

namespace pando {

namespace {

constexpr int narrowest_column = 6;

// The characters of a line between two rows: left end, line, crossing, right end.
struct Rule {
  const char *left, *line, *crossing, *right;
};
struct Box {
  Rule top, below_titles, between, bottom;
  const char *title_border, *border;
};

const Box& box_of(const TerminalLook& look) {
  static const Box lines = {
      {"┏", "━", "┳", "┓"}, {"┡", "━", "╇", "┩"}, {"├", "─", "┼", "┤"}, {"└", "─", "┴", "┘"}, "┃", "│"};
  static const Box ascii_lines = {
      {"+", "-", "+", "+"}, {"+", "=", "+", "+"}, {"+", "-", "+", "+"}, {"+", "-", "+", "+"}, "|", "|"};
  return look.unicode ? lines : ascii_lines;
}

struct StyledCharacter {
  std::string text;
  const std::string* style;
  int width;
};
using CellLine = std::vector<StyledCharacter>;

CellLine characters_of(const BoxCell& cell) {
  CellLine characters;
  for (const StyledPiece& piece : cell)
    for (std::string_view rest = piece.text; !rest.empty();) {
      std::size_t bytes = 1;
      while (bytes < rest.size() && (static_cast<unsigned char>(rest[bytes]) & 0xc0) == 0x80) ++bytes;
      const std::string_view character = rest.substr(0, bytes);
      characters.push_back({std::string(character), &piece.style, text_width(character)});
      rest.remove_prefix(bytes);
    }
  return characters;
}

int width_of(const CellLine& line) {
  int width = 0;
  for (const StyledCharacter& character : line) width += character.width;
  return width;
}

bool ends_word(const StyledCharacter& character) { return character.text == " " || character.text == "_"; }

// Lines of at most `width` columns, broken after a blank or "_" if there is one, otherwise anywhere.
std::vector<CellLine> wrapped_cell(CellLine rest, int width) {
  std::vector<CellLine> lines;
  while (width_of(rest) > width) {
    std::size_t fits = 0, after_word = 0;
    for (int used = 0; used + rest[fits].width <= width; ++fits) {
      used += rest[fits].width;
      if (ends_word(rest[fits])) after_word = fits + 1;
    }
    if (rest[fits].text == " ") after_word = fits + 1;
    // A character that is wider than the column stands out of it.
    const std::size_t end = after_word > 0 ? after_word : std::max<std::size_t>(1, fits);
    CellLine line(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(end));
    while (!line.empty() && line.back().text == " ") line.pop_back();
    lines.push_back(std::move(line));
    rest.erase(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(end));
  }
  lines.push_back(std::move(rest));
  return lines;
}

std::string line_text(const CellLine& line, const TerminalLook& look) {
  std::string text;
  for (std::size_t i = 0; i < line.size();) {
    std::string piece;
    const std::string* style = line[i].style;
    for (; i < line.size() && line[i].style == style; ++i) piece += line[i].text;
    text += styled(look, *style, piece);
  }
  return text;
}

std::string rule_text(const Rule& rule, const std::vector<int>& widths) {
  std::string text = rule.left;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    for (int j = 0; j < widths[i] + 2; ++j) text += rule.line;
    text += i + 1 == widths.size() ? rule.right : rule.crossing;
  }
  return text + "\n";
}

std::string box_row(const std::vector<BoxCell>& cells, const std::vector<BoxColumn>& columns,
                    const std::vector<int>& widths, const char* border, const TerminalLook& look) {
  std::vector<std::vector<CellLine>> lines;
  std::size_t height = 1;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    lines.push_back(wrapped_cell(characters_of(cells[i]), widths[i]));
    height = std::max(height, lines.back().size());
  }
  std::string text;
  for (std::size_t row = 0; row < height; ++row) {
    text += border;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const CellLine line = row < lines[i].size() ? lines[i][row] : CellLine();
      const std::string blanks(static_cast<std::size_t>(std::max(0, widths[i] - width_of(line))), ' ');
      const std::string shown = line_text(line, look);
      text += " " + (columns[i].to_the_right ? blanks + shown : shown + blanks) + " " + border;
    }
    text += "\n";
  }
  return text;
}

// The columns that a cell needs in order not to break a word, or not to break at all.
int needed_width(const BoxCell& cell, bool is_list) {
  int widest = 0, width = 0;
  for (const StyledCharacter& character : characters_of(cell)) {
    width = is_list && character.text == " " ? 0 : width + character.width;
    widest = std::max(widest, width);
  }
  return widest;
}

int sum_of(const std::vector<int>& widths) {
  int sum = 0;
  for (const int width : widths) sum += width;
  return sum;
}

// Takes columns from the widest until all fit; first what no cell needs.
std::vector<int> column_widths(const std::vector<BoxColumn>& columns, const std::vector<int>& needed, int room) {
  std::vector<int> widths;
  for (std::size_t i = 0; i < columns.size(); ++i) widths.push_back(std::max(columns[i].width, needed[i]));
  for (const bool below_needed : {false, true})
    while (sum_of(widths) > room) {
      int widest = -1;
      for (int i = 0; i < static_cast<int>(columns.size()); ++i) {
        const auto at = static_cast<std::size_t>(i);
        const int least =
            below_needed && !columns[at].to_the_right ? std::min(narrowest_column, needed[at]) : needed[at];
        if (widths[at] > least && (widest < 0 || widths[at] > widths[static_cast<std::size_t>(widest)])) widest = i;
      }
      if (widest < 0) break;
      --widths[static_cast<std::size_t>(widest)];
    }
  return widths;
}

}  // namespace

std::string box_table(const std::vector<BoxColumn>& columns, const std::vector<std::vector<BoxCell>>& rows,
                      const TerminalLook& look, int terminal_columns) {
  std::vector<BoxCell> titles;
  std::vector<int> needed;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    titles.push_back({{columns[i].title, "1"}});
    needed.push_back(text_width(columns[i].title));
    for (const std::vector<BoxCell>& row : rows)
      needed[i] = std::max(needed[i], needed_width(row[i], columns[i].is_list));
  }
  const int borders = 3 * static_cast<int>(columns.size()) + 1;
  const std::vector<int> widths = terminal_columns > 0 ? column_widths(columns, needed, terminal_columns - borders)
                                                       : column_widths(columns, needed, 1 << 20);
  const Box& box = box_of(look);
  std::string text = rule_text(box.top, widths) + box_row(titles, columns, widths, box.title_border, look) +
                     rule_text(box.below_titles, widths);
  for (std::size_t i = 0; i < rows.size(); ++i)
    text += (i == 0 ? "" : rule_text(box.between, widths)) + box_row(rows[i], columns, widths, box.border, look);
  return text + rule_text(box.bottom, widths);
}

}  // namespace pando
