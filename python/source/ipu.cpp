// SPDX-License-Identifier: Apache-2.0
// Binds the ipu of the library.
#include "bind.h"

namespace pando::python {

void bind_ipu(py::module_&) {}

}  // namespace pando::python
