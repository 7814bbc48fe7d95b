// SPDX-License-Identifier: Apache-2.0
#include "tests/ops/op_table.h"

namespace pando::test {

std::vector<Entry> op_table() {
  std::vector<Entry> table;
  for (const auto& family : {elementwise_entries(), fused_entries(), matmul_entries(), conv_entries(), pool_entries(),
                             reduce_entries(), loss_entries(), shape_entries(), indexed_entries(), cumulative_entries(),
                             sort_entries(), random_entries(), norm_entries(), update_entries()})
    table.insert(table.end(), family.begin(), family.end());
  return table;
}

std::vector<Entry> composed_table() {
  std::vector<Entry> table = {{"reduce_mean", composed_losses()}, {"add", composed_norms()}};
  for (const Entry& entry : composed_volumes()) table.push_back(entry);
  return table;
}

}  // namespace pando::test
