// SPDX-License-Identifier: Apache-2.0
// Shape rules that several op families share.
#pragma once
#include "ops/op_list.h"

namespace pando {

// Throws unless input `input` has one of the types.
void require_dtype(const OpCall& call, std::size_t input, std::initializer_list<DType> allowed);
void require_floating(const OpCall& call, std::size_t input);
void require_same_dtype(const OpCall& call);
// Throws unless input `input` has `rank` axes; `meaning` says which ("[batch, height, width, channels]").
void require_rank(const OpCall& call, std::size_t input, int rank, std::string_view meaning);

// An op that fusion may end with an elementwise program has the attribute "epilogue"; its first `own_inputs` inputs are
// the op's own, the rest the program's operands 1 and on; operand 0 is the op's result of type `raw`.
inline const AttributeDefinition epilogue_attribute = {"epilogue", std::shared_ptr<const ElementwiseProgram>()};
std::vector<Type> epilogue_types(const OpCall& call, const Type& raw, std::size_t own_inputs);

// The only value of a node with one output.
Value single(std::vector<Value> values);

}  // namespace pando
