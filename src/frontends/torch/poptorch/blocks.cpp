// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <atomic>

#include "frontends/torch/nn/module.h"
#include "pando/frontends/torch/poptorch/model.h"
#include "model/tensor.h"

namespace pando::poptorch {

using torch::nn::Module;
using torch::nn::Tracing;

namespace {

Tracing& tracing_for(const char* who) {
  Tracing* tracing = Tracing::current();
  if (tracing == nullptr)
    throw Error(
        fmt::format("{}: it belongs in the forward() of a model that trainingModel or inferenceModel runs", who));
  return *tracing;
}

void check_ipu(const char* who, int ipu) {
  if (ipu < 0) throw Error(fmt::format("{}: the ipu_id is {} but IPUs are numbered from 0", who, ipu));
}

void mark(const Module& module, const Module::State::Block& block) {
  module.state().block = block;
  for (const auto& [name, child] : module.named_children()) mark(child, block);
}

}  // namespace

Block::Block(int ipu_id) {
  check_ipu("Block", ipu_id);
  Tracing& tracing = tracing_for("Block");
  outer_ = tracing.current_block();
  tracing.begin_block(ipu_id);
}

Block::~Block() {
  if (Tracing* tracing = Tracing::current()) tracing->begin_block(outer_);
}

void BeginBlock(int ipu_id) {
  check_ipu("BeginBlock", ipu_id);
  tracing_for("BeginBlock").begin_block(ipu_id);
}

void begin_block_at(const Module& module, int ipu_id) {
  check_ipu("BeginBlock", ipu_id);
  static std::atomic<std::int64_t> next_number = 0;
  mark(module, {ipu_id, next_number++});
}

int begin_call(const std::string& module) {
  Tracing& tracing = tracing_for("begin_call");
  tracing.begin_call(module);
  return tracing.current_block();
}

void begin_node(const std::string& name, int stage) { tracing_for("begin_node").begin_node(name, stage); }

void end_forward() { tracing_for("end_forward").end_forward(); }

void assign_statistic(const torch::nn::Parameter& buffer, const Tensor& value) {
  Trace& trace = tracing_for("assign_statistic").trace();
  // Where the value is made, which may not be where the nodes before this call are.
  const Node& maker = trace.graph().node(value.value().id());
  const Graph::Scope scope(trace.graph(), maker);
  const Graph::StageScope stage(trace.graph(), maker.stage);
  trace.assign_statistic(buffer.state().stored, value.value());
}

Tensor identity_loss(const Tensor& x, const std::string& reduction) {
  torch::nn::check_reduction("identity_loss", reduction);
  Tracing& tracing = tracing_for("identity_loss");
  const Tensor loss = apply("identity_loss", {x}, [&](const std::vector<Value>& values) {
    return torch::nn::reduced(tracing.trace(), values[0], reduction);
  });
  tracing.set_identity_loss(loss);
  return loss;
}

}  // namespace pando::poptorch
