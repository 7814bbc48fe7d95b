// SPDX-License-Identifier: Apache-2.0
// Python functions traced to programs.
#include "bind.h"

namespace pando::python {

void bind_functions(py::module_&) {}

}  // namespace pando::python
