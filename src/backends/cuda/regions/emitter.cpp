// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/regions/emitter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "graph/elementwise_program.h"
#include "ops/op_list.h"

namespace pando::cuda {

namespace {

// A value that is read more than once from global memory is copied to shared memory first, if it is not larger; so are
// small weights, all of which are then on their way at once.
constexpr std::size_t most_staged_bytes = 64 * 1024, most_weight_bytes = 12 * 1024, most_bytes_of_weights = 32 * 1024;
// What the parts of a sum may take.
constexpr std::int64_t most_part_floats = 14 * 1024;

std::size_t at(int index) { return static_cast<std::size_t>(index); }

}  // namespace

std::string_view type_name(DType dtype) {
  switch (dtype) {
    case DType::float32: return "float";
    case DType::float64: return "double";
    case DType::int32: return "std::int32_t";
    case DType::int64: return "std::int64_t";
    case DType::uint8: return "std::uint8_t";
    case DType::boolean: return "bool";
    case DType::bfloat16: break;
  }
  return "void";
}

std::string literal(double number, DType dtype) {
  if (std::isnan(number)) return "__builtin_nanf(\"\")";
  if (std::isinf(number)) return number < 0 ? "-__builtin_inff()" : "__builtin_inff()";
  return fmt::format("{}({:a})", type_name(dtype), number);
}

int Pointers::of_value(Kind kind, int value, const Operand& operand) {
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].kind == kind && all[i].value == value && kind != Kind::scratch) return static_cast<int>(i);
  all.push_back({kind, value, operand, 0});
  return static_cast<int>(all.size()) - 1;
}
int Pointers::of_scratch(std::size_t bytes) {
  all.push_back({Kind::scratch, -1, {}, bytes});
  return static_cast<int>(all.size()) - 1;
}
int Pointers::pass_on(int value, std::size_t bytes) {
  const auto found = passed_on.find(value);
  return found != passed_on.end() ? found->second : passed_on[value] = of_scratch(bytes);
}

Emitter::Emitter(const Plan& plan, const PlanValues& values, const RegionCalls& found, const RegionLimits& limits,
                 int ranks, bool stages_weights)
    : plan_(plan), values_(values), found_(found), limits_(limits), ranks_(ranks), stages_weights_(stages_weights) {
  const std::int64_t most = std::max(limits.multiprocessors / ranks, 1);
  const std::int64_t samples = (found.batch + most - 1) / most;
  clusters_ = static_cast<int>((found.batch + samples - 1) / samples);
  add_members();
  fold_pooling_gradients();
  let_follow();
}

void Emitter::add_members() {
  for (std::size_t i = 0; i < values_.calls.size(); ++i)
    if (const Membership kind = found_.membership[i]; kind == Membership::local || kind == Membership::sum)
      members_.push_back({*values_.calls[i], values_.inputs[i], values_.outputs[i], kind, static_cast<int>(i)});
}

void Emitter::fold_pooling_gradients() {
  for (Member& member : members_) {
    const bool is_weight = member.call.op->id == Op::conv2d_weight_gradient;
    if (!is_weight && member.call.op->id != Op::conv2d_input_gradient) continue;
    const std::size_t input = is_weight ? 1 : 0;
    const auto scatter = std::find_if(members_.begin(), members_.end(), [&](const Member& other) {
      return other.call.op->id == Op::max_pool_gradient && other.outputs[0] == member.inputs[input];
    });
    if (scatter == members_.end() || scatter->call.inputs[1].type.dtype != DType::uint8) continue;
    const Window pool = pool_window(scatter->call.attributes);
    const Integers ones = {1, 1};
    const Shape& filter = is_weight ? member.call.outputs[0].type.shape : member.call.inputs[1].type.shape;
    const bool overlaps = pool.strides[0] < pool.kernel[0] || pool.strides[1] < pool.kernel[1];
    const bool is_plain = member.call.attributes.integers("dilations") == ones && filter[0] * filter[1] <= 25 &&
                          (is_weight || (member.call.attributes.integers("strides") == ones &&
                                         (pool.kernel[0] - 1 + filter[0]) * (pool.kernel[1] - 1 + filter[1]) <= 40));
    if (overlaps || !is_plain) continue;
    member.call.op =
        is_weight ? &definitions::conv2d_max_pool_weight_gradient : &definitions::conv2d_max_pool_input_gradient;
    member.call.inputs[input] = scatter->call.inputs[0];
    member.call.inputs.push_back(scatter->call.inputs[1]);
    member.inputs[input] = scatter->inputs[0];
    member.inputs.push_back(scatter->inputs[1]);
    for (const char* name : {"window", "strides", "padding"})
      member.call.attributes.set(std::string("pool_") + name, scatter->call.attributes.integers(name));
  }
  // What is left of a pooling's gradient has readers.
  std::erase_if(members_, [&](const Member& member) {
    if (member.call.op->id != Op::max_pool_gradient) return false;
    const PlanValue& value = values_.values[at(member.outputs[0])];
    const auto is_outside = [&](int reader) {
      return !found_.is(reader, Membership::local) && !found_.is(reader, Membership::sum);
    };
    return !value.leaves && std::none_of(value.readers.begin(), value.readers.end(), is_outside) &&
           !is_shared(member.outputs[0]);
  });
}

