// SPDX-License-Identifier: Apache-2.0
// PopTorch: options, blocks and the models that training and inference run.
#include <pando/frontends/torch/poptorch/model.h>

#include "bind.h"

namespace pando::python {

namespace {

using poptorch::Options;
using poptorch::PoplarExecutor;
using torch::nn::ModuleParts;

void bind_options(py::module_& module) {
  py::enum_<poptorch::OutputMode>(module, "OutputMode", "Which batches' outputs a call returns.")
      .value("Default", poptorch::OutputMode::Default)
      .value("Final", poptorch::OutputMode::Final)
      .value("All", poptorch::OutputMode::All)
      .value("Sum", poptorch::OutputMode::Sum)
      .value("EveryN", poptorch::OutputMode::EveryN);
  py::enum_<poptorch::ReductionType>(module, "ReductionType", "How the gradients of an update are combined.")
      .value("Mean", poptorch::ReductionType::Mean)
      .value("Sum", poptorch::ReductionType::Sum);
  const auto set_pipeline = [](Options& self, const std::string& schedule, int stages) {
    const std::map<std::string, PipelineOrder> orders = {{"grouped", PipelineOrder::grouped},
                                                         {"interleaved", PipelineOrder::interleaved},
                                                         {"sequential", PipelineOrder::sequential}};
    self.setExecutionStrategy(poptorch::PipelinedExecution{.schedule = orders.at(schedule), .stages = stages});
  };
  py::class_<Options>(module, "Options")
      .def(py::init<>())
      .def("clone", &Options::clone)
      .def("device_iterations", [](Options& self, std::int64_t count) { self.deviceIterations(count); })
      .def("replication_factor", [](Options& self, int count) { self.replicationFactor(count); })
      .def("output_mode",
           [](Options& self, poptorch::OutputMode mode, std::int64_t period) { self.outputMode(mode, period); })
      .def("random_seed", [](Options& self, std::uint64_t seed) { self.randomSeed(seed); })
      .def("pipelined", set_pipeline)
      .def(
          "configure_process_id",
          [](Options& self, int process, int count) { self.Distributed.configureProcessId(process, count); },
          WithoutGil())
      .def("sharded", [](Options& self) { self.setExecutionStrategy(poptorch::ShardedExecution{}); })
      .def("gradient_accumulation",
           [](Options& self, std::int64_t count) { self.Training.gradientAccumulation(count); })
      .def("reduction",
           [](Options& self, poptorch::ReductionType type) {
             self.Training.accumulationAndReplicationReductionType(type);
           })
      .def("floating_point_exceptions",
           [](Options& self, bool enable) { self.Precision.enableFloatingPointExceptions(enable); })
      .def("stochastic_rounding", [](Options& self, bool enable) { self.Precision.enableStochasticRounding(enable); })
      .def("partials_type", [](Options& self, DType dtype) { self.Precision.setPartialsType(dtype); });
}

py::dict counters_of(const PoplarExecutor& executor) {
  poptorch::PerfCounters counters;
  {
    const GilRelease release;
    counters = executor.getPerfCounters();
  }
  return py::dict(py::arg("calls") = counters.calls, py::arg("last") = counters.last, py::arg("least") = counters.least,
                  py::arg("most") = counters.most, py::arg("mean") = counters.mean);
}

// What Python's function takes and returns; see PassInputs and PassResults.
using PythonResults =
    std::tuple<std::vector<Tensor>, std::optional<Tensor>, std::vector<std::pair<torch::nn::Parameter, Tensor>>>;
using PythonPasses = Function<PythonResults(const std::vector<Tensor>& tensors, const Tensor& counter,
                                            const std::optional<Tensor>& mask, const std::optional<Tensor>& weight)>;

EndsWithoutGil<PoplarExecutor> make_executor(const std::string& kind, Function<ModuleParts()> parts,
                                             const PythonPasses& passes, std::size_t arguments, const Options& options,
                                             const std::optional<torch::optim::Optimizer>& optimizer) {
  const PoplarExecutor::Passes called = [passes](const poptorch::PassInputs& inputs) {
    auto [outputs, loss, gradients] = passes(inputs.tensors, inputs.counter, inputs.mask, inputs.weight);
    return poptorch::PassResults{std::move(outputs), std::move(loss), std::move(gradients)};
  };
  return EndsWithoutGil<PoplarExecutor>(
      new PoplarExecutor(kind, std::move(parts), called, arguments, options, optimizer));
}

void bind_models_of_poptorch(py::module_& module) {
  py::class_<ModuleParts>(module, "ModuleParts", "The parameters and buffers of a tree of modules, by their paths.")
      .def(py::init([](const torch::nn::NamedParameters& parameters, const torch::nn::NamedParameters& buffers) {
             return ModuleParts{.parameters = parameters, .buffers = buffers};
           }),
           py::arg("parameters"), py::arg("buffers"));
  py::class_<PoplarExecutor, EndsWithoutGil<PoplarExecutor>>(module, "Executor")
      .def(py::init(&make_executor), py::arg("kind"), py::arg("parts"), py::arg("passes"), py::arg("arguments"),
           py::arg("options"), py::arg("optimizer"))
      .def("run", &PoplarExecutor::run, py::arg("inputs"), WithoutGil())
      .def("compile", &PoplarExecutor::compile_for, py::arg("inputs"), WithoutGil())
      .def("is_compiled", &PoplarExecutor::isCompiled, WithoutGil())
      .def("is_attached", &PoplarExecutor::isAttachedToDevice, WithoutGil())
      .def("attach", &PoplarExecutor::attachToDevice, WithoutGil())
      .def("detach", &PoplarExecutor::detachFromDevice, WithoutGil())
      .def("check_attached", &PoplarExecutor::copyWeightsToHost, WithoutGil())
      .def("set_optimizer", &PoplarExecutor::setOptimizer, py::arg("optimizer"), WithoutGil())
      .def("rebuild", &PoplarExecutor::rebuild, WithoutGil())
      .def("save", py::overload_cast<const std::string&>(&PoplarExecutor::save, py::const_), py::arg("path"),
           WithoutGil())
      .def("load", py::overload_cast<const std::string&>(&PoplarExecutor::load), py::arg("path"), WithoutGil())
      .def("explain", &PoplarExecutor::explain, WithoutGil())
      .def("explain_json", &PoplarExecutor::explain_json, WithoutGil())
      .def("counters", &counters_of)
      .def("cycles", &PoplarExecutor::cycleCount, WithoutGil())
      .def("destroy", &PoplarExecutor::destroy, WithoutGil());
}

void bind_blocks(py::module_& module) {
  module.def(
      "begin_block", [](int ipu) { poptorch::BeginBlock(ipu); }, py::arg("ipu_id"),
      "The nodes after it belong to the IPU.");
  module.def("begin_call", &poptorch::begin_call, py::arg("module"),
             "Begins a call of the module of this name, and returns its stage.");
  module.def("begin_node", &poptorch::begin_node, py::arg("name"), py::arg("stage"),
             "The nodes after it have the name and the stage.");
  module.def("end_forward", &poptorch::end_forward, "The nodes after it are those of the backward pass.");
  module.def("assign_statistic", &poptorch::assign_statistic, py::arg("buffer"), py::arg("value"),
             "The buffer has the value after the micro-batch.");
}

}  // namespace

void bind_executors(py::module_& module) {
  py::module_ part = module.def_submodule("poptorch", "What pando.poptorch is made of.");
  bind_options(part);
  bind_models_of_poptorch(part);
  bind_blocks(part);
}

}  // namespace pando::python
