// SPDX-License-Identifier: Apache-2.0
// Wires the parts together: the graph of a step in, a program that runs on its devices out.
#include <pando/program/program.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "backends/cpu/cpu_backend.h"
#include "base/text.h"
#include "comm/start.h"
#include "plan/cost.h"
#include "program/backends.h"
#include "program/state.h"
#include "program/step_kernels.h"

namespace pando {

Device::Device(const DeviceOptions& options) : state_(new State{make_backend(options)}) {}
int Device::tiles() const { return state_->backend->tiles(); }
std::string Device::backend() const { return state_->backend->name(); }
std::string Device::instruction_set() const { return state_->backend->instruction_set(); }

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
  if (name == "tf32") return Precision::tf32;
  throw Error(unknown_name("precision", name, {"float32", "mixed_bfloat16", "tf32"}));
}

Function<void(const Graph&)>& graph_observer() {
  thread_local Function<void(const Graph&)> observer;
  return observer;
}

namespace {

// The runs and steps of all programs that are going on; and whether the process lets none begin any more.
std::atomic<int> active_runs = 0;
std::atomic<bool> runs_are_stopped = false;

void end_run() {
  if (active_runs.fetch_sub(1) == 1 && runs_are_stopped.load()) active_runs.notify_all();
}

// While it lives, the thread runs the program. Throws Error if another thread already does.
class ProgramUse {
 public:
  explicit ProgramUse(std::atomic<bool>& in_use) : in_use_(in_use) {
    // Counted before the question: stop_all_runs() either sees the run or is seen by it.
    active_runs.fetch_add(1);
    if (runs_are_stopped.load()) refuse("run: the process is ending, and no program runs any more");
    if (in_use_.exchange(true, std::memory_order_acquire))
      refuse("run: another thread is running this program; give each thread its own program");
  }
  ~ProgramUse() {
    in_use_.store(false, std::memory_order_release);
    end_run();
  }
  ProgramUse(const ProgramUse&) = delete;
  ProgramUse& operator=(const ProgramUse&) = delete;

 private:
  [[noreturn]] static void refuse(const char* text) {
    end_run();
    throw Error(text);
  }
  std::atomic<bool>& in_use_;
};

// The host folds constants, whatever the backend.
CompileOptions compile_options(const Backend& backend, const ProgramOptions& options) {
  CompileOptions made{.disabled_passes = options.disabled_passes,
                      .check_numerics = options.check_numerics,
                      .mixed_bfloat16 = options.precision == Precision::mixed_bfloat16,
                      .tf32 = options.precision == Precision::tf32,
                      .evaluate = cpu::evaluate,
                      .backend = backend.name(),
                      .capabilities = backend.capabilities(),
                      .why_unsupported = [&](const KernelCall& call) { return backend.why_unsupported(call); }};
  if (options.on_pass)
    made.on_pass = [&](const PassReport& report) {
      options.on_pass({std::string(report.name), report.microseconds, report.text});
    };
  return made;
}

std::vector<VariableInfo> variables_of(const Graph& graph) {
  std::vector<VariableInfo> list;
  for (const Node& node : graph.nodes())
    if (is_role(node, Role::variable))
      list.push_back(
          {node.attributes.text("name"), node.outputs[0], variable_role_named(node.attributes.text("role"))});
  return list;
}

// What replicas add up, on a device; nothing if there is one replica.
HostBlocks blocks_of(const std::vector<VariablePort>& variables, int replicas, const Backend& backend,
                     const BindVariable& bind) {
  HostBlocks blocks;
  if (replicas == 1) return blocks;
  for (const VariablePort& variable : variables) {
    if (variable.type.dtype != DType::float32)
      throw Error(fmt::format("the variable '{}' is {} but only float32 ones can be shared by replicas", variable.name,
                              to_string(variable.type)));
    blocks.add(bind(variable)->mirror_in(backend.memory()).place(),
               static_cast<std::size_t>(variable.type.shape.elements()));
  }
  return blocks;
}

LoadedStage load_stage(const StagePlan& plan, int replicas, Backend& backend, const BindVariable& bind) {
  LoadedStage loaded{.memory = backend.memory(),
                     .programs = backend.load(plan.all(), bind),
                     .sums = blocks_of(plan.sums, replicas, backend, bind),
                     .statistics = blocks_of(plan.statistics, replicas, backend, bind)};
  for (const VariablePort& port : plan.statistics) {
    const std::shared_ptr<StoredVariable> statistic = bind(port);
    loaded.statistics_use.add(statistic, true, &statistic->mirror_in(backend.memory()));
  }
  return loaded;
}

// The variables that programs share by name; sums belong to one program.
std::vector<std::string> shared_names(const StepPlan& plan) {
  std::vector<std::string> names;
  for (const StagePlan& stage : plan.stages)
    for (const Plan* program : stage.all()) {
      if (program == nullptr) continue;
      for (const VariablePort& variable : program->variables)
        if (variable.role != VariableRole::sum && std::find(names.begin(), names.end(), variable.name) == names.end())
          names.push_back(variable.name);
    }
  return names;
}

Shape with_first_axis(std::int64_t size, const Shape& shape) {
  Shape result = {size};
  for (std::int64_t other : shape) result.append(other);
  return result;
}

// The number of replicas of this worker.
int replicas_here(const Division& division, const Workers* workers) {
  const int all = std::max(1, division.replicas);
  if (workers == nullptr) return all;
  if (all % workers->count() != 0)
    throw Error(fmt::format("a program of {} replicas cannot be shared by {} workers; give each the same number", all,
                            workers->count()));
  return all / workers->count();
}

}  // namespace

