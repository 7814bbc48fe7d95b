// SPDX-License-Identifier: Apache-2.0
// Reads the text form of a graph back, for tests and for looking into a dump.
#pragma once
#include <pando/base/function.h>

#include "base/line_reader.h"
#include "graph/op_definition.h"

namespace pando {

// Finds an op by its name, or throws Error: find_op of ops/op_list.h, which this folder must not know.
using FindOp = const OpDefinition& (*)(std::string_view name);

// What to_string(Graph) prints, except constants of more than 16 elements. Node numbers need not be dense but each must
// be defined before it is used. Throws Error naming the line.
Graph parse_graph(std::string_view text, FindOp find_op);

// The parts that graphs and plans share.
void for_each_line(std::string_view text, const Function<void(LineReader&)>& parse);
Type parse_type(LineReader& line);
Attributes parse_attributes(LineReader& line, const OpDefinition& op, FindOp find_op);
// The comment after a node or a kernel call.
void parse_origin(LineReader& line, std::string& name, std::string& layer);
// "<1, 2>"; the text gives the type elsewhere.
Array parse_array(LineReader& line);

}  // namespace pando
