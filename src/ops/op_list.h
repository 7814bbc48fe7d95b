// SPDX-License-Identifier: Apache-2.0
// Every op: its number, its definition, and how to find it by name. Made from ops.def.
#pragma once
#include <string>
#include <vector>

#include "graph/op_definition.h"
#include "graph/parse.h"

namespace pando {

enum class Op : std::uint16_t {
#define PANDO_OP(name) name,
#include "ops/ops.def"
};

inline constexpr int op_count = 0
#define PANDO_OP(name) +1
#include "ops/ops.def"
    ;

namespace definitions {
#define PANDO_OP(name) extern const OpDefinition name;
#include "ops/ops.def"
}  // namespace definitions

// All definitions in the order of ops.def.
const std::vector<const OpDefinition*>& all_ops();
// Throws Error with the nearest known name.
const OpDefinition& find_op(std::string_view name);
// A graph of these ops from its text form.
inline Graph parse_graph(std::string_view text) { return parse_graph(text, find_op); }

}  // namespace pando
