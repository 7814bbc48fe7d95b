// SPDX-License-Identifier: Apache-2.0
// Losses and metrics as Python dictionaries, in their order.
#pragma once
#include <pando/frontends/keras/history.h>

#include "bind.h"

namespace pando::python {

inline py::dict logs_dict(const keras::Logs& logs) {
  py::dict values;
  for (const auto& [name, value] : logs) values[py::str(name)] = value;
  return values;
}

}  // namespace pando::python
