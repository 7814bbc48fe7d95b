// SampleRows: which values of a forward pass keep the samples of a batch apart.
//
// A batch that is not full is filled up with copies of a sample, and a mask says which samples are real. What a step
// gives is right only if none of it depends on the copies. So each value is followed from the inputs on: as long as
// sample i makes part i of a value, and nothing else of it, the copies can be cut off; and where the parts of copies
// were multiplied by the mask's 0, the samples may be added up. An op that is not known to keep samples apart mixes
// them.
#pragma once
#include <pando/graph/graph.h>

#include <optional>
#include <string>
#include <vector>

namespace pando {

class SampleRows {
 public:
  enum class Dependence {
    // On no sample, or on real ones only.
    none,
    // It has equally many rows, along axis 0, for each sample, which depend on no other.
    rows,
    // The same, and the rows of copies are 0.
    masked_rows,
    // It may depend on copies.
    mixed
  };

  // Of the graph as it is now. `mask` is an input, [samples]: 1 for real ones and 0 for copies. The other inputs have
  // samples along axis 0, but for the counter.
  SampleRows(const Graph& graph, Value mask);

  Dependence of(Value value) const { return of_value(value.id()); }
  // The name of the first node that mixes samples, or of its op; nothing if none does.
  std::optional<std::string> first_mixture() const;

 private:
  Dependence of_value(ValueId id) const {
    return dependences_[static_cast<std::size_t>(id.node)][static_cast<std::size_t>(id.output)];
  }
  Dependence of_source(const Node& node) const;
  // Of the outputs of a node of which an input depends on samples, and none is mixed.
  std::vector<Dependence> of_outputs(const Node& node) const;
  // Whether the inputs that depend on samples have their rows where the first output has them.
  bool rows_are_aligned(const Node& node) const;

  const Graph& graph_;
  const std::int64_t samples_;
  const ValueId mask_;
  std::vector<std::vector<Dependence>> dependences_;
};

// The mask for a value of `rows` rows, equally many for each sample: [rows].
Value mask_of_rows(Value mask, std::int64_t rows);

}  // namespace pando
