// SPDX-License-Identifier: Apache-2.0
// What this machine has, and the look of what is shown.
#include <pando/program/program.h>
#include <pando/report/look.h>

#include "bind.h"

namespace pando::python {

namespace {

py::dict machine() {
  py::list found;
  for (const GpuInfo& gpu : gpus()) {
    py::dict one;
    one["name"] = gpu.name;
    one["instruction_set"] = gpu.instruction_set;
    one["memory_bytes"] = gpu.memory_bytes;
    found.append(one);
  }
  py::dict all;
  all["backends"] = available_backends();
  all["instruction_sets"] = available_instruction_sets();
  all["gpus"] = found;
  all["why_no_gpu"] = why_no_gpu();
  return all;
}

void choose_look(const std::string& name) {
  if (name != "keras2" && name != "keras3") throw Error("the look must be 'keras2' or 'keras3', not '" + name + "'");
  set_look(name == "keras2" ? Look::keras_2 : Look::keras_3);
}

std::string name_of_look() { return look() == Look::keras_2 ? "keras2" : "keras3"; }

}  // namespace

void bind_reports(py::module_& module) {
  module.def("machine", machine, "What virtual IPUs can be made of on this machine, as a dictionary.");
  module.def("set_look", choose_look, py::arg("look"),
             "How bars and tables look from now on: 'keras2', as with TensorFlow 2, or 'keras3'.");
  module.def("look", name_of_look, "How bars and tables look now: 'keras2' or 'keras3'.");
}

}  // namespace pando::python
