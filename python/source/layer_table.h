// SPDX-License-Identifier: Apache-2.0
// Keras layers by the name of their class.
#pragma once
#include "fields.h"

namespace pando::python {

// Throws TypeError for an argument that the class does not have.
keras::Layer make_layer(const std::string& kind, const py::dict& arguments);

}  // namespace pando::python
