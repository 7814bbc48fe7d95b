// SPDX-License-Identifier: Apache-2.0
// Text and messages of the library to Python.
#include "bind.h"

namespace pando::python {

void bind_output(py::module_&) {}

}  // namespace pando::python
