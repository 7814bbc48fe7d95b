// SPDX-License-Identifier: Apache-2.0
// In order: sources get buffers of their own, assignments in place share the buffer of their variable, lifetimes are
// counted in supersteps, kernels get buffers for those of their outputs that are used, and what would be lost before
// the end of the step is copied. Last of all, what lives in the arena gets its place there.
#include "compiler/lower/emit_plan.h"

#include <algorithm>
#include <map>

#include "plan/plan_memory.h"
#include "graph/op_definition.h"
#include "ops/op_list.h"

namespace pando {

namespace {

class Emitter {
 public:
  Emitter(const Graph& graph, const Schedule& schedule, bool share_memory)
      : graph_(graph), schedule_(schedule), share_memory_(share_memory) {}

  Plan run() {
    // One superstep more than the schedule has: it copies the assignments that could not be made in place.
    plan_.supersteps.resize(static_cast<std::size_t>(end()) + 1);
    add_sources();
    for (std::size_t i = 0; i < graph_.assignments().size(); ++i)
      if (schedule_.in_place[i])
        buffer_of_[graph_.assignments()[i].value] = buffer_of_.at(graph_.assignments()[i].variable);
    find_lifetimes();
    add_kernels();
    add_outputs();
    add_copied_assignments();
    place_storages();
    std::erase_if(plan_.supersteps, [](const Superstep& superstep) { return superstep.empty(); });
    return std::move(plan_);
  }

 private:
  // At least 1, so that values copied at the start are read before an assignment is copied over them.
  std::int32_t end() const { return std::max(schedule_.supersteps, 1); }

  std::int32_t add_buffer(Buffer buffer) {
    plan_.buffers.push_back(buffer);
    return static_cast<std::int32_t>(plan_.buffers.size() - 1);
  }

  void add_sources() {
    for (std::size_t i = 0; i < graph_.nodes().size(); ++i) {
      const Node& node = graph_.nodes()[i];
      if (!is_source(node)) continue;
      const Type& type = node.outputs[0];
      Buffer buffer{.bytes = type.bytes()};
      if (is_role(node, Role::constant)) {
        buffer.kind = Buffer::Kind::constant;
        buffer.index = static_cast<std::int32_t>(plan_.constants.size());
        plan_.constants.push_back(node.attributes.array("value"));
      } else if (is_role(node, Role::input)) {
        buffer.kind = Buffer::Kind::feed;
        buffer.offset = plan_.feed_bytes;
        buffer.index = static_cast<std::int32_t>(plan_.inputs.size());
        plan_.feed_bytes += align(buffer.bytes);
      } else if (is_role(node, Role::counter)) {
        buffer.kind = Buffer::Kind::counter;
      } else {
        buffer.kind = Buffer::Kind::variable;
        buffer.index = static_cast<std::int32_t>(plan_.variables.size());
      }
      const std::int32_t number = add_buffer(buffer);
      buffer_of_[{static_cast<std::int32_t>(i), 0}] = number;
      if (is_role(node, Role::input)) add_input(node, number);
      if (is_role(node, Role::variable)) add_variable(static_cast<std::int32_t>(i), node, number);
    }
  }

  void add_input(const Node& node, std::int32_t buffer) {
    plan_.inputs.push_back({.name = node.attributes.text("name"),
                            .type = node.outputs[0],
                            .buffer = buffer,
                            .kind = port_kind_named(node.attributes.text("port")),
                            .number = static_cast<std::int32_t>(node.attributes.integer("number"))});
  }

  void add_variable(std::int32_t index, const Node& node, std::int32_t buffer) {
    const bool assigned = std::any_of(graph_.assignments().begin(), graph_.assignments().end(),
                                      [&](const Assignment& assignment) { return assignment.variable.node == index; });
    plan_.variables.push_back({.name = node.attributes.text("name"),
                               .type = node.outputs[0],
                               .buffer = buffer,
                               .role = variable_role_named(node.attributes.text("role")),
                               .assigned = assigned});
  }

