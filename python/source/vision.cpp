// SPDX-License-Identifier: Apache-2.0
// Binds the vision of the library.
#include "bind.h"

namespace pando::python {

void bind_vision(py::module_&) {}

}  // namespace pando::python
