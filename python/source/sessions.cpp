// SPDX-License-Identifier: Apache-2.0
// Binds the sessions of the library.
#include "bind.h"

namespace pando::python {

void bind_sessions(py::module_&) {}

}  // namespace pando::python