Program::Program(const Graph& graph, const Device& device, const Variables& variables, const ProgramOptions& options)
    : Program(graph, {device}, {}, variables, options) {}

Program::Program(const Graph& graph, const std::vector<Device>& devices, const Division& division,
                 const Variables& variables, const ProgramOptions& options)
    : state_(new State) {
  State& state = *state_;
  for (const Device& device : devices) state.devices.push_back(device.state_);
  state.workers = options.workers;
  const auto replicas = static_cast<std::size_t>(replicas_here(division, options.workers.get()));
  const std::size_t stages = devices.size() / replicas;
  if (division.replicas < 1 || devices.size() != stages * replicas || stages < static_cast<std::size_t>(graph.stages()))
    throw Error(fmt::format("a program of {} replicas of {} stages was given {} devices; give one for each stage",
                            division.replicas, graph.stages(), devices.size()));
  if (division.accumulation < 1)
    throw Error(
        fmt::format("an update of a program was given {} micro-batches; give at least 1", division.accumulation));
  if (!options.workers && !graph.assignments().empty()) warn_of_copies();
  if (graph_observer()) graph_observer()(graph);
  state.plan = compile_step(graph, division, compile_options(*state.devices.front()->backend, options),
                            static_cast<int>(stages));
  state.variables = variables_of(graph);
  for (std::size_t r = 0; r < replicas; ++r) state.replicas.push_back(r == 0 ? variables : Variables());
  for (std::size_t i = 0; i < devices.size(); ++i) state.sums.push_back(std::make_unique<VariableStore>());
  const auto bind_for = [&](std::size_t device) {
    return [&own = state.replicas[device / stages].state_->store, &sums = *state.sums[device],
            &memory = state.devices[device]->backend->memory()](const VariablePort& variable) {
      return (variable.role == VariableRole::sum ? sums : own).bind(variable.name, variable.type, memory);
    };
  };
  if (state.plan.is_whole()) {
    const Plan* const plan = &*state.plan.stages[0].forward;
    state.whole = state.devices[0]->backend->load({&plan, 1}, bind_for(0));
    return;
  }
  std::vector<LoadedStage> loaded;
  for (std::size_t i = 0; i < devices.size(); ++i)
    loaded.push_back(
        load_stage(state.plan.stages[i % stages], state.plan.replicas, *state.devices[i]->backend, bind_for(i)));
  for (std::size_t r = 1; r < state.replicas.size(); ++r)
    state.copies.emplace_back(state.replicas[0].state_->store, state.replicas[r].state_->store,
                              shared_names(state.plan));
  state.executor = std::make_unique<StepExecutor>(state.plan, std::move(loaded), options.workers);
}

Program::~Program() = default;
Program::Program(Program&&) noexcept = default;
Program& Program::operator=(Program&&) noexcept = default;

