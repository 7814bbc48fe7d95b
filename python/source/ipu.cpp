// SPDX-License-Identifier: Apache-2.0
// Virtual IPUs: configuration, devices, and the scopes that Python's `with` enters and leaves.
#include <pando/frontends/ipu/strategy.h>
#include <pando/frontends/tf1/compile.h>

#include "bind.h"

namespace pando::python {

namespace {

// A scope of C++ for Python's `with`, which leaves scopes in the reverse order of entering them.
template <class Scope>
class PythonScope {
 public:
  explicit PythonScope(Function<Scope*()> enter) : enter_(std::move(enter)) {}
  void enter() { scope_.reset(enter_()); }
  void exit() { scope_.reset(); }

 private:
  Function<Scope*()> enter_;
  std::unique_ptr<Scope> scope_;
};

template <class Scope>
void bind_scope(py::module_& module, const char* name) {
  using Bound = PythonScope<Scope>;
  py::class_<Bound>(module, name).def("enter", &Bound::enter).def("exit", &Bound::exit);
}

using StrategyScope = PythonScope<ipu::IPUStrategy::Scope>;
using StageScope = PythonScope<ipu::keras::PipelineStage>;
using DeviceScope = PythonScope<ipu::scopes::ipu_scope>;

}  // namespace

void bind_ipu(py::module_& module) {
  py::class_<ipu::IPUConfig>(module, "IPUConfig")
      .def(py::init<>())
      .def("set", &ipu::IPUConfig::set)
      .def("configure_ipu_system", &ipu::IPUConfig::configure_ipu_system, WithoutGil());
  module.def("reset_ipu_configuration", &ipu::reset_ipu_configuration, WithoutGil());
  module.def("devices", [] {
    py::list list;
    for (const DeviceInfo& device : devices()) {
      py::dict entry;
      entry["name"] = device.name;
      entry["ipus"] = device.ipus;
      entry["tiles_per_ipu"] = device.tiles_per_ipu;
      entry["backend"] = device.backend;
      entry["instruction_set"] = device.instruction_set;
      list.append(entry);
    }
    return list;
  });
  bind_scope<ipu::IPUStrategy::Scope>(module, "StrategyScope");
  bind_scope<ipu::keras::PipelineStage>(module, "StageScope");
  bind_scope<ipu::scopes::ipu_scope>(module, "DeviceScope");
  py::class_<ipu::IPUStrategy>(module, "IPUStrategy")
      .def(py::init<const std::string&>(), py::arg("device") = "/device:IPU:0")
      .def_property_readonly("device", &ipu::IPUStrategy::device)
      .def_property_readonly("num_ipus", &ipu::IPUStrategy::num_ipus)
      .def("scope", [](const ipu::IPUStrategy& strategy) {
        return StrategyScope([strategy] { return new ipu::IPUStrategy::Scope(strategy.scope()); });
      });
  py::class_<ipu::IPUMultiWorkerStrategy, ipu::IPUStrategy>(module, "IPUMultiWorkerStrategy")
      .def(py::init<const std::string&>(), py::arg("device") = "/device:IPU:0", WithoutGil())
      .def_property_readonly("worker_rank", &ipu::IPUMultiWorkerStrategy::worker_rank)
      .def_property_readonly("num_workers", &ipu::IPUMultiWorkerStrategy::num_workers);
  module.def("pipeline_stage",
             [](int stage) { return StageScope([stage] { return new ipu::keras::PipelineStage(stage); }); });
  module.def("ipu_scope", [](const std::string& device) {
    return DeviceScope([device] { return new ipu::scopes::ipu_scope(device); });
  });
}

}  // namespace pando::python
