// SPDX-License-Identifier: Apache-2.0
#include <pando/frontends/tf1/compile.h>

#include <fmt/format.h>

#include "frontends/tf1/computation.h"

namespace pando::ipu {

namespace scopes {

ipu_scope::ipu_scope(const std::string& device) : target_(find_ipu_target("ipu_scope", device)) {
  enter_target(target_);
}

ipu_scope::~ipu_scope() { leave_target(target_); }

}  // namespace scopes

namespace ipu_compiler {

namespace {

void trace(tf1::Computation& computation, const tf1::TracedFunction& function, const std::vector<Tensor>& inputs) {
  tf1::Tracer tracer(computation);
  std::vector<Tensor> traced;
  for (const Tensor& input : inputs) traced.emplace_back(tracer.step().traced.trace, tracer.argument(input));
  const tf1::Outputs outputs = function("compile", traced);
  tf1::TracedGraph& last = tracer.step().traced;
  if (outputs.tensors().empty()) return;
  const std::vector<Value> values = values_in(last.trace, "compile", outputs.tensors());
  for (std::size_t i = 0; i < values.size(); ++i) last.graph.add_output(fmt::format("output{}", i), values[i]);
}

}  // namespace

tf1::Compiled compile(const tf1::TracedFunction& function, const std::vector<Tensor>& inputs) {
  const auto target = current_target();
  if (target->is_host)
    throw Error(
        "compile: there is no device to compile for; make an ipu::scopes::ipu_scope(\"/device:IPU:0\") around it");
  auto computation = std::make_shared<tf1::Computation>(target);
  const std::size_t variables = tf1::DefaultGraph::current().end();
  try {
    trace(*computation, function, inputs);
    computation->finish();
  } catch (...) {
    tf1::DefaultGraph::current().forget_since(variables);
    throw;
  }
  return tf1::Compiled(computation);
}

}  // namespace ipu_compiler

namespace utils {

IPUConfig create_ipu_config() { return {}; }
IPUConfig auto_select_ipus(IPUConfig config, const Counts& num_ipus) {
  config.auto_select_ipus = num_ipus;
  return config;
}
IPUConfig select_ipus(IPUConfig config, const Counts& indices) {
  config.select_ipus = indices;
  return config;
}
void configure_ipu_system(const IPUConfig& config) { config.configure_ipu_system(); }

}  // namespace utils

}  // namespace pando::ipu