std::vector<PortInfo> Program::feeds() const {
  std::vector<PortInfo> feeds;
  for (const Field& field : state_->plan.host.list) feeds.push_back({field.name, field.type});
  return feeds;
}

std::vector<VariableInfo> Program::variables() const { return state_->variables; }

namespace {

std::string message_of(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "an exception that is not a std::exception";
  }
}

// Runs with room for the outputs of every step, and then cuts the outputs to the steps that were run.
std::int64_t run_whole(auto& state, const Launch& launch, FeedRing* ring) {
  state.kept.clear();
  std::vector<std::byte*> memory;
  for (const Port& output : state.plan.stages[0].forward->outputs) {
    if (!output.every_step) continue;
    const Shape shape = with_first_axis(launch.rows, output.type.shape);
    memory.push_back((state.kept[output.name] = Array(output.type.dtype, shape)).mutable_raw());
  }
  const std::int64_t done = state.executable().run(
      {.steps = launch.rows, .first_update = launch.first_update, .feed = ring, .every_step = memory});
  if (done < launch.rows)
    for (auto& [name, array] : state.kept) array = array.slice(0, done);
  return done;
}

// Makes `results`, which are those of this worker's replicas, those of all workers. Throws Error if another worker ran
// another number of rows.
void gather_results(Workers& workers, std::size_t bytes_of_row, std::int64_t rows, std::vector<std::byte>& results) {
  const std::vector<std::byte> all_rows =
      gather_from_workers(workers, result_channel, std::as_bytes(std::span(&rows, 1)));
  const auto count = static_cast<std::size_t>(workers.count());
  for (std::size_t i = 0; i < count; ++i) {
    std::int64_t other = 0;
    std::memcpy(&other, all_rows.data() + i * sizeof other, sizeof other);
    if (other != rows)
      throw Error(fmt::format("worker {} ran {} rows and worker {} ran {}; all workers must be given the same data",
                              workers.rank(), rows, i, other));
  }
  const std::size_t bytes = static_cast<std::size_t>(rows) * bytes_of_row;
  const std::vector<std::byte> all = gather_from_workers(workers, result_channel, {results.data(), bytes});
  results.resize(all.size());
  for (std::size_t worker = 0; worker < count; ++worker)
    for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row)
      std::copy_n(all.data() + worker * bytes + row * bytes_of_row, bytes_of_row,
                  results.data() + (row * count + worker) * bytes_of_row);
}

std::int64_t run_divided(auto& state, const Launch& launch, FeedRing* ring) {
  for (VariableCopies& copies : state.copies) copies.follow();
  const std::size_t bytes_of_row = state.replicas.size() * state.plan.results.bytes;
  state.results.resize(static_cast<std::size_t>(launch.rows) * bytes_of_row);
  try {
    const std::int64_t rows = state.executor->run({.rows = launch.rows,
                                                   .first_row = ring == nullptr ? 0 : ring->next(),
                                                   .first_update = launch.first_update,
                                                   .feed = ring,
                                                   .results = state.results.data()});
    if (!state.workers) return rows;
    if (rows < launch.rows && ring != nullptr) ring->rethrow();
    gather_results(*state.workers, bytes_of_row, rows, state.results);
    return rows;
  } catch (...) {
    if (state.workers) state.workers->give_up(message_of(std::current_exception()));
    for (VariableCopies& copies : state.copies) copies.distrust();
    state.rows_run = 0;
    throw;
  }
}

std::int64_t run_rows(auto& state, const Launch& launch, FeedRing* ring) {
  const ProgramUse use(state.in_use);
  if (launch.rows < 0) throw Error(fmt::format("run: the number of steps is {} but must not be negative", launch.rows));
  state.rows_run = state.executor ? run_divided(state, launch, ring) : run_whole(state, launch, ring);
  const std::int64_t rows = state.plan.rows_per_update;
  state.next_update = launch.first_update + (state.rows_run + rows - 1) / rows;
  return state.rows_run;
}

const Array& feed_for(const Port& port, const std::map<std::string, Array>& feeds) {
  const auto found = feeds.find(port.name);
  if (found == feeds.end()) throw Error(fmt::format("step: there is no feed for the input '{}'", port.name));
  const Type given = type_of(found->second);
  if (given != port.type)
    throw Error(fmt::format("step: the input '{}' is {} but the feed is {}; cast or reshape it", port.name,
                            to_string(port.type), to_string(given)));
  return found->second;
}

