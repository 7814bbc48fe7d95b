// SPDX-License-Identifier: Apache-2.0
// The table that drives the tests of every op: one entry per op, one line per elementwise op.
#pragma once
#include <pando/graph/graph.h>

#include <optional>
#include <ostream>

#include "ops/op_list.h"
#include "tests/ops/reference.h"
#include "tests/ops/tensor.h"

namespace pando::test {

// An array of sizes as the value of an attribute.
inline Integers list(const auto& values) { return {values.begin(), values.end()}; }

struct InputSpec {
  Shape shape;
  // The type under test unless given.
  std::optional<DType> dtype = {};
  Domain domain = {};
  bool differentiable = true;
};

// One use of an op: what goes in, and what a plain reference says must come out, with its types.
struct Case {
  std::vector<InputSpec> inputs = {};
  std::function<Tensors(const Tensors&)> reference = {};
  Attributes attributes = {};
  // Adds the op with a public builder, instead of Graph::add with the attributes.
  std::function<std::vector<Value>(Graph&, const std::vector<Value>&)> build = {};
  // Replaces inputs that have to fit each other.
  std::function<void(Tensors&)> prepare = {};
  // Times the tolerance of the type: for long sums.
  double slack = 1;
  bool has_gradient = true;
  double difference_step = 1e-6;
};

struct Entry {
  std::string_view op;
  std::vector<Case> cases = {};
  // The types under test.
  std::vector<DType> dtypes = {DType::float32, DType::float64};
};

// What GoogleTest shows of an entry.
inline void PrintTo(const Entry& entry, std::ostream* out) { *out << entry.op; }

inline const std::vector<DType> numeric_types = {DType::float32, DType::float64, DType::int32, DType::int64};
inline const std::vector<DType> all_types = {DType::float32, DType::float64, DType::bfloat16, DType::int32,
                                             DType::int64,   DType::uint8,   DType::boolean};

// All entries, in families.
std::vector<Entry> op_table();
std::vector<Entry> elementwise_entries();
std::vector<Entry> matmul_entries();
std::vector<Entry> conv_entries();
std::vector<Entry> pool_entries();
std::vector<Entry> reduce_entries();
std::vector<Entry> loss_entries();
std::vector<Entry> shape_entries();
std::vector<Entry> indexed_entries();
std::vector<Entry> cumulative_entries();
std::vector<Entry> sort_entries();
std::vector<Entry> norm_entries();
std::vector<Entry> random_entries();
std::vector<Entry> update_entries();
std::vector<Entry> fused_entries();

// What builders compose of several ops, under the op that they end in.
std::vector<Entry> composed_table();
std::vector<Case> composed_losses();
std::vector<Case> composed_norms();
std::vector<Entry> composed_volumes();

}  // namespace pando::test