// Whether another member reads it.
bool Emitter::is_shared(int value) const {
  return std::any_of(members_.begin(), members_.end(), [&](const Member& member) {
    return std::find(member.inputs.begin(), member.inputs.end(), value) != member.inputs.end();
  });
}

std::int64_t Emitter::share(std::int64_t count) const {
  const std::int64_t fair = (count + ranks_ - 1) / ranks_;
  return fair < 64 ? fair : (fair + 31) / 32 * 32;
}

std::int64_t Emitter::choose_parts(std::int64_t items, std::int64_t work, std::int64_t floats_per_part) const {
  std::int64_t best = 1, least = -1;
  for (std::int64_t parts = 1; parts <= work && (parts == 1 || parts * floats_per_part <= most_part_floats); ++parts) {
    const std::int64_t rounds = (items * parts + threads_ - 1) / threads_;
    // Each part is stored and summed again.
    const std::int64_t cost = rounds * ((work + parts - 1) / parts) * 8 + parts;
    if (least < 0 || cost < least) best = parts, least = cost;
  }
  return best;
}

std::string Emitter::storage(std::size_t bytes, int first, int last) {
  storages_.push_back({bytes, first, last, 0});
  return fmt::format("@{}@", storages_.size() - 1);
}

std::string Emitter::scratch(std::int64_t floats) {
  return storage(static_cast<std::size_t>(floats) * sizeof(float), now_, now_);
}

std::string Emitter::constant_text(const Operand& operand) const {
  if (operand.buffer < 0 || operand.type.shape.elements() != 1) return "";
  const Buffer& buffer = plan_.buffers[at(operand.buffer)];
  if (buffer.kind != Buffer::Kind::constant) return "";
  const Array& constant = plan_.constants[at(buffer.index)];
  if (constant.dtype() == DType::float32)
    return literal(static_cast<double>(constant.data<float>()[0]), DType::float32);
  if (constant.dtype() == DType::int32) return literal(constant.data<std::int32_t>()[0], DType::int32);
  return "";
}

std::string Emitter::pointer(const Member& member, std::size_t input) {
  const int value = member.inputs[input];
  const Operand& operand = member.call.inputs[input];
  const std::string_view type = type_name(operand.type.dtype);
  if (const auto stored = storage_of_.find(value); stored != storage_of_.end())
    return fmt::format("shared<const {}>(t, @{}@)", type, stored->second);
  const int number = pointers_.of_value(Pointers::Kind::input, value, operand);
  const bool by_sample = member.kind == Membership::sum || reads_by_sample(member.call, input, found_.batch);
  return fmt::format("(reinterpret_cast<const {}*>(g{}){})", type, number,
                     by_sample ? fmt::format(" + sample * {}", per_sample(operand.type)) : "");
}

