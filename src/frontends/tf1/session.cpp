// SPDX-License-Identifier: Apache-2.0
#include "frontends/tf1/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "frontends/tf1/computation.h"
#include "model/target.h"

namespace pando::tf1 {

namespace {

bool takes(const Type& wanted, const Array& given) {
  if (given.dtype() != wanted.dtype || given.shape().rank() != wanted.shape.rank()) return false;
  for (int axis = 0; axis < wanted.shape.rank(); ++axis)
    if (wanted.shape[axis] != -1 && wanted.shape[axis] != given.shape()[axis]) return false;
  return true;
}

// Traces recorded calls on the values of their inputs, and on variables.
class HostTrace {
 public:
  explicit HostTrace(Trace& trace) : trace_(trace) {}
  void set(const Tensor& tensor, Value value) { values_[key(tensor)] = value; }
  Value operator()(const Tensor& tensor) {
    if (const auto found = values_.find(key(tensor)); found != values_.end()) return found->second;
    if (const Source* source = source_of(tensor)) return trace_.value_of(*source->variable);
    const Recording& call = *tensor.state().recording;
    std::vector<Value> inputs;
    for (const Tensor& input : call.inputs) inputs.push_back((*this)(input));
    const std::vector<Value> outputs = call.function(trace_, inputs);
    for (std::size_t i = 0; i < outputs.size(); ++i) values_[{&call, static_cast<int>(i)}] = outputs[i];
    return values_.at(key(tensor));
  }

