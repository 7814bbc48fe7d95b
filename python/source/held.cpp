// SPDX-License-Identifier: Apache-2.0
#include "held.h"

#include <atomic>

namespace pando::python {

namespace {

std::atomic<bool> runs{true};

void drop(PyObject* object) {
  // A thread that takes the GIL while Python ends is ended with it.
  if (!python_runs()) return;
  py::gil_scoped_acquire gil;
  Py_DECREF(object);
}

}  // namespace

bool python_runs() { return runs.load(std::memory_order_acquire); }

void python_ends() { runs.store(false, std::memory_order_release); }

Held::Held(py::object object) : object_(object.release().ptr(), drop) {}

py::handle Held::get() const {
  if (!python_runs()) throw Error("Python has ended, and its functions cannot be called any more");
  return object_.get();
}

}  // namespace pando::python
