// SPDX-License-Identifier: Apache-2.0
// Binds the callbacks of the library.
#include "bind.h"

namespace pando::python {

void bind_callbacks(py::module_&) {}

}  // namespace pando::python
