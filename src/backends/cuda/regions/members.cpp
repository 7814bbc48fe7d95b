// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/regions/members.h"

#include <algorithm>
#include <map>

#include "graph/elementwise_program.h"
#include "ops/op_list.h"
#include "ops/update.h"
#include "ops/window.h"
#include "plan/matrices.h"

namespace pando::cuda {

namespace {

// A thread finds the sum of a row of a softmax for itself.
constexpr std::int64_t most_classes = 128;
// Sums that a thread keeps in registers.
constexpr std::int64_t most_taps = 25, most_patch = 40;

bool is_batched(const Shape& shape, std::int64_t batch) { return shape.rank() > 0 && shape[0] == batch; }

bool is_plain(DType dtype) { return dtype != DType::bfloat16 && dtype != DType::float64; }

bool can_emit(const ElementwiseProgram& program) {
  for (const auto& instruction : program.instructions)
    if (instruction.result == DType::bfloat16) return false;
  return std::none_of(program.operands.begin(), program.operands.end(),
                      [](DType dtype) { return dtype == DType::bfloat16; });
}

// An operand broadcasts along the samples, or has one element or row for each.
bool broadcasts_by_sample(const Shape& operand, const Shape& result) {
  return operand.rank() == result.rank() && operand[0] == result[0];
}

bool is_program(const KernelCall& call) {
  const std::shared_ptr<const ElementwiseProgram> program =
      call.op->id == Op::fused ? call.attributes.program("program") : nullptr;
  if (program != nullptr) return can_emit(*program);
  return call.op->id != Op::cast ||
         (call.inputs[0].type.dtype != DType::bfloat16 && call.outputs[0].type.dtype != DType::bfloat16);
}

bool has_plain_epilogue(const KernelCall& call) {
  const Attribute* const attribute = call.attributes.find("epilogue");
  if (attribute == nullptr) return true;
  const auto program = call.attributes.program("epilogue");
  return program == nullptr || can_emit(*program);
}

bool is_small_patch(const KernelCall& call, const Shape& filter) {
  const Window pool = pool_window(call.attributes, "pool_");
  return (pool.kernel[0] - 1 + filter[0]) * (pool.kernel[1] - 1 + filter[1]) <= most_patch;
}

bool is_float(const Operand& operand) { return operand.type.dtype == DType::float32; }

bool is_local_convolution(const KernelCall& call) {
  if (call.attributes.integer("groups") != 1 || !is_float(call.inputs[0])) return false;
  switch (call.op->id) {
    case Op::conv2d:
    case Op::conv2d_max_pool: {
      const Shape& filter = call.inputs[1].type.shape;
      const bool is_pooled = call.op->id == Op::conv2d_max_pool;
      if (is_pooled && pool_window(call.attributes, "pool_").area() > 9) return false;
      return filter[0] * filter[1] <= 2 * most_taps && has_plain_epilogue(call);
    }
    case Op::conv2d_input_gradient: return true;
    case Op::conv2d_max_pool_input_gradient:
      return is_small_patch(call, call.inputs[1].type.shape) && call.inputs[2].type.dtype == DType::uint8;
    default: return false;
  }
}

bool is_local_op(const KernelCall& call, std::int64_t batch) {
  for (const Operand& output : call.outputs)
    if (!is_batched(output.type.shape, batch) || !is_plain(output.type.dtype)) return false;
  if (reads_views(call)) return false;
  if (call.op->elementwise) return is_program(call);
  switch (call.op->id) {
    case Op::matmul:
      return call.inputs[0].type.shape.rank() == 2 && call.inputs[1].type.shape.rank() == 2 &&
             is_float(call.inputs[0]) && !call.attributes.flag("transpose_a") && has_plain_epilogue(call);
    case Op::conv2d:
    case Op::conv2d_max_pool:
    case Op::conv2d_input_gradient:
    case Op::conv2d_max_pool_input_gradient: return is_local_convolution(call);
    case Op::max_pool: return is_float(call.inputs[0]);
    case Op::max_pool_gradient: return is_float(call.inputs[0]) && call.inputs[1].type.dtype == DType::uint8;
    case Op::softmax:
    case Op::softmax_gradient:
    case Op::log_softmax:
    case Op::softmax_cross_entropy:
    case Op::sparse_softmax_cross_entropy: {
      const Shape& logits = call.inputs[0].type.shape;
      return logits.rank() == 2 && logits[1] <= most_classes && is_float(call.inputs[0]);
    }
    case Op::argmax: {
      const Shape& x = call.inputs[0].type.shape;
      return x.rank() == 2 && call.attributes.integer("axis") == 1 && x[1] <= most_classes && is_float(call.inputs[0]);
    }
    case Op::dropout: return is_float(call.inputs[0]);
    case Op::broadcast: return call.inputs[0].type.shape.elements() == 1;
    case Op::transpose: return call.attributes.integers("permutation")[0] == 0;
    default: return false;
  }
}

bool is_sum_op(const KernelCall& call) {
  switch (call.op->id) {
    case Op::reduce_sum:
    case Op::reduce_mean: {
      // The first axes, so that what is left are columns.
      const Integers& axes = call.attributes.integers("axes");
      for (std::size_t i = 0; i < axes.size(); ++i)
        if (axes[i] != static_cast<std::int64_t>(i)) return false;
      return !axes.empty() && is_float(call.inputs[0]);
    }
    case Op::conv2d_weight_gradient: return call.attributes.integer("groups") == 1 && is_float(call.inputs[0]);
    case Op::conv2d_max_pool_weight_gradient: {
      const Shape& filter = call.outputs[0].type.shape;
      return call.attributes.integer("groups") == 1 && is_float(call.inputs[0]) && filter[0] * filter[1] <= most_taps &&
             call.inputs[2].type.dtype == DType::uint8;
    }
    default: return false;
  }
}

bool is_product_op(const KernelCall& call) {
  if ((call.op->id != Op::matmul && call.op->id != Op::matmul_update) || reads_views(call)) return false;
  if (call.op->id == Op::matmul && call.attributes.program("epilogue") != nullptr) return false;
  return call.inputs[0].type.shape.rank() == 2 && call.inputs[1].type.shape.rank() == 2 && is_float(call.inputs[0]) &&
         call.attributes.flag("transpose_a") && !call.attributes.flag("transpose_b");
}

class Finder {
 public:
  Finder(const Plan& plan, const PlanValues& values, std::int64_t batch) : plan_(plan), values_(values) {
    const std::size_t calls = values.calls.size();
    found_ = {.batch = batch,
              .membership = std::vector<Membership>(calls, Membership::outside),
              .is_before = std::vector<bool>(calls, false)};
    depends_.assign(calls, false);
  }