  void use(ValueId id, std::int32_t superstep) {
    std::int32_t& last = last_use_[root_of(graph_, id)];
    last = std::max(last, superstep);
  }

  void find_lifetimes() {
    for (std::size_t i = 0; i < graph_.nodes().size(); ++i)
      if (schedule_.superstep[i] >= 0)
        for (ValueId input : graph_.nodes()[i].inputs) use(input, schedule_.superstep[i]);
    for (const Output& output : graph_.outputs()) use(output.value, end());
    for (const Assignment& assignment : graph_.assignments()) use(assignment.value, end());
  }

  std::int32_t add_storage(const Type& type, std::int32_t first, std::int32_t last) {
    storages_.push_back({type.bytes(), first, last, 0});
    const std::int32_t number = add_buffer({.bytes = type.bytes()});
    storage_of_[number] = storages_.size() - 1;
    return number;
  }

  // Whether a result may be written over what the node reads as its input i.
  bool may_overwrite(const Node& node, std::size_t i) const {
    if (node.op->elementwise) return true;
    if (node.op->in_place == nullptr || node.op->in_place(node, 0) != static_cast<int>(i)) return false;
    const ValueId root = root_of(graph_, node.inputs[i]);
    return std::count_if(node.inputs.begin(), node.inputs.end(),
                         [&](ValueId input) { return root_of(graph_, input) == root; }) == 1;
  }

  // An input that dies here and whose memory the result may take over, or -1.
  std::int32_t find_dying_input(const Node& node, std::int32_t superstep) const {
    if (!share_memory_ || node.outputs.size() != 1) return -1;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (!may_overwrite(node, i)) continue;
      const ValueId input = node.inputs[i], root = root_of(graph_, input);
      const auto buffer = buffer_of_.find(root);
      if (buffer == buffer_of_.end() || !storage_of_.contains(buffer->second)) continue;
      if (graph_.type(input) != node.outputs[0] || last_use_.at(root) != superstep) continue;
      if (storages_[storage_of_.at(buffer->second)].last == superstep && is_only_reader(root, node, superstep))
        return buffer->second;
    }
    return -1;
  }

  bool is_only_reader(ValueId root, const Node& reader, std::int32_t superstep) const {
    for (std::size_t i = 0; i < graph_.nodes().size(); ++i) {
      if (schedule_.superstep[i] != superstep) continue;
      for (ValueId input : graph_.nodes()[i].inputs) {
        if (root_of(graph_, input) != root) continue;
        if (&graph_.nodes()[i] != &reader || graph_.type(input) != reader.outputs[0]) return false;
      }
    }
    return true;
  }

  std::int32_t buffer_for_output(const Node& node, ValueId id, std::int32_t superstep) {
    if (const auto placed = buffer_of_.find(id); placed != buffer_of_.end()) return placed->second;
    if (!last_use_.contains(id)) return -1;
    const Type& type = graph_.type(id);
    const std::int32_t dying = find_dying_input(node, superstep);
    if (dying < 0) return add_storage(type, superstep, last_use_.at(id));
    storages_[storage_of_.at(dying)].last = last_use_.at(id);
    return dying;
  }