 private:
  using Key = std::pair<const Recording*, int>;
  static Key key(const Tensor& tensor) { return {tensor.state().recording.get(), tensor.state().output}; }
  Trace& trace_;
  std::map<Key, Value> values_;
};

std::string feed_name(std::size_t index) { return fmt::format("input{}", index); }

Session::State::HostProgram make_host_program(const Tensor& tensor, const std::vector<Tensor>& inputs,
                                              const std::vector<Type>& types) {
  Graph graph;
  Trace trace(graph, false);
  HostTrace values(trace);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    values.set(inputs[i], ops::input(graph, feed_name(i), types[i].dtype, types[i].shape));
  graph.add_output("value", values(tensor));
  Variables variables;
  trace.bind(variables);
  std::vector<std::size_t> entries;
  for (const Parameter& parameter : trace.parameters()) entries.push_back(DefaultGraph::current().add(parameter));
  return {tensor, inputs, types, Program(graph, host_target()->ipus.front(), variables), std::move(entries)};
}

}  // namespace

std::vector<Type> element_types(const std::string& who, const data::Dataset& dataset) {
  const std::optional<data::Element> first = dataset.iterator().next();
  if (!first) throw Error(fmt::format("{}: the data set is empty", who));
  std::vector<Type> types;
  for (const Array& column : *first) types.push_back(type_of(column));
  return types;
}

IteratorState::IteratorState(const data::Dataset& dataset)
    : DataSource(dataset), types(element_types("Iterator", dataset)) {}

std::optional<DataPosition> IteratorState::position() const {
  return pass ? std::optional(position_of(dataset, *pass)) : std::nullopt;
}

Iterator::Iterator(const data::Dataset& dataset) : state_(std::make_shared<IteratorState>(dataset)) {
  DefaultGraph::current().add("Iterator", state_);
}

Iterator make_initializable_iterator(const data::Dataset& dataset) { return Iterator(dataset); }

Iterator make_one_shot_iterator(const data::Dataset& dataset) {
  Iterator iterator(dataset);
  iterator.state_->pass = begin_pass(dataset);
  return iterator;
}

std::vector<Tensor> Iterator::next_tensors(std::size_t columns) const {
  if (columns != state_->types.size())
    throw Error(fmt::format("get_next: {} columns are wanted but the elements of the data set have {}", columns,
                            state_->types.size()));
  return make_source("IteratorGetNext", {.kind = Source::Kind::iterator, .iterator = state_}, state_->types);
}

std::vector<Tensor> Iterator::get_next() const { return next_tensors(state_->types.size()); }

Operation Iterator::initializer() const {
  return Operation(std::make_shared<const OperationState>(
      OperationState{[state = state_](Session::State&) { state->pass = begin_pass(state->dataset); }}));
}

void Session::State::set_initialised(std::size_t end) { initialised_ = std::max(initialised_, end); }

void Session::State::check_initialised(std::size_t entry) const {
  const DefaultGraph& graph = DefaultGraph::current();
  if (!graph.has(entry))
    throw Error("run: the graph that it belongs to was reset by reset_default_graph(); build and compile it again");
  if (entry >= initialised_)
    throw Error(
        fmt::format("run: the variable '{}' is not initialised in this session; run "
                    "tf::global_variables_initializer() first",
                    graph.name(entry)));
}

void Session::State::check_all_initialised() const {
  const DefaultGraph& graph = DefaultGraph::current();
  for (std::size_t entry = initialised_; entry < graph.end(); ++entry)
    if (graph.has(entry) && !graph.name(entry).empty()) check_initialised(entry);
}

const Array* Evaluation::fed_value(const Tensor& tensor) const {
  for (const auto& [fed, value] : feeds_)
    if (fed == tensor) return &value;
  return nullptr;
}

Array Evaluation::value_of(const Tensor& tensor) {
  if (!is_recorded(tensor))
    throw Error(
        "run: the tensor belongs to a computation that is compiled, not to the graph of the session; return it "
        "from the computation and fetch that");
  if (const Array* value = fed_value(tensor)) {
    if (!takes({tensor.dtype(), tensor.shape()}, *value))
      throw Error(fmt::format("run: '{}' is {} but is fed {}; cast or reshape it", tensor.state().recording->name,
                              to_string(Type{tensor.dtype(), tensor.shape()}), to_string(type_of(*value))));
    return *value;
  }
  const Source* source = source_of(tensor);
  if (source == nullptr) return computed(tensor);
  switch (source->kind) {
    case Source::Kind::constant: return source->constant;
    case Source::Kind::iterator: return next_of(tensor, *source->iterator);
    case Source::Kind::variable: {
      session_.check_initialised(DefaultGraph::current().add(*source->variable));
      return source->variable->value();
    }
    case Source::Kind::placeholder: break;
  }
  throw Error(
      fmt::format("run: the placeholder '{}' is not fed; give its value with the run", tensor.state().recording->name));
}

Array Evaluation::next_of(const Tensor& tensor, IteratorState& iterator) {
  const Recording* recording = tensor.state().recording.get();
  auto found = elements_.find(recording);
  if (found == elements_.end()) {
    if (!iterator.pass) throw Error("run: the iterator is not initialised; run its initializer() first");
    std::optional<data::Element> element = iterator.pass->iterator.next();
    if (!element) throw OutOfRange("run: the iterator has ended; run its initializer() to begin again");
    ++iterator.pass->used;
    for (std::size_t i = 0; i < element->size(); ++i)
      if (type_of((*element)[i]) != iterator.types[i])
        throw Error(
            fmt::format("run: column {} of the data set is {} but was {} in the first element; batch it with "
                        "drop_remainder",
                        i, to_string(type_of((*element)[i])), to_string(iterator.types[i])));
    found = elements_.emplace(recording, std::move(*element)).first;
  }
  return found->second[static_cast<std::size_t>(tensor.state().output)];
}

void Evaluation::collect_inputs(const Tensor& tensor, std::set<const Recording*>& seen,
                                std::vector<Tensor>& inputs) const {
  const Source* source = source_of(tensor);
  const bool is_fed = fed_value(tensor) != nullptr;
  if (!is_fed && source != nullptr && source->kind == Source::Kind::variable) return;
  if (is_fed || source != nullptr) {
    if (std::find(inputs.begin(), inputs.end(), tensor) == inputs.end()) inputs.push_back(tensor);
    return;
  }
  const Recording& call = *tensor.state().recording;
  if (!seen.insert(&call).second) return;
  if (!call.function)
    throw Error(fmt::format("run: '{}' is the input of a Keras model and has no value here", call.name));
  for (const Tensor& input : call.inputs) collect_inputs(input, seen, inputs);
}

Array Evaluation::computed(const Tensor& tensor) {
  std::vector<Tensor> inputs;
  std::set<const Recording*> seen;
  collect_inputs(tensor, seen, inputs);
  std::map<std::string, Array> feeds;
  std::vector<Type> types;
  for (const Tensor& input : inputs) {
    const Array value = value_of(input);
    feeds[feed_name(types.size())] = value;
    types.push_back(type_of(value));
  }
  auto& programs = session_.host_programs;
  auto known = std::find_if(programs.begin(), programs.end(), [&](const auto& program) {
    return program.tensor == tensor && program.inputs == inputs && program.types == types;
  });
  if (known == programs.end()) {
    programs.push_back(make_host_program(tensor, inputs, types));
    known = std::prev(programs.end());
  }
  for (std::size_t entry : known->entries) session_.check_initialised(entry);
  std::map<std::string, Array> used;
  for (const PortInfo& feed : known->program.feeds()) used[feed.name] = feeds.at(feed.name);
  return known->program.step(used).at("value");
}

Fetch::Fetch(const Tensor& tensor)
    : function_([tensor](Evaluation& evaluation) { return Arrays(evaluation.value_of(tensor)); }) {}

Fetch::Fetch(const Operation& operation)
    : function_([operation](Evaluation& evaluation) {
        if (operation.state() == nullptr)
          throw Error(
              "run: the operation is part of a computation, not of the graph of the session; run what "
              "ipu_compiler::compile returned");
        operation.state()->run(evaluation.session());
        return Arrays();
      }) {}

Fetch::Fetch(const Compiled& compiled)
    : function_([compiled](Evaluation& evaluation) {
        if (!compiled.computation())
          throw Error("run: nothing was compiled; assign what ipu_compiler::compile returns");
        return compiled.computation()->run(evaluation);
      }) {}

Session::Session() : state_(new State) {}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;

Arrays Session::run(const Fetch& fetch, const Feeds& feeds) {
  const CallLock::Call turn(DefaultGraph::current().calls(), "run", "the default graph");
  Evaluation evaluation(*state_, feeds);
  return fetch(evaluation);
}

std::vector<Arrays> Session::run(const std::vector<Fetch>& fetches, const Feeds& feeds) {
  const CallLock::Call turn(DefaultGraph::current().calls(), "run", "the default graph");
  Evaluation evaluation(*state_, feeds);
  std::vector<Arrays> results;
  for (const Fetch& fetch : fetches) results.push_back(fetch(evaluation));
  return results;
}

}  // namespace pando::tf1