std::string Emitter::out(const Member& member, std::size_t output) {
  const int value = member.outputs[output];
  if (value < 0) return "";
  const Operand& operand = member.call.outputs[output];
  const PlanValue& known = values_.values[at(value)];
  const auto has_reader = [&](auto matches) {
    return std::any_of(known.readers.begin(), known.readers.end(), matches);
  };
  const bool leaves = known.leaves || has_reader([&](int reader) { return !found_.contains(reader); });
  const bool passes = has_reader([&](int reader) { return found_.is(reader, Membership::product); });
  int number = -1;
  if (leaves) number = pointers_.of_value(Pointers::Kind::output, value, operand);
  else if (passes) number = pointers_.pass_on(value, operand.type.bytes());
  const bool shared = is_shared(value);
  if (!shared && number < 0) return "";
  if (shared) {
    int last = now_;
    for (std::size_t i = 0; i < members_.size(); ++i)
      if (std::find(members_[i].inputs.begin(), members_[i].inputs.end(), value) != members_[i].inputs.end())
        last = std::max(last, static_cast<int>(i) + 1);
    storage(static_cast<std::size_t>(per_sample(operand.type)) * size_of(operand.type.dtype), now_, last);
    storage_of_[value] = static_cast<int>(storages_.size()) - 1;
  }
  const std::string_view type = type_name(operand.type.dtype);
  const std::string name = fmt::format("o{}", declarations_.size());
  declarations_.push_back(fmt::format(
      "    const Out<{}, {}, {}> {}{{{}, {}}};\n", type, shared, number >= 0, name,
      shared ? fmt::format("@{}@", storage_of_[value]) : "0",
      number >= 0 ? fmt::format("reinterpret_cast<{}*>(g{}) + sample * {}", type, number, per_sample(operand.type))
                  : "nullptr"));
  return name;
}

std::string Emitter::sum_text(const Member& member, std::int64_t elements) {
  const int number = pointers_.of_scratch(static_cast<std::size_t>(elements * clusters_) * sizeof(float));
  sums_[member.outputs[0]] = {number, elements};
  return fmt::format("Sum{{reinterpret_cast<float*>(g{}) + cluster * {}, sample == cluster}}", number, elements);
}

bool Emitter::is_staged(const Member& member, std::size_t input, bool by_sample, std::size_t& weight_bytes) const {
  const Operand& operand = member.call.inputs[input];
  const int value = member.inputs[input], producer = values_.values[at(value)].producer;
  const bool is_made_here = producer >= 0 && found_.contains(producer);
  if (is_made_here || storage_of_.contains(value) || member.call.op->id == Op::dropout) return false;
  const std::size_t bytes = operand.type.bytes();
  if (by_sample)
    return !member.call.op->elementwise && bytes / static_cast<std::size_t>(found_.batch) <= most_staged_bytes;
  const bool is_small = bytes <= most_weight_bytes && weight_bytes + bytes <= most_bytes_of_weights;
  if (!stages_weights_ || !is_small || !constant_text(operand).empty()) return false;
  weight_bytes += bytes;
  return true;
}

bool Emitter::is_of_feed(const Operand& operand) const {
  return operand.buffer >= 0 && plan_.buffers[at(operand.buffer)].kind == Buffer::Kind::feed;
}

void Emitter::stage_inputs(bool of_feed) {
  std::size_t weight_bytes = 0;
  for (const Member& member : members_)
    for (std::size_t i = 0; i < member.inputs.size(); ++i) {
      const Operand& operand = member.call.inputs[i];
      if (is_of_feed(operand) != of_feed) continue;
      const bool by_sample = member.kind == Membership::sum || reads_by_sample(member.call, i, found_.batch);
      if (!is_staged(member, i, by_sample, weight_bytes)) continue;
      const int value = member.inputs[i];
      const std::string from = pointer(member, i);
      int last = 1;
      for (std::size_t k = 0; k < members_.size(); ++k)
        if (std::find(members_[k].inputs.begin(), members_[k].inputs.end(), value) != members_[k].inputs.end())
          last = static_cast<int>(k) + 1;
      const std::int64_t elements = by_sample ? per_sample(operand.type) : operand.type.shape.elements();
      const std::string to = storage(static_cast<std::size_t>(elements) * size_of(operand.type.dtype), 0, last);
      storage_of_[value] = static_cast<int>(storages_.size()) - 1;
      phase(false, fmt::format("stage<{}, {}>(t, {}, {})", type_name(operand.type.dtype), elements, from, to));
    }
}

