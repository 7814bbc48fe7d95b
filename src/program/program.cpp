// Wires the parts together: a graph in, a program that runs on its device out. program/parallel_program.cpp does the
// same for a step that is divided over several devices.
#include <pando/program/program.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "program/state.h"
#include "plan/cost.h"

namespace pando {

struct Feed::State {
  FeedRing ring;
};

Device::Device(const DeviceOptions& options)
    : state_(new State{cpu::CpuBackend(options.tiles, options.instruction_set)}) {}
int Device::tiles() const { return state_->backend.tiles(); }
std::string Device::instruction_set() const { return std::string(cpu::name(state_->backend.instruction_set())); }

std::vector<std::string> available_instruction_sets() {
  std::vector<std::string> names;
  for (cpu::InstructionSet set : cpu::available_instruction_sets()) names.emplace_back(cpu::name(set));
  return names;
}

Variables::Variables() : state_(std::make_shared<State>()) {}
void Variables::set(const std::string& name, const Array& value) { state_->store.set(name, value); }
Array Variables::get(const std::string& name) const { return state_->store.get(name); }
std::vector<std::string> Variables::names() const { return state_->store.names(); }
void Variables::share(const std::string& name, const Variables& other, const std::string& other_name) {
  state_->store.share(name, other.state_->store, other_name);
}

std::vector<std::string> compile_passes() { return pass_names(); }

Precision precision_named(const std::string& name) {
  if (name == "float32") return Precision::float32;
  if (name == "mixed_bfloat16") return Precision::mixed_bfloat16;
  throw Error(unknown_name("precision", name, {"float32", "mixed_bfloat16"}));
}

std::function<void(const Graph&)>& graph_observer() {
  thread_local std::function<void(const Graph&)> observer;
  return observer;
}

Plan compile_for(Backend& backend, const Graph& graph, const ProgramOptions& options) {
  CompileOptions compile_options{
      .disabled_passes = options.disabled_passes,
      .check_numerics = options.check_numerics,
      .mixed_bfloat16 = options.precision == Precision::mixed_bfloat16,
      .evaluate = [&](const Node& node, const std::vector<Array>& inputs) { return backend.evaluate(node, inputs); }};
  if (options.on_pass)
    compile_options.on_pass = [&](const PassReport& report) {
      options.on_pass({std::string(report.name), report.microseconds, report.text});
    };
  if (graph_observer()) graph_observer()(graph);
  return compile(graph, compile_options);
}

Program::Program(const Graph& graph, const Device& device, const Variables& variables, const ProgramOptions& options)
    : state_(new State{device.state_, variables.state_}) {
  Backend& backend = device.state_->backend;
  state_->plan = compile_for(backend, graph, options);
  state_->executable = backend.load(state_->plan, variables.state_->store);
}

Program::~Program() = default;
Program::Program(Program&&) noexcept = default;
Program& Program::operator=(Program&&) noexcept = default;

std::vector<PortInfo> Program::feeds() const {
  std::vector<PortInfo> feeds;
  for (const Port& feed : state_->plan.feeds) feeds.push_back({feed.name, feed.type});
  return feeds;
}

namespace {

// Runs with room for the outputs of every step, and cuts that to the steps that were run.
std::int64_t run_executable(auto& state, std::int64_t steps, Feeds* feeds) {
  const ProgramUse use(state.in_use);
  const Plan& plan = state.plan;
  std::map<std::string, Array>& every_step = state.every_step;
  if (steps < 0) throw Error(fmt::format("run: the number of steps is {} but must not be negative", steps));
  std::vector<std::byte*> memory;
  for (const Port& output : plan.outputs) {
    if (!output.every_step) continue;
    Shape shape = {steps};
    for (std::int64_t size : output.type.shape) shape.append(size);
    memory.push_back((every_step[output.name] = Array(output.type.dtype, shape)).mutable_raw());
  }
  const std::int64_t done = state.executable->run(steps, feeds, memory);
  if (done < steps)
    for (auto& [name, array] : every_step) array = array.slice(0, done);
  return done;
}

void copy_feed(const Port& port, const std::map<std::string, Array>& feeds, const Plan& plan, std::byte* slot) {
  const auto found = feeds.find(port.name);
  if (found == feeds.end()) throw Error(fmt::format("step: there is no feed for the input '{}'", port.name));
  const Type given{found->second.dtype(), found->second.shape()};
  if (given != port.type)
    throw Error(fmt::format("step: the input '{}' is {} but the feed is {}; cast or reshape it", port.name,
                            to_string(port.type), to_string(given)));
  std::memcpy(slot + plan.buffers[static_cast<std::size_t>(port.buffer)].offset, found->second.raw(),
              found->second.bytes());
}

}  // namespace

std::int64_t Program::run(std::int64_t steps, Feed& feed) {
  FeedRing& ring = feed.state_->ring;
  const FeedUse use(ring);
  const std::int64_t done = run_executable(*state_, steps, &ring);
  if (done < steps) ring.rethrow();
  return done;
}

std::int64_t Program::run(std::int64_t steps) {
  if (!state_->plan.feeds.empty())
    throw Error(fmt::format("run: the graph has {} inputs, the first is '{}'; give a Feed", state_->plan.feeds.size(),
                            state_->plan.feeds.front().name));
  return run_executable(*state_, steps, nullptr);
}

std::vector<PortInfo> Program::outputs() const {
  std::vector<PortInfo> outputs;
  for (const Port& output : state_->plan.outputs) outputs.push_back({output.name, output.type});
  return outputs;
}

void Program::step(std::span<const std::byte* const> feeds, std::span<std::byte* const> outputs) {
  if (feeds.size() != state_->plan.feeds.size() || outputs.size() != state_->plan.outputs.size())
    throw Error(fmt::format("step: {} feeds and {} outputs were given but the program has {} and {}", feeds.size(),
                            outputs.size(), state_->plan.feeds.size(), state_->plan.outputs.size()));
  const ProgramUse use(state_->in_use);
  state_->executable->step(feeds, outputs);
}

std::map<std::string, Array> Program::step(const std::map<std::string, Array>& feeds) {
  const Plan& plan = state_->plan;
  for (const auto& [name, value] : feeds) {
    std::vector<std::string> known;
    for (const Port& port : plan.feeds) known.push_back(port.name);
    if (std::find(known.begin(), known.end(), name) == known.end()) throw Error(unknown_name("input", name, known));
  }
  SingleFeed single(plan);
  for (const Port& port : plan.feeds) copy_feed(port, feeds, plan, single.slot());
  run_executable(*state_, 1, &single);
  std::map<std::string, Array> outputs;
  for (const Port& port : plan.outputs) outputs[port.name] = output(port.name);
  return outputs;
}

Array Program::output(const std::string& name) const {
  const std::vector<Port>& outputs = state_->plan.outputs;
  if (const auto kept = state_->every_step.find(name); kept != state_->every_step.end()) return kept->second;
  std::vector<std::string> known;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    known.push_back(outputs[i].name);
    if (outputs[i].name != name) continue;
    Array value(outputs[i].type.dtype, outputs[i].type.shape);
    state_->executable->read_output(i, value.mutable_raw());
    return value;
  }
  throw Error(unknown_name("output", name, known));
}

std::vector<KernelInfo> Program::kernels() const {
  std::vector<KernelInfo> kernels;
  for (const Superstep& superstep : state_->plan.supersteps)
    for (const KernelCall& call : superstep) {
      const KernelCost cost = cost_of(call);
      kernels.push_back({std::string(call.op->name), call.name, cost.flops, cost.bytes});
    }
  return kernels;
}

std::size_t Program::arena_bytes() const { return state_->plan.arena_bytes; }
std::size_t Program::working_bytes() const { return state_->executable->working_bytes(); }
std::string Program::plan_text() const { return to_string(state_->plan); }

Feed::Feed(const Program& program, FillFeeds fill, int slots) {
  if (slots < 1) throw Error(fmt::format("Feed: the number of slots is {} but must be at least 1", slots));
  state_.reset(new State{FeedRing(program.state_->plan, std::move(fill), slots)});
}
Feed::~Feed() = default;
Feed::Feed(Feed&&) noexcept = default;

}  // namespace pando
