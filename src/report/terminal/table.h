// The table of a model's layers, as Keras prints it.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

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
};

// The whole table, a line end after each line. Text that is longer than its column is cut, as Keras does. A line length
// of 0 means Keras's own: 65, or 98 with the column of connections.
std::string summary_text(const std::string& model_name, const std::vector<SummaryRow>& rows,
                         const SummaryTotals& totals, bool with_connections, int line_length = 0);

// The layers of a pipelined model with the stage of each, in the same style.
std::string stage_table_text(const std::string& model_name, const std::vector<std::pair<std::string, int>>& rows);

}  // namespace pando
