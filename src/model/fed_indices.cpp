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
bool is_row(T value, std::int64_t rows) {
  if constexpr (std::is_floating_point_v<T>)
    return static_cast<double>(value) > -1.0 && static_cast<double>(value) < static_cast<double>(rows);
  else return static_cast<std::int64_t>(value) >= 0 && static_cast<std::int64_t>(value) < rows;
}

template <class T>
void check_as(const FedIndices& indices, const std::byte* values, std::int64_t count) {
  const T *first = reinterpret_cast<const T*>(values), *last = first + count;
  const T* outside = std::find_if(first, last, [&](T value) { return !is_row(value, indices.range.size); });
  if (outside != last)
    throw Error(index_out_of_range(indices.op, indices.name, fmt::format("{}", *outside), indices.range));
}

}  // namespace

void FedIndices::check(const std::byte* values, std::int64_t count) const {
  switch (dtype) {
    case DType::float32: return check_as<float>(*this, values, count);
    case DType::float64: return check_as<double>(*this, values, count);
    case DType::int32: return check_as<std::int32_t>(*this, values, count);
    case DType::int64: return check_as<std::int64_t>(*this, values, count);
    case DType::uint8:
    case DType::boolean: return check_as<std::uint8_t>(*this, values, count);
    case DType::bfloat16: return;
  }
}

std::vector<FedIndices> find_fed_indices(const Graph& step, const std::vector<std::string>& columns) {
  std::vector<FedIndices> found;
  for (const Node& node : step.nodes()) {
    if (node.inputs.empty()) continue;
    const auto range = index_range(*node.op, node.attributes, step.type(node.inputs[0]).shape);
    if (!range) continue;
    FedIndices indices{.range = *range, .op = std::string(node.op->name), .name = node.name};
    indices.column = column_of(step, node.inputs[1], columns, indices.dtype);
    if (indices.column < columns.size()) found.push_back(std::move(indices));
  }
  return found;
}

}  // namespace pando
