// SPDX-License-Identifier: Apache-2.0
// SampleRows: which values of a forward pass keep the samples of a batch apart.
//
// A batch that is not full is filled up with copies of a sample, and a mask says which samples are real. The results of
// a step are right only if none of them depends on the copies. So this class follows each value from the inputs. A
// value is per sample while part i of it depends only on sample i: the parts of copies can be cut off. Once those were
// multiplied by the mask's 0, the samples may be added up. An op that is not known to keep samples apart mixes them.
#pragma once
#include <pando/graph/graph.h>

#include <optional>
#include <string>
#include <vector>

namespace pando {

class SampleRows {
 public:
  enum class Dependence {
    // It depends on no sample, or only on real ones.
    none,
    // It has the same number of rows, along axis 0, for each sample, and these depend on no other sample.
    rows,
    // The same, and the rows of copies are 0.
    masked_rows,
    // It may depend on copies.
    mixed
  };

  // Analyses the graph as it is now. `mask` is an input, [samples]: 1 for real samples and 0 for copies. All other
  // inputs except the counter have samples along axis 0. Of `promised` it is known that they have rows.
  SampleRows(const Graph& graph, Value mask, const std::vector<Value>& promised = {});

  Dependence of(Value value) const { return of_value(value.id()); }
  // The name of the first node that mixes samples, or of its op; nothing if none does.
  std::optional<std::string> first_mixture() const;

 private:
  Dependence of_value(ValueId id) const {
    return dependences_[static_cast<std::size_t>(id.node)][static_cast<std::size_t>(id.output)];
  }
  Dependence of_source(const Node& node) const;
  // For the outputs of a node with an input that depends on samples, and none that mixes them.
  std::vector<Dependence> of_outputs(const Node& node) const;
  // Whether the inputs that depend on samples have their rows where the first output has them.
  bool rows_are_aligned(const Node& node) const;

  const Graph& graph_;
  const std::int64_t samples_;
  const ValueId mask_;
  std::vector<std::vector<Dependence>> dependences_;
};

// The mask, [rows], for a value of `rows` rows, with the same number for each sample.
Value mask_of_rows(Value mask, std::int64_t rows);

}  // namespace pando
