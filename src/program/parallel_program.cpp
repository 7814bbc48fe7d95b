// Wires a divided step: the graphs of its stages in, a program on several devices out.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "program/parallel_program.h"
#include "plan/cost.h"

namespace pando {

namespace {

std::size_t bytes_of(const Type& type) { return static_cast<std::size_t>(type.shape.elements()) * size_of(type.dtype); }

bool is_kind(const std::string& name, const char* kind) { return name.rfind(kind, 0) == 0; }
// It comes from another pass or stage rather than from the host.
bool is_inner(const std::string& name) {
  return is_kind(name, "activation/") || is_kind(name, "stash/") || is_kind(name, "gradient/");
}

PipelineSchedule schedule_of(PipelineOrder order, int stages, bool training) {
  switch (order) {
    case PipelineOrder::grouped: return grouped_schedule(stages, training);
    case PipelineOrder::interleaved: return interleaved_schedule(stages, training);
    case PipelineOrder::sequential: break;
  }
  return sequential_schedule(stages, training);
}

StagePlans compile_stage(const StageGraphs& graphs, Backend& backend, Precision precision) {
  const auto plan_of = [&](const Graph& graph) {
    return graph.nodes().empty() ? std::optional<Plan>() : compile_for(backend, graph, {.precision = precision});
  };
  return {plan_of(graphs.forward), plan_of(graphs.backward_first), plan_of(graphs.backward_next),
          plan_of(graphs.update)};
}

std::vector<std::span<float>> spans_of(VariableStore& store, const std::vector<std::string>& names,
                                       const std::map<std::string, Type>& types) {
  std::vector<std::span<float>> spans;
  for (const std::string& name : names) {
    const Type& type = types.at(name);
    if (type.dtype != DType::float32)
      throw Error(fmt::format("the variable '{}' is {} but only float32 ones can be shared by replicas", name,
                              to_string(type)));
    spans.emplace_back(reinterpret_cast<float*>(store.bind(name, type)->memory.get()),
                       static_cast<std::size_t>(type.shape.elements()));
  }
  return spans;
}

std::size_t working_bytes_of(const DeviceProgram& device) {
  std::size_t bytes = 0;
  for (const auto* program : {&device.forward, &device.backward_first, &device.backward_next, &device.update})
    if (program->executable) bytes += program->executable->working_bytes();
  return bytes;
}

}  // namespace

std::size_t PortLayout::place(const std::string& name, const Type& type) {
  const auto [entry, is_new] = offsets_.try_emplace(name, bytes_);
  if (is_new) {
    bytes_ += align(bytes_of(type));
    ports_.push_back({name, type});
  }
  return entry->second;
}

void PortPlaces::add_feeds(std::size_t stage, const Plan& plan) {
  for (const Port& feed : plan.feeds) (is_inner(feed.name) ? slots[stage] : host).place(feed.name, feed.type);
}

std::vector<PortRoute> PortPlaces::feed_routes(std::size_t stage, const Plan& plan) const {
  std::vector<PortRoute> routes;
  for (const Port& feed : plan.feeds)
    if (is_inner(feed.name)) routes.push_back({PortRoute::Place::own, slots[stage].at(feed.name)});
    else routes.push_back({PortRoute::Place::host, host.at(feed.name)});
  return routes;
}

std::vector<PortRoute> PortPlaces::output_routes(std::size_t stage, const Plan& plan) {
  std::vector<PortRoute> routes;
  for (const Port& output : plan.outputs) {
    if (is_kind(output.name, "activation/"))
      routes.push_back({PortRoute::Place::next, slots[stage + 1].place(output.name, output.type)});
    else if (is_kind(output.name, "gradient/"))
      routes.push_back({PortRoute::Place::previous, slots[stage - 1].place(output.name, output.type)});
    else if (is_kind(output.name, "stash/"))
      routes.push_back({PortRoute::Place::own, slots[stage].place(output.name, output.type)});
    else routes.push_back({PortRoute::Place::result, results.place(output.name, output.type)});
  }
  return routes;
}

struct ParallelFeed::State {
  FeedRing ring;
  std::int64_t next_row = 0;
};

ParallelProgram::ParallelProgram(const std::vector<StageGraphs>& stages, const std::vector<Device>& devices,
                                 const Variables& variables, const ParallelOptions& options)
    : state_(new State) {
  State& state = *state_;
  const std::size_t count = stages.size();
  for (const Device& device : devices) state.devices.push_back(device.state_);
  if (state.devices.size() != count * static_cast<std::size_t>(options.replicas))
    throw InternalError(
        fmt::format("{} devices for {} replicas of {} stages", state.devices.size(), options.replicas, count));
  state.places.slots.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    state.plans.push_back(compile_stage(stages[i], state.devices[i]->backend, options.precision));
    const StagePlans& plans = state.plans.back();
    for (const auto* plan : {&plans.forward, &plans.backward_first, &plans.backward_next, &plans.update}) {
      if (!*plan) continue;
      if (plan != &plans.update) state.places.add_feeds(i, **plan);
      for (const Port& variable : (*plan)->variables) state.variable_types[variable.name] = variable.type;
    }
  }
  for (const auto& [name, type] : state.variable_types) state.variable_names.push_back(name);
  for (int r = 0; r < options.replicas; ++r) state.replicas.push_back(r == 0 ? variables : Variables());

