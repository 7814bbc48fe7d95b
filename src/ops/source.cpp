// Where values come from: fed each step, kept between steps, or compiled in.
#include <pando/ops/ops.h>

#include <fmt/format.h>

#include "ops/checks.h"

namespace pando {

namespace {

std::vector<Type> infer_named(const OpCall& call) {
  if (call.attributes.text("name").empty()) call.fail("needs a name; give one that no other input or variable has");
  return {{call.attributes.dtype("dtype"), shape_attribute(call, "shape")}};
}

std::vector<Type> infer_constant(const OpCall& call) {
  const Array& value = call.attributes.array("value");
  return {{value.dtype(), value.shape()}};
}

Attributes named(const std::string& name, DType dtype, const Shape& shape) {
  return {{"name", name}, {"dtype", dtype}, {"shape", Integers(shape.begin(), shape.end())}};
}

}  // namespace

namespace definitions {

const OpDefinition input = {.id = Op::input,
                            .name = "input",
                            .doc = "a value fed each step",
                            .attributes = {{"name", std::string()}, {"dtype", DType::float32}, {"shape", Integers()}},
                            .min_inputs = 0,
                            .infer = infer_named,
                            .role = Role::input};
const OpDefinition variable = {
    .id = Op::variable,
    .name = "variable",
    .doc = "a value kept between steps; assignments change it",
    .attributes = {{"name", std::string()}, {"dtype", DType::float32}, {"shape", Integers()}},
    .min_inputs = 0,
    .infer = infer_named,
    .role = Role::variable};
const OpDefinition constant = {.id = Op::constant,
                               .name = "constant",
                               .doc = "a value compiled in",
                               .attributes = {{"value", Array()}},
                               .min_inputs = 0,
                               .infer = infer_constant,
                               .role = Role::constant};

}  // namespace definitions

namespace ops {

Value input(Graph& graph, const std::string& name, DType dtype, const Shape& shape) {
  return single(graph.add(definitions::input, {}, named(name, dtype, shape)));
}

Value variable(Graph& graph, const std::string& name, DType dtype, const Shape& shape) {
  return single(graph.add(definitions::variable, {}, named(name, dtype, shape)));
}

Value constant(Graph& graph, const Array& value) {
  return single(graph.add(definitions::constant, {}, {{"value", value}}));
}

Value scalar(Value like, double value) { return constant(like.graph(), Array::scalar(value).astype(like.dtype())); }

}  // namespace ops

}  // namespace pando
