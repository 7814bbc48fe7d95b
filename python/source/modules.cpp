// SPDX-License-Identifier: Apache-2.0
// Binds the modules of the library.
#include "bind.h"

namespace pando::python {

void bind_modules(py::module_&) {}

}  // namespace pando::python
