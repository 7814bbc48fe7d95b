// SPDX-License-Identifier: Apache-2.0
#include "model/fed_indices.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/op_definition.h"
#include "ops/op_list.h"

namespace pando {

namespace {

// A cast to another type than these makes other numbers.
bool keeps_numbers(const Node& node) {
  if (node.op->id == Op::reshape || node.op->id == Op::transpose) return true;
  if (node.op->id != Op::cast) return false;
  const DType to = node.outputs[0].dtype;
  return to == DType::int32 || to == DType::int64 || to == DType::float32 || to == DType::float64;
}

// The column that the values are, or the number of columns.
std::size_t column_of(const Graph& step, ValueId id, const std::vector<std::string>& columns, DType& fed) {
  while (keeps_numbers(step.node(id))) id = step.node(id).inputs[0];
  const Node& source = step.node(id);
  if (!is_role(source, Role::input)) return columns.size();
  fed = step.type(id).dtype;
  const auto found = std::find(columns.begin(), columns.end(), source.attributes.text("name"));
  return static_cast<std::size_t>(found - columns.begin());
}

// A cast to int32 leaves out what is after the point. Written so that NaN is outside.
template <class T>
bool is_below(T value, std::int64_t count) {
  if constexpr (std::is_floating_point_v<T>)
    return static_cast<double>(value) > -1.0 && static_cast<double>(value) < static_cast<double>(count);
  else return static_cast<std::int64_t>(value) >= 0 && static_cast<std::int64_t>(value) < count;
}

template <class T>
bool is_ignored(T value, std::optional<std::int64_t> ignored) {
  if constexpr (std::is_floating_point_v<T>)
    return ignored && static_cast<double>(value) == static_cast<double>(*ignored);
  else return ignored && static_cast<std::int64_t>(value) == *ignored;
}

template <class T>
void check_as(const FedIndices& indices, const std::byte* values, std::int64_t count) {
  const T *first = reinterpret_cast<const T*>(values), *last = first + count;
  const T* outside = std::find_if(first, last, [&](T value) {
    return !is_below(value, indices.range.size) && !is_ignored(value, indices.ignored);
  });
  if (outside == last) return;
  const std::string value = fmt::format("{}", *outside);
  throw Error(indices.choice == FedIndices::Choice::rows
                  ? index_out_of_range(indices.op, indices.name, value, indices.range)
                  : not_a_class(indices.op, indices.name, value, indices.range.size, indices.ignored));
}

// What an op chooses from by its second input; nothing if it does not.
std::optional<FedIndices> choice_of(const Graph& graph, const Node& node) {
  if (node.inputs.size() < 2) return std::nullopt;
  FedIndices made{.op = std::string(node.op->name), .name = node.name};
  const Shape& chosen_from = graph.type(node.inputs[0]).shape;
  if (const auto range = index_range(*node.op, node.attributes, chosen_from)) {
    made.range = *range;
    return made;
  }
  if (node.op->id != Op::sparse_softmax_cross_entropy) return std::nullopt;
  made.choice = FedIndices::Choice::classes;
  made.range.size = chosen_from[chosen_from.rank() - 1];
  const Integers& ignored = node.attributes.integers("ignored");
  if (!ignored.empty()) made.ignored = ignored.front();
  return made;
}

}  // namespace

void FedIndices::check(const std::byte* values, std::int64_t value_count) const {
  switch (dtype) {
    case DType::float32: return check_as<float>(*this, values, value_count);
    case DType::float64: return check_as<double>(*this, values, value_count);
    case DType::int32: return check_as<std::int32_t>(*this, values, value_count);
    case DType::int64: return check_as<std::int64_t>(*this, values, value_count);
    case DType::uint8:
    case DType::boolean: return check_as<std::uint8_t>(*this, values, value_count);
    case DType::bfloat16: return;
  }
}

std::vector<FedIndices> find_fed_indices(const Trace& step, const std::vector<std::string>& columns) {
  std::vector<FedIndices> found;
  const auto add = [&](FedIndices indices, ValueId chosen_by) {
    indices.column = column_of(step.graph(), chosen_by, columns, indices.dtype);
    // What a loss says by its own name, its op need not say again.
    const auto is_said = [&](const FedIndices& other) {
      return other.column == indices.column && other.choice == FedIndices::Choice::classes &&
             other.choice == indices.choice && other.range.size == indices.range.size &&
             other.ignored == indices.ignored;
    };
    if (indices.column < columns.size() && std::none_of(found.begin(), found.end(), is_said))
      found.push_back(std::move(indices));
  };
  for (const Trace::Classes& classes : step.expected_classes())
    add({.choice = FedIndices::Choice::classes,
         .range = {.size = classes.count},
         .ignored = classes.ignored,
         .op = classes.loss,
         .name = classes.name},
        classes.targets.id());
  for (const Node& node : step.graph().nodes())
    if (std::optional<FedIndices> choice = choice_of(step.graph(), node)) add(std::move(*choice), node.inputs[1]);
  return found;
}

}  // namespace pando
