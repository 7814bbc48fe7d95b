// SPDX-License-Identifier: Apache-2.0
// Binds the datasets of the library.
#include "bind.h"

namespace pando::python {

void bind_datasets(py::module_&) {}

}  // namespace pando::python