  void add_kernels() {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < graph_.nodes().size(); ++i)
      if (schedule_.superstep[i] >= 0) order.push_back(i);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return schedule_.superstep[a] < schedule_.superstep[b]; });
    for (std::size_t i : order) {
      const Node& node = graph_.nodes()[i];
      KernelCall call{node.op, node.attributes, {}, {}, node.name, node.layer};
      for (ValueId input : node.inputs) {
        Operand& operand = call.inputs.emplace_back(Operand{buffer_of_.at(root_of(graph_, input)), graph_.type(input)});
        if (const Node& view = graph_.node(input); view.op->is_strided) {
          operand.first = view.attributes.integer("offset");
          operand.strides = view.attributes.integers("strides");
        }
      }
      for (std::size_t k = 0; k < node.outputs.size(); ++k) {
        const ValueId id{static_cast<std::int32_t>(i), static_cast<std::int32_t>(k)};
        const std::int32_t buffer = buffer_for_output(node, id, schedule_.superstep[i]);
        if (buffer >= 0) buffer_of_[id] = buffer;
        call.outputs.push_back({buffer, node.outputs[k]});
      }
      // A kernel may skip unused outputs; a kernel whose outputs are all unused is not called.
      const bool wanted = std::any_of(call.outputs.begin(), call.outputs.end(),
                                      [](const Operand& output) { return output.buffer >= 0; });
      if (!wanted) continue;
      plan_.supersteps[static_cast<std::size_t>(schedule_.superstep[i])].push_back(std::move(call));
    }
  }

  void add_copy(std::int32_t from, std::int32_t to, const Type& type, std::int32_t superstep, const std::string& name) {
    const Integers sizes(type.shape.begin(), type.shape.end());
    plan_.supersteps[static_cast<std::size_t>(superstep)].push_back(
        {&definitions::reshape, {{"shape", sizes}}, {{from, type}}, {{to, type}}, name});
  }

  static std::string name_of(const Node& source) {
    return is_role(source, Role::counter) ? std::string(source.op->name) : source.attributes.text("name");
  }

  // Where a value can be read when the step ends. By then a feed or an assigned variable no longer holds it, so the
  // first superstep copies it.
  std::int32_t buffer_at_end(ValueId id) {
    const ValueId root = root_of(graph_, id);
    const std::int32_t buffer = buffer_of_.at(root);
    const Node& source = graph_.node(root);
    const bool assigned = std::any_of(graph_.assignments().begin(), graph_.assignments().end(),
                                      [&](const Assignment& assignment) { return assignment.variable == root; });
    const bool is_lost = is_role(source, Role::input) || is_role(source, Role::counter);
    if (!is_lost && !(is_role(source, Role::variable) && assigned)) return buffer;
    const auto [copied, is_new] = copies_.try_emplace(buffer, -1);
    if (is_new) {
      copied->second = add_storage(graph_.type(root), 0, end());
      add_copy(buffer, copied->second, graph_.type(root), 0, name_of(source));
    }
    return copied->second;
  }

  void add_outputs() {
    for (const Output& output : graph_.outputs())
      plan_.outputs.push_back({.name = output.name,
                               .type = graph_.type(output.value),
                               .buffer = buffer_at_end(output.value),
                               .kind = output.kind,
                               .number = output.number,
                               .every_step = output.every_step});
  }

  void add_copied_assignments() {
    for (std::size_t i = 0; i < graph_.assignments().size(); ++i) {
      const Assignment& assignment = graph_.assignments()[i];
      if (schedule_.in_place[i] || assignment.variable == root_of(graph_, assignment.value)) continue;
      add_copy(buffer_at_end(assignment.value), buffer_of_.at(assignment.variable), graph_.type(assignment.variable),
               end(), graph_.node(assignment.variable).attributes.text("name"));
    }
  }

  void place_storages() {
    plan_.arena_bytes = plan_memory(storages_, share_memory_);
    for (const auto& [buffer, storage] : storage_of_)
      plan_.buffers[static_cast<std::size_t>(buffer)].offset = storages_[storage].offset;
  }

  const Graph& graph_;
  const Schedule& schedule_;
  bool share_memory_;
  Plan plan_;
  std::map<ValueId, std::int32_t> buffer_of_;  // by root value
  std::map<ValueId, std::int32_t> last_use_;   // by root value
  std::vector<Storage> storages_;
  std::map<std::int32_t, std::size_t> storage_of_;  // by buffer
  std::map<std::int32_t, std::int32_t> copies_;     // by buffer: its copy from the start of the step
};

}  // namespace

Plan emit_plan(const Graph& graph, const Schedule& schedule, bool share_memory) {
  return Emitter(graph, schedule, share_memory).run();
}

}  // namespace pando
