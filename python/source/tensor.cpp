// SPDX-License-Identifier: Apache-2.0
// Binds the tensors of the library.
#include "bind.h"

namespace pando::python {

void bind_tensors(py::module_&) {}

}  // namespace pando::python
