#include "report/terminal/table.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
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

}  // namespace

std::string summary_text(const std::string& model_name, const std::vector<SummaryRow>& rows,
                         const SummaryTotals& totals, bool with_connections, int line_length) {
  const Columns& columns = columns_of(with_connections);
  const int length = line_length > 0 ? line_length : with_connections ? 98 : 65;
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

std::string stage_table_text(const std::string& model_name, const std::vector<std::pair<std::string, int>>& rows) {
  constexpr int length = 65;
  const std::string thin = std::string(length, '_') + "\n", thick = std::string(length, '=') + "\n";
  std::string text =
      fmt::format("Model: \"{}\"\n{}{:<45}{}\n{}", terminal_text(model_name), thin, "Layer", "Pipeline Stage", thick);
  for (std::size_t i = 0; i < rows.size(); ++i)
    text += fmt::format("{}{}\n{}", fitted(terminal_text(rows[i].first), 45), rows[i].second,
                        i + 1 == rows.size() ? thick : thin);
  return text;
}

}  // namespace pando
