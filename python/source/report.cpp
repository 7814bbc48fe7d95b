// SPDX-License-Identifier: Apache-2.0
// Explanations, profiles, pages and pictures.
#include "bind.h"

namespace pando::python {

void bind_reports(py::module_&) {}

}  // namespace pando::python