  RegionCalls run() {
    for (int call = 0; call < static_cast<int>(values_.calls.size()); ++call) add(call);
    for (int call = static_cast<int>(values_.calls.size()) - 1; call >= 0; --call)
      if (is_number(call)) found_.membership[at(call)] = Membership::number;
    for (int call = static_cast<int>(values_.calls.size()) - 1; call >= 0; --call) mark_before(call);
    return std::move(found_);
  }

 private:
  std::size_t at(int call) const { return static_cast<std::size_t>(call); }
  int producer(int value) const { return value < 0 ? -1 : values_.values[at(value)].producer; }

  // Calls that must have run before: those that make its inputs, and those that read what it overwrites.
  std::vector<int> before(int call) const {
    std::vector<int> all = values_.overwritten[at(call)];
    for (int value : values_.inputs[at(call)])
      if (producer(value) >= 0) all.push_back(producer(value));
    std::erase(all, call);
    return all;
  }

  void add(int call) {
    const std::vector<int> all = before(call);
    // Whether a result of the region must be complete before the call can begin.
    const bool waits = std::any_of(all.begin(), all.end(), [&](int other) {
      return depends_[at(other)] || (found_.contains(other) && !found_.is(other, Membership::local));
    });
    Membership& own = found_.membership[at(call)];
    if (!waits) own = kind_of(call);
    if (own == Membership::outside && is_update(call)) own = Membership::update;
    if (own == Membership::outside && is_advance(call)) own = Membership::advance;
    if (own == Membership::outside)
      depends_[at(call)] =
          waits || std::any_of(all.begin(), all.end(), [&](int other) { return found_.contains(other); });
  }

