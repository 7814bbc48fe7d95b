// SPDX-License-Identifier: Apache-2.0
// Binds the executors of the library.
#include "bind.h"

namespace pando::python {

void bind_executors(py::module_&) {}

}  // namespace pando::python
