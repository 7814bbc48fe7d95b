// SPDX-License-Identifier: Apache-2.0
// A table in boxes, as Keras 3 prints it. A cell that does not fit its column goes on in the next line; nothing is cut.
#pragma once
#include <string>
#include <vector>

#include "report/terminal/terminal.h"

namespace pando {

// A piece of a cell in one style of ECMA-48, as styled() takes it.
struct StyledPiece {
  std::string text = {};
  std::string style = {};
};
using BoxCell = std::vector<StyledPiece>;

struct BoxColumn {
  std::string title = {};
  // Columns are wider if a cell is and the terminal has room, and narrower on a narrow terminal.
  int width = 0;
  bool to_the_right = false;
  // A list of words: a cell needs no more than its longest word.
  bool is_list = false;
};

// Each row has a cell for each column. `terminal_columns` is 0 if the width is not limited.
std::string box_table(const std::vector<BoxColumn>& columns, const std::vector<std::vector<BoxCell>>& rows,
                      const TerminalLook& look, int terminal_columns);

}  // namespace pando
