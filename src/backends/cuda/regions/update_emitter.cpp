// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/regions/update_emitter.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/elementwise_program.h"
#include "ops/op_list.h"
#include "ops/update.h"
#include "plan/call_program.h"

namespace pando::cuda {

namespace {

// A thread keeps as many factors of a product, read early, in its registers; twice as many would take all of them.
constexpr std::int64_t most_loaded_samples = 32;

std::size_t at(int index) { return static_cast<std::size_t>(index); }

std::string number(const Attributes& attributes, const char* name) {
  return literal(attributes.number(name), DType::float64);
}

// The rule of update_rules.h with its numbers.
std::string rule_text(const KernelCall& call) {
  const Attributes& a = call.attributes;
  switch (call.op->id) {
    case Op::sgd_update:
      return fmt::format("cuda::Sgd{{{}, {}, {}, {}}}", number(a, "momentum"), number(a, "weight_decay"),
                         a.flag("nesterov"), a.flag("rate_in_velocity"));
    case Op::adam_update:
      return fmt::format("cuda::Adam{{{}, {}, {}, {}, {}, {}}}", number(a, "beta1"), number(a, "beta2"),
                         number(a, "epsilon"), number(a, "weight_decay"), a.flag("decoupled"),
                         a.flag("epsilon_after_correction"));
    case Op::rmsprop_update: {
      const std::string epsilon = number(a, "epsilon");
      const bool inside = a.flag("epsilon_inside_root");
      return fmt::format("cuda::Rmsprop{{{}, {}, {}, {}, {}, {}}}", number(a, "rho"), number(a, "momentum"),
                         inside ? epsilon : "0.0", inside ? "0.0" : epsilon, a.flag("centered"),
                         a.flag("rate_in_velocity"));
    }
    default: {
      const std::string epsilon = number(a, "epsilon");
      const bool inside = a.flag("epsilon_inside_root");
      return fmt::format("cuda::Adagrad{{{}, {}}}", inside ? epsilon : "0.0", inside ? "0.0" : epsilon);
    }
  }
}
std::string rule_name(const KernelCall& call) {
  const std::string text = rule_text(call);
  return text.substr(0, text.find('{'));
}

}  // namespace

std::string UpdateEmitter::input(int call, std::size_t input) {
  const int value = values_.inputs[at(call)][input];
  const Operand& operand = values_.calls[at(call)]->inputs[input];
  Pointers& pointers = region_.pointers();
  const std::string_view type = type_name(operand.type.dtype);
  // What the first kernel writes for this one, or for all.
  if (const auto passed = pointers.passed_on.find(value); passed != pointers.passed_on.end())
    return fmt::format("reinterpret_cast<const {}*>(g{})", type, passed->second);
  const int producer = values_.values[at(value)].producer;
  const auto kind = producer >= 0 && found_.contains(producer) ? Pointers::Kind::output : Pointers::Kind::input;
  return fmt::format("reinterpret_cast<const {}*>(g{})", type, pointers.of_value(kind, value, operand));
}

std::string UpdateEmitter::output(int call, std::size_t output) {
  const int value = values_.outputs[at(call)][output];
  if (value < 0) return "";
  const PlanValue& known = values_.values[at(value)];
  const bool is_read = known.leaves || std::any_of(known.readers.begin(), known.readers.end(),
                                                   [&](int reader) { return !found_.is(reader, Membership::update); });
  if (!is_read) return "";
  const Operand& operand = values_.calls[at(call)]->outputs[output];
  return fmt::format("reinterpret_cast<{}*>(g{})", type_name(operand.type.dtype),
                     region_.pointers().of_value(Pointers::Kind::output, value, operand));
}

std::string UpdateEmitter::number(int call, std::size_t input) {
  const int producer = values_.values[at(values_.inputs[at(call)][input])].producer;
  if (producer < 0 || !found_.is(producer, Membership::number)) return this->input(call, input) + "[0]";
  const KernelCall& own = *values_.calls[at(producer)];
  if (own.op->id == Op::slice)
    return fmt::format("{}[{}]", this->input(producer, 0), own.attributes.integers("starts")[0]);
  const ElementwiseProgram program = program_of(own);
  std::string text;
  for (std::size_t i = 0; i < program.operands.size(); ++i)
    text += fmt::format("const {} v{} = {}; ", type_name(program.operands[i]), i, number(producer, i));
  return fmt::format("[&] {{ {}{}return v{}; }}()", text, instructions_text(program), program.results[0]);
}

bool UpdateEmitter::is_early(int call, std::size_t input) const {
  const int value = values_.inputs[at(call)][input], producer = values_.values[at(value)].producer;
  if (producer < 0) return !region_.pointers().passed_on.contains(value);
  if (!found_.is(producer, Membership::number)) return false;
  for (std::size_t i = 0; i < values_.inputs[at(producer)].size(); ++i)
    if (!is_early(producer, i)) return false;
  return true;
}

bool UpdateEmitter::is_prepared_early(int call) const {
  const KernelCall& own = *values_.calls[at(call)];
  for (int i = 0; i < update_layout(*own.op, own.attributes).scalars; ++i)
    if (!is_early(call, at(i))) return false;
  return true;
}

void UpdateEmitter::add(const Task& task) {
  const int blocks = static_cast<int>((task.items + threads - 1) / threads);
  const std::string wait = "wait_for_kernel_before(); ";
  body_ += fmt::format(
      "  if (cluster >= {} && cluster < {}) {{\n{}{}    PANDO_PHASE(const int e = (cluster - {}) * {} + t.index; if (e "
      "< {}) {{ {}{}}})\n  }}\n",
      blocks_, blocks_ + blocks, task.is_before_early ? "" : "    " + wait + "\n", task.before, blocks_, threads,
      task.items, task.is_before_early ? task.early + wait : "", task.body);
  blocks_ += blocks;
  calls_of_blocks_.resize(at(blocks_), task.owner);
}

void UpdateEmitter::add_partial_sums(int call, Task task) {
  const KernelCall& own = *values_.calls[at(call)];
  const auto& sum = region_.sums().at(values_.outputs[at(call)][0]);
  const std::int64_t count = own.op->id == Op::reduce_mean ? own.inputs[0].type.shape.elements() / sum.elements : 1;
  const std::string index = sum.taps == 0 ? "e"
                                          : fmt::format("(e / {0} * {1} + e % {1}) * {2} + e % {0} / {1}",
                                                        sum.channels * sum.filters, sum.channels, sum.filters);
  task.items = sum.elements;
  task.body = fmt::format(
      "const float gradient = sum_clusters<{}>(reinterpret_cast<const float*>(g{}) + e, {}){}; const int i = {}; {}",
      region_.clusters(), sum.pointer, sum.elements, count == 1 ? "" : fmt::format(" / {}.0f", count), index,
      task.body);
  add(task);
}

std::int64_t UpdateEmitter::width_of(const KernelCall& call) {
  const std::int64_t columns = call.inputs[1].type.shape[1];
  return columns % 4 == 0 ? 4 : columns % 2 == 0 ? 2 : 1;
}

void UpdateEmitter::add_product(int call, Task task) {
  const KernelCall& own = *values_.calls[at(call)];
  const std::int64_t rows = own.inputs[0].type.shape[1], columns = own.inputs[1].type.shape[1], width = width_of(own);
  const std::int64_t groups = columns / width;
  const std::string first = input(call, 0), second = input(call, 1);
  task.items = rows * groups;
  std::string column = fmt::format("SampleColumn<{}>{{{} + e / {}}}", rows, first, groups);
  if (task.is_before_early && region_.is_of_feed(own.inputs[0]) && found_.batch <= most_loaded_samples) {
    task.early +=
        fmt::format("const auto column = load_column<{}, {}>({}, e / {}); ", found_.batch, rows, first, groups);
    column = "column";
  }
  task.body = fmt::format("const auto products = multiply_samples<{}, {}, {}>({}, {}, e % {} * {}); {}", found_.batch,
                          columns, width, column, second, groups, width, task.body);
  add(task);
}

std::pair<int, int> UpdateEmitter::update_of(int value) const {
  for (int reader : values_.values[at(value)].readers) {
    if (!found_.is(reader, Membership::update)) continue;
    const KernelCall& call = *values_.calls[at(reader)];
    const UpdateLayout layout = update_layout(*call.op, call.attributes);
    for (int group = 0; group < call.attributes.integer("groups"); ++group)
      if (values_.inputs[at(reader)][at(layout.input(group, 1))] == value) return {reader, group};
  }
  return {-1, -1};
}

std::string UpdateEmitter::prepare(int call) {
  const KernelCall& own = *values_.calls[at(call)];
  const UpdateLayout layout = update_layout(*own.op, own.attributes);
  const std::string rate = fmt::format("static_cast<double>({})", number(call, 0));
  const std::string step = layout.scalars > 1 ? fmt::format("static_cast<double>({})", number(call, 1)) : "0.0";
  return fmt::format(
      "    PANDO_BLOCK_VALUE {}::Settings<float> settings;\n    PANDO_PHASE(if (t.index == 0) settings = "
      "{}.prepare<float>({}, {}))\n"
      "    PANDO_OWN_BARRIER\n",
      rule_name(own), rule_text(own), rate, step);
}

std::string UpdateEmitter::move(int call, int group) {
  const KernelCall& own = *values_.calls[at(call)];
  const UpdateLayout layout = update_layout(*own.op, own.attributes);
  std::string text = "cuda::Group<float> group; ";
  for (int place = 0; place < layout.inputs_per_group; ++place)
    if (place != 1) text += fmt::format("group.in[{}] = {}; ", place, input(call, at(layout.input(group, place))));
  for (int place = 0; place < layout.outputs_per_group; ++place)
    if (const std::string to = output(call, at(layout.output(group, place))); !to.empty())
      text += fmt::format("group.out[{}] = {}; ", place, to);
  return text + fmt::format("{}::move(settings, group, i, gradient); ", rule_name(own));
}

void UpdateEmitter::add_sum(int call) {
  const int value = values_.outputs[at(call)][0];
  const auto [update, group] = update_of(value);
  std::string use;
  if (const std::string to = output(call, 0); !to.empty()) use += fmt::format("{}[i] = gradient; ", to);
  if (update >= 0) use += move(update, group);
  Task task{.owner = call, .items = 0, .before = "", .early = "", .body = use};
  if (update >= 0) {
    task.before = prepare(update);
    task.is_before_early = is_prepared_early(update);
  }
  if (found_.is(call, Membership::sum)) {
    // The first kernel did the work of a sum. What its clusters left is added up for the update.
    if (update >= 0) task.owner = update;
    return add_partial_sums(call, task);
  }
  task.body = fmt::format(
      "PANDO_UNROLL for (int n = 0; n < {0}; ++n) {{ const float gradient = products.at[n]; const int i = e * {0} + n; "
      "{1}}} ",
      width_of(*values_.calls[at(call)]), use);
  add_product(call, task);
}

void UpdateEmitter::add_matmul_update(int call) {
  const std::int64_t width = width_of(*values_.calls[at(call)]);
  const std::string old = fmt::format("const auto old = load<{}>({} + e * {}); ", width, input(call, 2), width),
                    rate = fmt::format("const float rate = {}[0]; ", input(call, 3));
  const bool is_old_early = is_early(call, 2), is_rate_early = is_early(call, 3);
  add_product(call, {.owner = call,
                     .items = 0,
                     .before = "",
                     .early = (is_old_early ? old : "") + (is_rate_early ? rate : ""),
                     .body = (is_old_early ? "" : old) + (is_rate_early ? "" : rate) +
                             fmt::format("Vector<{0}> moved; PANDO_UNROLL for (int n = 0; n < {0}; ++n) moved.at[n] = "
                                         "old.at[n] - rate * products.at[n]; store({1} + e * {0}, moved); ",
                                         width, output(call, 0))});
}

// The groups whose gradients are made outside.
void UpdateEmitter::add_update(int call) {
  const KernelCall& own = *values_.calls[at(call)];
  const UpdateLayout layout = update_layout(*own.op, own.attributes);
  for (int group = 0; group < own.attributes.integer("groups"); ++group) {
    const std::size_t gradient = at(layout.input(group, 1));
    const int value = values_.inputs[at(call)][gradient], producer = values_.values[at(value)].producer;
    const bool is_made_here = producer >= 0 && found_.contains(producer) && update_of(value) == std::pair{call, group};
    if (is_made_here) continue;
    add({.owner = call,
         .items = own.inputs[gradient].type.shape.elements(),
         .before = prepare(call),
         .early = "",
         .body =
             fmt::format("const int i = e; const float gradient = {}[i]; {}", input(call, gradient), move(call, group)),
         .is_before_early = is_prepared_early(call)});
  }
}

std::string UpdateEmitter::run() {
  for (int call = 0; call < static_cast<int>(values_.calls.size()); ++call) {
    if (found_.is(call, Membership::update)) add_update(call);
    else if (found_.is(call, Membership::product) && values_.calls[at(call)]->op->id == Op::matmul_update)
      add_matmul_update(call);
    else if (found_.is(call, Membership::sum) || found_.is(call, Membership::product)) add_sum(call);
  }
  if (blocks_ == 0) return "";
  std::string text = fmt::format(
      "#define PANDO_RANKS 1\n#define PANDO_THREADS {}\n#include "
      "\"backends/cuda/regions/device/kernel.h\"\nPANDO_KERNEL(update, {}) {{\n",
      threads, region_.pointers().all.size());
  for (std::size_t i = 0; i < region_.pointers().all.size(); ++i)
    text += fmt::format("  char* const g{} = p.at[{}];\n", i, i);
  return text + "  PANDO_MARKS(true, 2 * cluster)\n  PANDO_MARK(0)\n" + body_ + "  PANDO_MARK(1)\n}\n";
}

}  // namespace pando::cuda
