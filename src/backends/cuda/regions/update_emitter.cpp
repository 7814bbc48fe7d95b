// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/regions/update_emitter.h"

#include <fmt/format.h>

#include <algorithm>

#include "ops/op_list.h"
#include "ops/update.h"

namespace pando::cuda {

namespace {

// Larger factors of a product stay in global memory.
constexpr std::size_t most_shared_bytes = 40 * 1024;
// As many blocks find registers on a multiprocessor, whose first kernel may have 112 of its 128 for each of 512
// threads.
constexpr int blocks_of_multiprocessor = 8;

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

void UpdateEmitter::add(int owner, std::int64_t blocks, const std::string& text) {
  const int end = blocks_ + static_cast<int>(blocks);
  body_ += fmt::format("  if (cluster >= {0} && cluster < {1}) {{\n    const int block = cluster - {0};\n{2}  }}\n",
                       blocks_, end, text);
  blocks_ = end;
  calls_of_blocks_.resize(at(blocks_), owner);
}

void UpdateEmitter::add_items(int owner, std::int64_t items, const std::string& before, const std::string& body) {
  add(owner, (items + threads - 1) / threads,
      fmt::format("    wait_for_kernel_before();\n{}    PANDO_PHASE(const int e = block * {} + t.index; if (e < {}) {{ "
                  "{}}})\n",
                  before, threads, items, body));
}

void UpdateEmitter::add_partial_sums(int call, int owner, const std::string& before, const std::string& use) {
  const KernelCall& own = *values_.calls[at(call)];
  const auto& sum = region_.sums().at(values_.outputs[at(call)][0]);
  const std::int64_t count = own.op->id == Op::reduce_mean ? own.inputs[0].type.shape.elements() / sum.elements : 1;
  const std::string index = sum.taps == 0 ? "e"
                                          : fmt::format("(e / {0} * {1} + e % {1}) * {2} + e % {0} / {1}",
                                                        sum.channels * sum.filters, sum.channels, sum.filters);
  add_items(owner, sum.elements, before,
            fmt::format("const float gradient = sum_clusters<{}>(reinterpret_cast<const float*>(g{}) + e, {}){}; const "
                        "int i = {}; {}",
                        region_.clusters(), sum.pointer, sum.elements, count == 1 ? "" : fmt::format(" / {}.0f", count),
                        index, use));
}

std::int64_t UpdateEmitter::width_of(const KernelCall& call) {
  const std::int64_t columns = call.inputs[1].type.shape[1];
  return columns % 4 == 0 ? 4 : columns % 2 == 0 ? 2 : 1;
}

void UpdateEmitter::add_product(int call, const ProductUse& use) {
  const KernelCall& own = *values_.calls[at(call)];
  const std::int64_t batch = found_.batch, rows = own.inputs[0].type.shape[1], columns = own.inputs[1].type.shape[1];
  const std::int64_t width = width_of(own), groups = columns / width, thread_rows = rows % 2 == 0 ? 2 : 1;
  const std::int64_t block_rows = threads / groups * thread_rows;
  const std::size_t a_bytes = align(static_cast<std::size_t>(batch * block_rows) * sizeof(float)),
                    b_bytes = static_cast<std::size_t>(batch * columns) * sizeof(float);
  const std::string a = input(call, 0), b = input(call, 1);
  if (groups > threads || a_bytes + b_bytes > most_shared_bytes)
    return add_items(call, rows * groups, use.before,
                     fmt::format("const int i = e * {3}; const auto begun = {4}; const auto products = "
                                 "multiply_samples_in_place<{0}, {1}, {2}, {3}>({5}, {6}, e / {7}, e % {7} * {3}); {8}",
                                 batch, rows, columns, width, use.begin, a, b, groups, use.use));
  shared_bytes_ = std::max(shared_bytes_, a_bytes + b_bytes);
  const std::string product =
      fmt::format("SampleProduct<{}, {}, {}, {}, {}>", batch, rows, columns, width, thread_rows);
  const std::string stage_rows = fmt::format("stage_rows<{}>(t, {}, block, 0)", product, a);
  const bool is_early = region_.is_of_feed(own.inputs[0]);
  const std::string early = is_early ? fmt::format("    PANDO_PHASE({})\n", stage_rows) : "",
                    late = is_early ? "" : stage_rows + "; ";
  const std::string begin = fmt::format("[&](int i) {{ return {}; }}", use.begin),
                    end = fmt::format("[&](int i, const Vector<{}>& products, {} begun) {{ {}}}", width, use.begun_type,
                                      use.use);
  add(call, (rows + block_rows - 1) / block_rows,
      early + "    wait_for_kernel_before();\n" +
          fmt::format("    PANDO_PHASE({}stage<float, {}>(t, {}, {}); wait_for_copies())\n", late, batch * columns, b,
                      a_bytes) +
          (use.before.empty() ? "    PANDO_OWN_BARRIER\n" : use.before) +
          fmt::format("    PANDO_PHASE(multiply_samples<{}>(t, 0, {}, block, {}, {}))\n", product, a_bytes, begin,
                      end));
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
  const std::string rate = fmt::format("static_cast<double>({}[0])", input(call, 0));
  const std::string step = layout.scalars > 1 ? fmt::format("static_cast<double>({}[0])", input(call, 1)) : "0.0";
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
  const std::string before = update >= 0 ? prepare(update) : "";
  // The first kernel did the work of a sum. What its clusters left is added up for the update.
  if (found_.is(call, Membership::sum)) return add_partial_sums(call, update >= 0 ? update : call, before, use);
  add_product(call, {.before = before,
                     .begin = "0",
                     .begun_type = "int",
                     .use = fmt::format("const int first = i; PANDO_UNROLL for (int n = 0; n < {}; ++n) {{ const float "
                                        "gradient = products.at[n]; const int i = first + n; {}}} ",
                                        width_of(*values_.calls[at(call)]), use)});
}

void UpdateEmitter::add_matmul_update(int call) {
  const std::int64_t width = width_of(*values_.calls[at(call)]);
  const std::string type = fmt::format("Moved<{}>", width);
  add_product(call, {.before = "",
                     .begin = fmt::format("{}{{load<{}>({} + i), {}[0]}}", type, width, input(call, 2), input(call, 3)),
                     .begun_type = type,
                     .use = fmt::format("store({} + i, begun.by(products)); ", output(call, 0))});
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
    add_items(
        call, own.inputs[gradient].type.shape.elements(), prepare(call),
        fmt::format("const int i = e; const float gradient = {}[i]; {}", input(call, gradient), move(call, group)));
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
      "#define PANDO_RANKS 1\n#define PANDO_THREADS {}\n#define PANDO_BLOCKS {}\n#include "
      "\"backends/cuda/regions/device/kernel.h\"\nPANDO_KERNEL(update, {}) {{\n",
      threads, blocks_of_multiprocessor, region_.pointers().all.size());
  for (std::size_t i = 0; i < region_.pointers().all.size(); ++i)
    text += fmt::format("  char* const g{} = p.at[{}];\n", i, i);
  return text + "  let_next_kernel_begin();\n  PANDO_MARKS(true, 2 * cluster)\n  PANDO_MARK(0)\n" + body_ +
         "  PANDO_MARK(1)\n}\n";
}

}  // namespace pando::cuda