// The plan of a program that can run a single step.
const Plan& plan_of_step(const StepPlan& plan) {
  if (!plan.is_whole())
    throw Error("step: the program is divided over several devices or accumulates gradients, and only run() runs that");
  return *plan.stages.front().forward;
}

}  // namespace

void stop_all_runs() {
  runs_are_stopped = true;
  for (int runs = active_runs; runs > 0; runs = active_runs) active_runs.wait(runs);
}

std::int64_t Program::run(const Launch& launch, Feed& feed) {
  FeedRing& ring = feed.state_->ring;
  const FeedUse use(ring);
  const std::int64_t done = run_rows(*state_, launch, &ring);
  if (done < launch.rows) ring.rethrow();
  return done;
}

std::int64_t Program::run(const Launch& launch) {
  const std::vector<Field>& inputs = state_->plan.host.list;
  if (!inputs.empty())
    throw Error(fmt::format("run: the graph has {} inputs, the first is '{}'; give a Feed", inputs.size(),
                            inputs.front().name));
  return run_rows(*state_, launch, nullptr);
}

std::int64_t Program::run(std::int64_t rows, Feed& feed) {
  return run({.rows = rows, .first_update = state_->next_update}, feed);
}
std::int64_t Program::run(std::int64_t rows) { return run({.rows = rows, .first_update = state_->next_update}); }

std::vector<PortInfo> Program::outputs() const {
  std::vector<PortInfo> outputs;
  for (const Field& field : state_->plan.results.list) outputs.push_back({field.name, field.type});
  return outputs;
}

namespace {

void run_step(auto& state, std::span<const std::byte* const> feeds, std::span<std::byte* const> outputs,
              std::int64_t update) {
  state.from.clear();
  state.to.clear();
  for (const std::byte* feed : feeds) state.from.push_back(host_place(feed));
  for (std::byte* output : outputs) state.to.push_back(output == nullptr ? Place() : host_place(output));
  state.executable().step({state.from, state.to, {update, 0}});
}

}  // namespace

void Program::step(std::span<const std::byte* const> feeds, std::span<std::byte* const> outputs, std::int64_t update) {
  const Plan& plan = plan_of_step(state_->plan);
  if (feeds.size() != plan.inputs.size() || outputs.size() != plan.outputs.size())
    throw Error(fmt::format("step: {} feeds and {} outputs were given but the program has {} and {}", feeds.size(),
                            outputs.size(), plan.inputs.size(), plan.outputs.size()));
  const ProgramUse use(state_->in_use);
  run_step(*state_, feeds, outputs, update);
}

std::map<std::string, Array> Program::step(const std::map<std::string, Array>& feeds) {
  const Plan& plan = plan_of_step(state_->plan);
  for (const auto& [name, value] : feeds) {
    std::vector<std::string> known;
    for (const Port& port : plan.inputs) known.push_back(port.name);
    if (std::find(known.begin(), known.end(), name) == known.end()) throw Error(unknown_name("input", name, known));
  }
  std::vector<const std::byte*> from;
  for (const Port& port : plan.inputs) from.push_back(feed_for(port, feeds).raw());
  std::vector<std::byte*> to;
  std::map<std::string, Array> outputs;
  for (const Port& port : plan.outputs) {
    const Shape shape = port.every_step ? with_first_axis(1, port.type.shape) : port.type.shape;
    to.push_back((outputs[port.name] = Array(port.type.dtype, shape)).mutable_raw());
  }
  const ProgramUse use(state_->in_use);
  run_step(*state_, from, to, state_->next_update++);
  state_->kept = outputs;
  return outputs;
}

