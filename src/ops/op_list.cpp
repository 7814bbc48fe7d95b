// SPDX-License-Identifier: Apache-2.0
#include "ops/op_list.h"

#include "base/text.h"

namespace pando {

const std::vector<const OpDefinition*>& all_ops() {
  static const std::vector<const OpDefinition*> all = {
#define PANDO_OP(name) &definitions::name,
#include "ops/ops.def"
  };
  return all;
}

const OpDefinition& find_op(std::string_view name) {
  std::vector<std::string> known;
  for (const OpDefinition* op : all_ops()) {
    if (op->name == name) return *op;
    known.emplace_back(op->name);
  }
  throw Error(unknown_name("op", name, known));
}

}  // namespace pando