std::size_t Emitter::first_reader(std::size_t from, std::size_t first_storage, std::size_t last_storage) const {
  std::size_t reader = phases_.size();
  for (std::size_t storage = first_storage; storage < last_storage; ++storage) {
    const std::string name = fmt::format("@{}@", storage);
    for (std::size_t i = from; i < reader; ++i)
      if (phases_[i].text.find(name) != std::string::npos) reader = i;
  }
  return reader;
}

void Emitter::await_copies() {
  const auto end_copies_in = [&](std::size_t phase, int later) {
    phases_[phase].text += fmt::format("; wait_for_copies<{}>()", later);
    phases_[phase].ends_copies = true;
  };
  const bool has_filters = copying_phases_ > staged_phases_;
  const std::size_t early = first_reader(copying_phases_, 0, early_storages_),
                    late = first_reader(copying_phases_, early_storages_, staged_storages_),
                    filters = first_reader(copying_phases_, staged_storages_, copied_storages_);
  // What was copied first is waited for before other copies begin, where those are needed later.
  const std::size_t awaits_early = early < late ? early_phases_ : late;
  if (early < late) end_copies_in(awaits_early - 1, 0);
  if (has_filters) {
    phases_[staged_phases_].text = "end_group_of_copies(); " + phases_[staged_phases_].text;
    phases_[copying_phases_ - 1].text += "; end_group_of_copies()";
    if (filters < phases_.size() && filters != late) end_copies_in(filters - 1, 0);
  }
  if (late < phases_.size()) end_copies_in(late - 1, has_filters && late < filters ? 1 : 0);
  keep_copies(awaits_early, 0, early_storages_);
  keep_copies(late, early_storages_, staged_storages_);
  keep_copies(filters, staged_storages_, copied_storages_);
}

void Emitter::keep_copies(std::size_t awaited, std::size_t first_storage, std::size_t last_storage) {
  if (ranks_ == 1 || first_storage == last_storage) return;
  // The phase that ends with the second barrier of the cluster after the copies have come.
  std::size_t kept = awaited - 1;
  for (int barriers = ends_with_cluster_barrier(kept) ? 1 : 0; barriers < 2 && kept + 1 < phases_.size();)
    if (ends_with_cluster_barrier(++kept)) ++barriers;
  for (std::size_t storage = first_storage; storage < last_storage; ++storage)
    storages_[storage].last = std::max(storages_[storage].last, phases_[kept].member);
}

int Emitter::end_of_chain(int member) const {
  while (member > 0 && members_[at(member - 1)].follower >= 0) ++member;
  return member;
}

bool Emitter::reads_result(const Member& reader, const Member& of) {
  return std::any_of(reader.inputs.begin(), reader.inputs.end(), [&](int value) {
    return std::find(of.outputs.begin(), of.outputs.end(), value) != of.outputs.end();
  });
}

void Emitter::let_flow() {
  // By member, as storages and phases count them: the last one that runs before the next barrier.
  std::vector<int> reach(members_.size() + 1);
  for (std::size_t i = 0; i < reach.size(); ++i) reach[i] = end_of_chain(static_cast<int>(i));
  for (std::size_t i = phases_.size(); i-- > 0;) {
    Phase& phase = phases_[i];
    const bool is_last = i + 1 == phases_.size();
    // What is staged is read when its copies have come, and not before.
    if (phase.member == 0) {
      phase.flows_on = !is_last && !phase.ends_copies;
      continue;
    }
    if (!is_last && phases_[i + 1].member == phase.member) continue;
    if (is_last || phase.is_remote || phase.ends_copies) continue;
    const int end = reach[at(phases_[i + 1].member)];
    phase.flows_on = true;
    const int last = end_of_chain(phase.member);
    for (int made = phase.member; made <= last; ++made)
      for (int other = last + 1; other <= end; ++other)
        if (reads_result(members_[at(other - 1)], members_[at(made - 1)])) phase.flows_on = false;
    if (phase.flows_on) reach[at(phase.member)] = end;
  }
  for (std::size_t i = 1; i < reach.size(); ++i) reach[i] = std::max(reach[i], reach[i - 1]);
  // Memory stays as it is until the barrier.
  for (Storage& storage : storages_)
    if (storage.last > 0) storage.last = std::max(storage.last, reach[at(storage.last)]);
}

