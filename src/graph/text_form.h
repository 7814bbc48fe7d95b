// SPDX-License-Identifier: Apache-2.0
// The parts of the text form that graphs and plans share.
#pragma once
#include "graph/op_definition.h"

namespace pando {

// " {alpha = 0.2, axes = [0, 1]}": the attributes that differ from the op's defaults; empty if there are none.
std::string attributes_text(const OpDefinition& op, const Attributes& attributes);
// "  # dense/gradient", or "  # \"block/dense\"/gradient" if the layer's name has a '/'; empty without a name.
std::string origin_text(const std::string& name, const std::string& layer);
// "<1, 2>"; constants of more than 16 elements are shown by their size and cannot be read back.
std::string array_text(const Array& array);

}  // namespace pando
