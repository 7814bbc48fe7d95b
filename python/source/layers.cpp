// SPDX-License-Identifier: Apache-2.0
// Binds the layers of the library.
#include "bind.h"

namespace pando::python {

void bind_layers(py::module_&) {}

}  // namespace pando::python