bool Emitter::run() {
  stage_inputs(true);
  early_phases_ = phases_.size();
  early_storages_ = storages_.size();
  emit_advances();
  call_ = -1;
  stage_inputs(false);
  staged_phases_ = phases_.size();
  staged_storages_ = storages_.size();
  if (stages_weights_) copy_filters();
  copying_phases_ = phases_.size();
  copied_storages_ = storages_.size();
  for (const Member& member : members_) {
    ++now_;
    call_ = member.number;
    if (!member.follows) emit(member);
  }
  await_copies();
  let_flow();
  shared_bytes_ = plan_memory(storages_, true);
  return shared_bytes_ <= limits_.shared_bytes;
}

bool Emitter::ends_with_cluster_barrier(std::size_t phase) const {
  return phases_[phase].is_remote || (phase + 1 < phases_.size() && phases_[phase + 1].is_remote);
}

bool Emitter::ends_call(std::size_t phase) const {
  const int call = phases_[phase].call;
  return call >= 0 && (phase + 1 == phases_.size() || phases_[phase + 1].call != call);
}

std::vector<int> Emitter::marked_calls() const {
  std::vector<int> calls;
  for (std::size_t i = 0; i < phases_.size(); ++i)
    if (ends_call(i)) calls.push_back(phases_[i].call);
  return calls;
}

int Emitter::marks_before(std::size_t phase) const {
  int marks = 0;
  for (std::size_t i = 0; i < phase; ++i) marks += ends_call(i) ? 1 : 0;
  return marks;
}

std::string Emitter::header() const {
  return fmt::format(
      "#define PANDO_RANKS {}\n#define PANDO_THREADS {}\n#include \"backends/cuda/regions/device/kernel.h\"\n", ranks_,
      threads_);
}

std::string Emitter::kernel(const std::string& phases) const {
  std::string text = fmt::format("PANDO_KERNEL(region, {}) {{\n", std::max<std::size_t>(pointers_.all.size(), 1));
  for (std::size_t i = 0; i < pointers_.all.size(); ++i) text += fmt::format("  char* const g{} = p.at[{}];\n", i, i);
  // The clock is read where a step is recorded.
  text += "  PANDO_MARKS(cluster == 0, 0)\n  PANDO_MARK(0)\n";
  // Blocks of a cluster must have begun before others reach for their memory; other phases wait for that at their end.
  if (!phases_.empty() && phases_[0].is_remote) text += "  PANDO_CLUSTER_BARRIER\n";
  text += fmt::format("  for (int sample = cluster; sample < {}; sample += {}) {{\n", found_.batch, clusters_);
  text += fmt::format("    PANDO_MARKS(cluster == 0, 1 + sample / {} * {})\n", clusters_, marked_calls().size());
  for (const std::string& declaration : declarations_) text += declaration;
  return text + phases + "  }\n}\n";
}

std::string Emitter::phases_text(std::size_t begin, std::size_t end) const {
  std::string text;
  for (std::size_t i = begin; i < end; ++i) {
    if (i == early_phases_) text += "    wait_for_kernel_before();\n";
    text += fmt::format("    PANDO_PHASE({})\n", phases_[i].text);
    const bool is_last = i + 1 == phases_.size();
    // A block that is done may end unless others still use its memory.
    const bool may_end = is_last && clusters_ == found_.batch;
    if (ends_with_cluster_barrier(i)) text += "    PANDO_CLUSTER_BARRIER\n";
    else if (!may_end && (is_last || !phases_[i].flows_on)) text += "    PANDO_OWN_BARRIER\n";
    if (ends_call(i)) text += fmt::format("    PANDO_MARK({})\n", marks_before(i));
  }
  return text;
}

}  // namespace pando::cuda
