// SPDX-License-Identifier: Apache-2.0
// Binds the models of the library.
#include "bind.h"

namespace pando::python {

void bind_models(py::module_&) {}

}  // namespace pando::python