  Membership kind_of(int call) const {
    const KernelCall& own = *values_.calls[at(call)];
    // The kernel before the last one of a region writes no variables: others still read them.
    const bool writes_variable =
        std::any_of(own.outputs.begin(), own.outputs.end(), [&](const Operand& output) { return !is_arena(output); });
    if (!writes_variable && is_local_op(own, found_.batch) && reads_own_samples(call)) return Membership::local;
    if (!writes_variable && is_sum_op(own) && is_batched(own.inputs[0].type.shape, found_.batch) &&
        reads_own_samples(call))
      return Membership::sum;
    if (is_product_op(own) && own.inputs[0].type.shape[0] == found_.batch && makes_factor(call))
      return Membership::product;
    return Membership::outside;
  }

  bool is_arena(const Operand& operand) const {
    return operand.buffer < 0 || plan_.buffers[at(operand.buffer)].kind == Buffer::Kind::arena;
  }

  // Whether all that it reads of the region is of its own sample.
  bool reads_own_samples(int call) const {
    const KernelCall& own = *values_.calls[at(call)];
    for (std::size_t i = 0; i < own.inputs.size(); ++i) {
      const int from = producer(values_.inputs[at(call)][i]);
      if (from >= 0 && found_.contains(from) && !reads_by_sample(own, i, found_.batch)) return false;
    }
    return true;
  }

  bool makes_factor(int call) const {
    const int a = producer(values_.inputs[at(call)][0]), b = producer(values_.inputs[at(call)][1]);
    const auto is_local = [&](int from) { return from >= 0 && found_.is(from, Membership::local); };
    return is_local(a) || is_local(b);
  }

  // An update that waits for nothing but sums and products of this region, and whose rate no other call changes.
  bool is_update(int call) const {
    const KernelCall& own = *values_.calls[at(call)];
    if (!own.op->is_update) return false;
    const UpdateLayout layout = update_layout(*own.op, own.attributes);
    bool uses_sum = false;
    for (std::size_t i = 0; i < own.inputs.size(); ++i) {
      const int from = producer(values_.inputs[at(call)][i]);
      if (!is_float(own.inputs[i]) && static_cast<int>(i) >= layout.scalars) return false;
      if (from < 0) continue;
      const bool is_gradient = static_cast<int>(i) >= layout.scalars &&
                               (static_cast<int>(i) - layout.scalars) % layout.inputs_per_group == 1;
      const bool is_sum = found_.is(from, Membership::sum) ||
                          (found_.is(from, Membership::product) && values_.calls[at(from)]->op->id == Op::matmul);
      if (is_gradient && is_sum && is_used_once(values_.inputs[at(call)][i])) uses_sum = true;
      else if (depends_[at(from)] || found_.contains(from)) return false;
    }
    // Its results replace what it reads; calls outside the region must have read that before.
    for (int other : values_.overwritten[at(call)])
      if (other != call && !found_.is(other, Membership::local)) return false;
    return uses_sum;
  }

  bool is_advance(int call) const {
    const KernelCall& own = *values_.calls[at(call)];
    const auto is_number = [](const Operand& operand) {
      return is_plain(operand.type.dtype) && operand.type.shape.rank() == 0;
    };
    if (!own.op->elementwise || !is_program(own) || own.outputs.size() != 1 || is_arena(own.outputs[0])) return false;
    if (!is_number(own.outputs[0]) || !std::all_of(own.inputs.begin(), own.inputs.end(), is_number)) return false;
    const std::vector<int>&read = values_.inputs[at(call)], &readers = values_.overwritten[at(call)];
    return std::all_of(read.begin(), read.end(), [&](int value) { return producer(value) < 0; }) &&
           std::any_of(readers.begin(), readers.end(), [&](int other) { return other != call; }) &&
           std::all_of(readers.begin(), readers.end(),
                       [&](int other) { return other == call || found_.is(other, Membership::update); });
  }