namespace {

// The values of the rows from `first` on: [micro-batches, ...].
Array results_of(const auto& state, const Field& field, std::int64_t first) {
  const std::int64_t replicas = state.plan.replicas, batches = (state.rows_run - first) * replicas;
  Array values(field.type.dtype, with_first_axis(batches, field.type.shape));
  const std::size_t bytes = field.type.bytes(), stride = state.plan.results.bytes;
  const std::byte* from = state.results.data() + static_cast<std::size_t>(first * replicas) * stride + field.offset;
  for (std::size_t i = 0; i < static_cast<std::size_t>(batches); ++i)
    std::copy_n(from + i * stride, bytes, values.mutable_raw() + i * bytes);
  return values;
}

Array divided_output(const auto& state, const Field& field) {
  if (field.every_step) return results_of(state, field, 0);
  const std::int64_t replicas = state.plan.replicas;
  const Shape shape = replicas > 1 ? with_first_axis(replicas, field.type.shape) : field.type.shape;
  if (state.rows_run == 0) return Array(field.type.dtype, shape);
  return results_of(state, field, state.rows_run - 1).reshape(shape);
}

}  // namespace

Array Program::output(const std::string& name) const {
  const State& state = *state_;
  if (const auto kept = state.kept.find(name); kept != state.kept.end()) return kept->second;
  std::vector<std::string> known;
  for (const Field& field : state.plan.results.list) {
    known.push_back(field.name);
    if (field.name != name) continue;
    if (state.executor) return divided_output(state, field);
    Array value(field.type.dtype, field.type.shape);
    state.executable().read_output(known.size() - 1, value.mutable_raw());
    return value;
  }
  throw Error(unknown_name("output", name, known));
}

std::vector<KernelInfo> Program::kernels() const { return kernels_of(state_->plan); }

namespace {

void add_variables(const StagePlan& stage, DeviceUse& use) {
  std::set<std::string> known;
  for (const Plan* plan : stage.all()) {
    if (plan == nullptr) continue;
    for (const VariablePort& variable : plan->variables) {
      if (!known.insert(variable.name).second) continue;
      if (variable.role == VariableRole::sum) use.sums += variable.type.bytes();
      else if (variable.role == VariableRole::slot) use.slots += variable.type.bytes();
      else if (variable.role == VariableRole::weight || variable.role == VariableRole::statistic)
        use.weights += variable.type.bytes();
    }
  }
}

}  // namespace

std::vector<DeviceUse> Program::device_use() const {
  const State& state = *state_;
  std::vector<DeviceUse> uses;
  for (std::size_t i = 0; i < state.plan.stages.size(); ++i) {
    const StagePlan& stage = state.plan.stages[i];
    const auto index = static_cast<int>(i);
    DeviceUse& use = uses.emplace_back();
    use.working = state.executor ? state.executor->working_bytes(index) : state.whole.working_bytes;
    use.tiles = state.executor ? state.executor->tiles(index) : state.whole.tiles;
    if (state.executor) use.stash = state.executor->stash_bytes(index);
    add_variables(stage, use);
    const int slots =
        state.executor ? std::max(default_feed_slots, state.executor->rows_in_flight()) : default_feed_slots;
    if (i == 0) use.feeds = state.plan.host.bytes * static_cast<std::size_t>(slots);
    for (const auto* plan : {&stage.forward, &stage.backward_next})
      if (*plan) use.megaflops += cost_of(**plan).flops / 1e6;
  }
  return uses;
}

std::size_t Program::arena_bytes() const {
  std::size_t bytes = 0;
  for (const StagePlan& stage : state_->plan.stages)
    for (const Plan* plan : stage.all())
      if (plan != nullptr) bytes += plan->arena_bytes;
  return bytes;
}

std::size_t Program::working_bytes() const {
  std::size_t bytes = 0;
  for (const DeviceUse& use : device_use()) bytes += use.working;
  return bytes;
}

std::string Program::plan_text() const { return to_string(state_->plan); }

Feed::Feed(const Program& program, FillFeeds fill, int slots) {
  if (slots < 1) throw Error(fmt::format("Feed: the number of slots is {} but must be at least 1", slots));
  const Program::State& state = *program.state_;
  const Fields& host = state.plan.host;
  std::vector<std::size_t> offsets;
  for (std::size_t r = 0; r < state.replicas.size(); ++r)
    for (const Field& field : host.list) offsets.push_back(r * host.bytes + field.offset);
  if (state.executor) slots = std::max(slots, state.executor->rows_in_flight());
  state_.reset(new State{FeedRing(std::move(offsets), host.bytes * state.replicas.size(), std::move(fill), slots,
                                  state.devices.front()->backend->staging())});
}
Feed::Feed() = default;
Feed::~Feed() = default;
Feed::Feed(Feed&&) noexcept = default;

}  // namespace pando
