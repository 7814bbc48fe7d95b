// Reading text forms back, for tests and for looking into a dump.
#pragma once
#include <functional>

#include "base/line_reader.h"
#include "graph/op_definition.h"

namespace pando {

// What to_string(Graph) prints, except constants of more than 16 elements. Node numbers need not be dense but each must
// be defined before it is used. Throws Error naming the line.
Graph parse_graph(std::string_view text);

// The parts that graphs and plans share.
void for_each_line(std::string_view text, const std::function<void(LineReader&)>& parse);
const OpDefinition& parse_op(LineReader& line);
Type parse_type(LineReader& line);
Attributes parse_attributes(LineReader& line, const OpDefinition& op);
// "<1, 2>", of the type that stands elsewhere.
Array parse_array(LineReader& line);

}  // namespace pando
