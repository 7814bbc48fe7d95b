// SPDX-License-Identifier: Apache-2.0
// Where values come from: fed each step, kept between steps, compiled in, or counted.
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

std::vector<Type> infer_input(const OpCall& call) {
  port_kind_named(call.attributes.text("port"));
  return infer_named(call);
}

std::vector<Type> infer_variable(const OpCall& call) {
  variable_role_named(call.attributes.text("role"));
  return infer_named(call);
}

std::vector<Type> infer_counter(const OpCall&) { return {{DType::int64, {2}}}; }

Attributes named(const std::string& name, DType dtype, const Shape& shape) {
  return {{"name", name}, {"dtype", dtype}, {"shape", Integers(shape.begin(), shape.end())}};
}

}  // namespace

namespace definitions {

const OpDefinition input = {.id = Op::input,
                            .name = "input",
                            .doc = "a value fed each step",
                            .attributes = {{"name", std::string()},
                                           {"dtype", DType::float32},
                                           {"shape", Integers()},
                                           {"port", std::string("host")},
                                           {"number", std::int64_t{0}}},
                            .min_inputs = 0,
                            .infer = infer_input,
                            .role = Role::input};
const OpDefinition variable = {.id = Op::variable,
                               .name = "variable",
                               .doc = "a value kept between steps; assignments change it",
                               .attributes = {{"name", std::string()},
                                              {"dtype", DType::float32},
                                              {"shape", Integers()},
                                              {"role", std::string("weight")},
                                              {"number", std::int64_t{0}}},
                               .min_inputs = 0,
                               .infer = infer_variable,
                               .role = Role::variable};
const OpDefinition constant = {.id = Op::constant,
                               .name = "constant",
                               .doc = "a value compiled in",
                               .attributes = {{"value", Array()}},
                               .min_inputs = 0,
                               .infer = infer_constant,
                               .role = Role::constant};
const OpDefinition counter = {
    .id = Op::counter,
    .name = "counter",
    .doc = "the number of the update, and of the first sample of the micro-batch within it; what runs the step counts",
    .min_inputs = 0,
    .infer = infer_counter,
    .role = Role::counter};

}  // namespace definitions

namespace ops {

Value input(Graph& graph, const std::string& name, DType dtype, const Shape& shape, PortKind kind,
            std::int32_t number) {
  Attributes attributes = named(name, dtype, shape);
  attributes.set("port", std::string(pando::name(kind)));
  attributes.set("number", std::int64_t{number});
  return single(graph.add(definitions::input, {}, std::move(attributes)));
}

Value variable(Graph& graph, const std::string& name, DType dtype, const Shape& shape, VariableRole role,
               std::int32_t number) {
  Attributes attributes = named(name, dtype, shape);
  attributes.set("number", std::int64_t{number});
  attributes.set("role", std::string(pando::name(role)));
  return single(graph.add(definitions::variable, {}, std::move(attributes)));
}

Value counter(Graph& graph) { return single(graph.add(definitions::counter, {})); }

Value constant(Graph& graph, const Array& value) {
  return single(graph.add(definitions::constant, {}, {{"value", value}}));
}

Value scalar(Value like, double value) { return constant(like.graph(), Array::scalar(value).astype(like.dtype())); }

}  // namespace ops

}  // namespace pando