  PipelineLayout layout{
      options.replicas, schedule_of(options.order, static_cast<int>(count), options.training), {}, 0, 0};
  std::vector<DeviceProgram> programs;
  for (int r = 0; r < options.replicas; ++r)
    for (std::size_t i = 0; i < count; ++i) {
      VariableStore& store = state.replicas[static_cast<std::size_t>(r)].state_->store;
      Backend& backend = state.devices[static_cast<std::size_t>(r) * count + i]->backend;
      const auto load = [&](const std::optional<Plan>& plan) {
        if (!plan) return RoutedProgram();
        return RoutedProgram{backend.load(*plan, store), state.places.feed_routes(i, *plan),
                             state.places.output_routes(i, *plan)};
      };
      DeviceProgram program{load(state.plans[i].forward),
                            load(state.plans[i].backward_first),
                            load(state.plans[i].backward_next),
                            {},
                            {},
                            {}};
      if (const auto& update = state.plans[i].update) {
        program.update.executable = backend.load(*update, store);
        program.update.feeds.resize(update->feeds.size(), {PortRoute::Place::counter, 0});
      }
      program.gradients = spans_of(store, stages[i].gradients, state.variable_types);
      program.statistics = spans_of(store, stages[i].statistics, state.variable_types);
      for (const std::string& name : stages[i].statistics) program.statistics_use.add(store.find(name), true);
      if (r == 0) state.working_bytes.push_back(working_bytes_of(program));
      programs.push_back(std::move(program));
    }
  for (const PortLayout& slot : state.places.slots)
    layout.slot_bytes.push_back(std::max(slot.bytes(), buffer_alignment));
  layout.host_bytes = state.places.host.bytes();
  layout.result_bytes = state.places.results.bytes();
  for (std::size_t i = 0; i < count; ++i)
    state.stash_bytes.push_back(layout.slot_bytes[i] *
                                static_cast<std::size_t>(layout.schedule.stash_depth(static_cast<int>(i)) + 2));
  for (std::size_t r = 1; r < state.replicas.size(); ++r)
    state.copies.emplace_back(state.replicas.front().state_->store, state.replicas[r].state_->store,
                              state.variable_names);
  state.executor = std::make_unique<PipelineExecutor>(std::move(layout), std::move(programs));
}

ParallelProgram::~ParallelProgram() = default;
ParallelProgram::ParallelProgram(ParallelProgram&&) noexcept = default;

std::vector<PortInfo> ParallelProgram::feeds() const { return state_->places.host.ports(); }

std::int64_t ParallelProgram::run(const Run& run, ParallelFeed& feed) {
  State& state = *state_;
  const ProgramUse use(state.in_use);
  for (VariableCopies& copies : state.copies) copies.follow();
  state.results.resize(static_cast<std::size_t>(run.rows_per_update * run.updates) * state.replicas.size() *
                       state.places.results.bytes());
  ParallelFeed::State& source = *feed.state_;
  const FeedUse feed_use(source.ring);
  state.rows_run = state.executor->run({.rows_per_update = run.rows_per_update,
                                        .updates = run.updates,
                                        .first_row = source.next_row,
                                        .first_update = run.first_update,
                                        .feed = &source.ring,
                                        .results = state.results.data()});
  source.next_row += state.rows_run;
  if (state.rows_run < run.rows_per_update * run.updates) source.ring.rethrow();
  return state.rows_run;
}

Array ParallelProgram::result(const std::string& name) const {
  const State& state = *state_;
  std::vector<std::string> known;
  for (const PortInfo& port : state.places.results.ports()) {
    known.push_back(port.name);
    if (port.name != name) continue;
    Shape shape = {state.rows_run, static_cast<std::int64_t>(state.replicas.size())};
    for (std::int64_t size : port.type.shape) shape.append(size);
    Array values(port.type.dtype, shape);
    const std::size_t bytes = bytes_of(port.type), stride = state.places.results.bytes();
    const std::byte* from = state.results.data() + state.places.results.at(name);
    for (std::size_t i = 0; i < static_cast<std::size_t>(state.rows_run) * state.replicas.size(); ++i)
      std::copy_n(from + i * stride, bytes, values.mutable_raw() + i * bytes);
    return values;
  }
  throw Error(unknown_name("result", name, known));
}

Variables ParallelProgram::replica_variables(int replica) const {
  return state_->replicas.at(static_cast<std::size_t>(replica));
}
std::size_t ParallelProgram::working_bytes(int stage) const {
  return state_->working_bytes.at(static_cast<std::size_t>(stage));
}
std::size_t ParallelProgram::feed_bytes() const {
  return state_->places.host.bytes() * static_cast<std::size_t>(state_->executor->rows_in_flight());
}
double ParallelProgram::megaflops(int stage) const {
  const StagePlans& plans = state_->plans.at(static_cast<std::size_t>(stage));
  double flops = 0;
  for (const auto* plan : {&plans.forward, &plans.backward_next})
    if (*plan) flops += cost_of(**plan).flops;
  return flops / 1e6;
}
std::size_t ParallelProgram::stash_bytes(int stage) const {
  return state_->stash_bytes.at(static_cast<std::size_t>(stage));
}
void ParallelProgram::set_observer(PipelineObserver* observer) { state_->executor->set_observer(observer); }

ParallelFeed::ParallelFeed(const ParallelProgram& program, FillFeeds fill) {
  const ParallelProgram::State& state = *program.state_;
  const std::size_t row_bytes = state.places.host.bytes();
  std::vector<std::size_t> offsets;
  for (std::size_t r = 0; r < state.replicas.size(); ++r)
    for (const PortInfo& port : state.places.host.ports())
      offsets.push_back(r * row_bytes + state.places.host.at(port.name));
  state_.reset(new State{FeedRing(std::move(offsets), row_bytes * state.replicas.size(), std::move(fill),
                                  state.executor->rows_in_flight())});
}
ParallelFeed::~ParallelFeed() = default;

}  // namespace pando
