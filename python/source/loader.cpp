// SPDX-License-Identifier: Apache-2.0
// Binds the loaders of the library.
#include "bind.h"

namespace pando::python {

void bind_loaders(py::module_&) {}

}  // namespace pando::python
