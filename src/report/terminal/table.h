// SPDX-License-Identifier: Apache-2.0
// The table of a model's layers, as Keras prints it.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "report/terminal/terminal.h"

namespace pando {

struct SummaryRow {
  // "conv2d" and "Conv2D", shown as "conv2d (Conv2D)"
  std::string layer = {};
  std::string type = {};
  // "(None, 26, 26, 32)"
  std::string output_shape = {};
  std::int64_t parameters = 0;
  // "input_1[0][0]", one for each input.
  std::vector<std::string> connected_to = {};
};

struct SummaryTotals {
  std::int64_t trainable = 0;
  std::int64_t non_trainable = 0;
  std::uint64_t trainable_bytes = 0;
  std::uint64_t non_trainable_bytes = 0;
};

// Where a table is printed: in which look, and how wide the terminal is; 0 if there is none.
struct TableOutput {
  TerminalLook look = {};
  int columns = 0;
};
// Null: a text without colours.
TableOutput table_output(std::FILE* stream);

// The whole table, a line end after each line. Keras 3's is as wide as its text, and on a narrow terminal long text
// goes on in the next line. Keras 2's has 65 columns, or 98 with the connections, or those of a narrower terminal, and
// cuts longer text.
std::string summary_text(const std::string& model_name, const std::vector<SummaryRow>& rows,
                         const SummaryTotals& totals, bool with_connections, const TableOutput& output);

// The layers of a pipelined model with the stage of each, in the same style.
std::string stage_table_text(const std::string& model_name, const std::vector<std::pair<std::string, int>>& rows,
                             const TableOutput& output);

}  // namespace pando
