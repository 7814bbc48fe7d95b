// SPDX-License-Identifier: Apache-2.0
// Binds the parts of the library.
#include "bind.h"

namespace pando::python {

void bind_parts(py::module_&) {}

}  // namespace pando::python
