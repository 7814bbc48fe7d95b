// SPDX-License-Identifier: Apache-2.0
#include "report/terminal/table.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/ascii.h"
#include "base/text.h"
#include "report/terminal/box_table.h"
#include "report/terminal/text_width.h"
#include "report/terminal/thousands.h"

namespace pando {

namespace {

// A column ends at a fraction of the line.
struct Column {
  std::string title;
  double end;
};
using Columns = std::vector<Column>;

const Columns& columns_of(bool with_connections) {
  static const Columns plain = {{"Layer (type)", .45}, {"Output Shape", .85}, {"Param #", 1.}};
  static const Columns connected = {
      {"Layer (type)", .33}, {"Output Shape", .55}, {"Param #", .67}, {"Connected to", 1.}};
  return with_connections ? connected : plain;
}

std::string fitted(const std::string& text, int columns) {
  const std::string kept = cut_to_width(text, columns);
  return kept + std::string(static_cast<std::size_t>(std::max(0, columns - text_width(kept))), ' ');
}

// Each field fills its column; one that reaches its end still leaves a blank before the next.
std::string row_text(const std::vector<std::string>& fields, const Columns& columns, int line_length) {
  std::string line;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (i > 0) line = fitted(line, text_width(line) - 1) + " ";
    line = fitted(line + terminal_text(fields[i]), static_cast<int>(line_length * columns[i].end));
  }
  return line + "\n";
}

// The row of a layer and, under its first connection, the others.
std::string layer_text(const SummaryRow& row, const Columns& columns, int line_length) {
  const auto connection = [&](std::size_t i) { return i < row.connected_to.size() ? row.connected_to[i] : ""; };
  std::string text = row_text(
      {fmt::format("{} ({})", row.layer, row.type), row.output_shape, fmt::format("{}", row.parameters), connection(0)},
      columns, line_length);
  const bool with_connections = columns.size() == 4;
  for (std::size_t i = 1; with_connections && i < row.connected_to.size(); ++i)
    text += row_text({"", "", "", connection(i)}, columns, line_length);
  return text;
}

std::string summary_of_keras_2(const std::string& model_name, const std::vector<SummaryRow>& rows,
                               const SummaryTotals& totals, bool with_connections, int terminal_columns) {
  const Columns& columns = columns_of(with_connections);
  const int length = std::min(with_connections ? 98 : 65, terminal_columns > 0 ? terminal_columns : 98);
  const std::string thin = std::string(static_cast<std::size_t>(length), '_') + "\n";
  const std::string thick = std::string(static_cast<std::size_t>(length), '=') + "\n";

  std::string text = fmt::format("Model: \"{}\"\n", terminal_text(model_name)) + thin;
  std::vector<std::string> titles;
  for (const Column& column : columns) titles.push_back(column.title);
  text += row_text(titles, columns, length) + thick;
  for (std::size_t i = 0; i < rows.size(); ++i)
    text += layer_text(rows[i], columns, length) + (i + 1 == rows.size() ? thick : thin);
  text += fmt::format("Total params: {}\n", grouped_by_thousands(totals.trainable + totals.non_trainable));
  text += fmt::format("Trainable params: {}\n", grouped_by_thousands(totals.trainable));
  text += fmt::format("Non-trainable params: {}\n", grouped_by_thousands(totals.non_trainable));
  return text + thin;
}

std::string stages_of_keras_2(const std::string& model_name, const std::vector<std::pair<std::string, int>>& rows) {
  constexpr int length = 65;
  const std::string thin = std::string(length, '_') + "\n", thick = std::string(length, '=') + "\n";
  std::string text =
      fmt::format("Model: \"{}\"\n{}{:<45}{}\n{}", terminal_text(model_name), thin, "Layer", "Pipeline Stage", thick);
  for (std::size_t i = 0; i < rows.size(); ++i)
    text += fmt::format("{}{}\n{}", fitted(terminal_text(rows[i].first), 45), rows[i].second,
                        i + 1 == rows.size() ? thick : thin);
  return text;
}

// The colours of Keras 3: types blue, numbers green, None cyan.
constexpr const char *type_color = "38;5;33", *number_color = "38;5;34", *none_color = "38;5;45";

BoxCell layer_cell(const SummaryRow& row) {
  return {{terminal_text(row.layer) + " (", ""}, {terminal_text(row.type), type_color}, {")", ""}};
}

BoxCell number_cell(std::int64_t number) { return {{grouped_by_thousands(number), number_color}}; }

BoxCell shape_cell(const SummaryRow& row) {
  std::string_view rest = row.output_shape;
  // Keras 2 puts the shape of an input into brackets.
  if (row.type == "InputLayer" && rest.starts_with('[') && rest.ends_with(']')) rest = rest.substr(1, rest.size() - 2);
  BoxCell cell;
  const std::string shown = terminal_text(rest);
  for (std::size_t at = 0; at < shown.size();) {
    std::size_t end = at;
    while (end < shown.size() && ascii::is_digit(shown[end])) ++end;
    if (end > at) cell.push_back({shown.substr(at, end - at), number_color});
    else if (shown.compare(at, 4, "None") == 0) cell.push_back({shown.substr(at, (end = at + 4) - at), none_color});
    else cell.push_back({shown.substr(at, ++end - at), ""});
    at = end;
  }
  return cell;
}

BoxCell connections_cell(const SummaryRow& row) {
  if (row.connected_to.empty()) return {{"-", ""}};
  std::vector<std::string> names;
  for (const std::string& name : row.connected_to) names.push_back(terminal_text(name));
  return {{join(names, ", "), ""}};
}

// "136.04 KB"; a KB of Keras has 1024 bytes.
std::string size_text(std::uint64_t bytes) {
  double size = static_cast<double>(bytes);
  const char* unit = "B";
  for (const char* larger : {"KB", "MB", "GB", "TB", "PB"}) {
    if (size < 1024) break;
    size /= 1024;
    unit = larger;
  }
  return fmt::format("{:.2f} {}", size, unit);
}

std::string total_line(const char* name, std::int64_t count, std::uint64_t bytes, const TerminalLook& look) {
  return fmt::format("{} {} ({})\n", styled(look, "1", fmt::format(" {} params:", name)),
                     styled(look, number_color, grouped_by_thousands(count)), size_text(bytes));
}

std::string model_line(const std::string& name, const TerminalLook& look) {
  return styled(look, "1", fmt::format("Model: \"{}\"", terminal_text(name))) + "\n";
}

std::string summary_of_keras_3(const std::string& model_name, const std::vector<SummaryRow>& rows,
                               const SummaryTotals& totals, bool with_connections, const TableOutput& output) {
  std::vector<BoxColumn> columns = {
      {.title = "Layer (type)", .width = 31}, {.title = "Output Shape", .width = 22}, {"Param #", 13, true}};
  if (with_connections)
    columns = {{.title = "Layer (type)", .width = 19},
               {.title = "Output Shape", .width = 17},
               {"Param #", 10, true},
               {.title = "Connected to", .width = 17, .is_list = true}};
  std::vector<std::vector<BoxCell>> cells;
  for (const SummaryRow& row : rows) {
    cells.push_back({layer_cell(row), shape_cell(row), number_cell(row.parameters)});
    if (with_connections) cells.back().push_back(connections_cell(row));
  }
  const TerminalLook& look = output.look;
  return model_line(model_name, look) + box_table(columns, cells, look, output.columns) +
         total_line("Total", totals.trainable + totals.non_trainable,
                    totals.trainable_bytes + totals.non_trainable_bytes, look) +
         total_line("Trainable", totals.trainable, totals.trainable_bytes, look) +
         total_line("Non-trainable", totals.non_trainable, totals.non_trainable_bytes, look);
}

}  // namespace

TableOutput table_output(std::FILE* stream) {
  return {.look = terminal_look(stream), .columns = stream == nullptr ? 0 : terminal_columns(stream)};
}

std::string summary_text(const std::string& model_name, const std::vector<SummaryRow>& rows,
                         const SummaryTotals& totals, bool with_connections, const TableOutput& output) {
  return output.look.look == Look::keras_2
             ? summary_of_keras_2(model_name, rows, totals, with_connections, output.columns)
             : summary_of_keras_3(model_name, rows, totals, with_connections, output);
}

std::string stage_table_text(const std::string& model_name, const std::vector<std::pair<std::string, int>>& rows,
                             const TableOutput& output) {
  if (output.look.look == Look::keras_2) return stages_of_keras_2(model_name, rows);
  std::vector<std::vector<BoxCell>> cells;
  for (const auto& [layer, stage] : rows) cells.push_back({{{terminal_text(layer), ""}}, number_cell(stage)});
  return model_line(model_name, output.look) +
         box_table({{.title = "Layer", .width = 31}, {"Pipeline Stage", 14, true}}, cells, output.look, output.columns);
}

}  // namespace pando