  bool is_number(int call) const {
    if (found_.contains(call) || depends_[at(call)]) return false;
    const KernelCall& own = *values_.calls[at(call)];
    const auto is_single = [](const Operand& operand) { return operand.type.shape.elements() == 1; };
    const bool is_slice = own.op->id == Op::slice && own.inputs[0].type.shape.rank() == 1;
    const bool is_simple = is_slice || (own.op->elementwise && is_program(own) &&
                                        std::all_of(own.inputs.begin(), own.inputs.end(), is_single));
    if (!is_simple || own.outputs.size() != 1 || !is_single(own.outputs[0]) || !is_arena(own.outputs[0])) return false;
    const int value = values_.outputs[at(call)][0];
    if (value < 0 || values_.values[at(value)].leaves) return false;
    const std::vector<int>& readers = values_.values[at(value)].readers;
    const auto makes_it = [&](int reader) {
      return found_.is(reader, Membership::number) ||
             (found_.is(reader, Membership::update) && reads_number(reader, value));
    };
    const auto overwrites = [&](const std::vector<int>& others) {
      return std::find(others.begin(), others.end(), call) != others.end();
    };
    return !readers.empty() && std::all_of(readers.begin(), readers.end(), makes_it) &&
           std::none_of(values_.overwritten.begin(), values_.overwritten.end(), overwrites);
  }

  // Whether an update reads a value as its rate or step alone.
  bool reads_number(int update, int value) const {
    const std::vector<int>& inputs = values_.inputs[at(update)];
    const KernelCall& own = *values_.calls[at(update)];
    const auto parameters = inputs.begin() + update_layout(*own.op, own.attributes).scalars;
    return std::find(parameters, inputs.end(), value) == inputs.end();
  }

  // Whether one parameter alone moves along a gradient: the thread that sums it moves that.
  bool is_used_once(int value) const {
    const std::vector<int>& readers = values_.values[at(value)].readers;
    return std::count_if(readers.begin(), readers.end(),
                         [&](int reader) { return values_.calls[at(reader)]->op->is_update; }) == 1;
  }

  void mark_before(int call) {
    if (!found_.contains(call) && !found_.is_before[at(call)]) return;
    for (int other : before(call))
      if (!found_.contains(other)) found_.is_before[at(other)] = true;
  }

  const Plan& plan_;
  const PlanValues& values_;
  RegionCalls found_;
  // Whether an outside call needs a result of the region.
  std::vector<bool> depends_;
};

// What most feeds have as their first axis.
std::int64_t batch_of(const Plan& plan) {
  std::map<std::int64_t, int> counts;
  for (const Port& input : plan.inputs)
    if (input.type.shape.rank() > 0) ++counts[input.type.shape[0]];
  const auto most =
      std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == counts.end() ? 0 : most->first;
}

}  // namespace

bool reads_by_sample(const KernelCall& call, std::size_t input, std::int64_t batch) {
  const Shape& shape = call.inputs[input].type.shape;
  if (!is_batched(shape, batch)) return false;
  if (call.op->elementwise) return broadcasts_by_sample(shape, call.outputs[0].type.shape);
  switch (call.op->id) {
    case Op::matmul:
    case Op::conv2d:
    case Op::conv2d_max_pool:
      return input == 0 || (input > 1 && broadcasts_by_sample(shape, call.outputs[0].type.shape));
    case Op::conv2d_input_gradient: return input == 0;
    case Op::conv2d_max_pool_input_gradient: return input != 1;
    case Op::dropout: return input == 0;
    case Op::broadcast: return false;
    default: return true;
  }
}

RegionCalls find_members(const Plan& plan, const PlanValues& values) {
  return Finder(plan, values, batch_of(plan)).run();
}

}  // namespace pando::cuda
