// SPDX-License-Identifier: Apache-2.0
// Python objects that C++ keeps, and Python functions that C++ calls, from any thread; and the GIL. Owners die on any
// thread, such as the feed's, and some after Python has ended: an object is dropped with the GIL, and not at all once
// Python ends. A thread that took the GIL then would be ended in the middle of C++. Hold no mutex of C++ while taking
// the GIL: the thread that has the GIL may wait for that mutex.
#pragma once
#include <pando/base/function.h>
#include <pybind11/pybind11.h>

#include <memory>
#include <optional>

namespace pando::python {

namespace py = pybind11;

// Whether Python still runs: false from the exit hook on.
bool python_runs();
// The exit hook, called with the GIL: no thread enters Python after it, and all runs of the library are stopped.
void end_python();

// While it lives, a thread may be on its way into Python or in it, and the exit hook waits for it.
class Arrival {
 public:
  // Throws Error once Python ends.
  Arrival();
  ~Arrival();
  Arrival(const Arrival&) = delete;
  Arrival& operator=(const Arrival&) = delete;
};

// The GIL, for code that any thread may run. Throws Error once Python ends.
class WithGil {
 public:
  WithGil();

 private:
  std::optional<Arrival> arrival_;
  py::gil_scoped_acquire gil_;
};

// Without the GIL, for what compiles, runs, loads, waits or copies much. A thread that comes back after Python has
// ended waits there until the process is gone; the main thread does not.
class GilRelease {
 public:
  GilRelease() : state_(PyEval_SaveThread()) {}
  ~GilRelease();
  GilRelease(const GilRelease&) = delete;
  GilRelease& operator=(const GilRelease&) = delete;

 private:
  PyThreadState* state_;
};

// Deletes, without the GIL, objects that wait for threads when they end: the threads may be on their way into Python.
template <class T>
struct EndWithoutGil {
  void operator()(T* object) const {
    std::optional<GilRelease> released;
    if (PyGILState_Check()) released.emplace();
    delete object;
  }
};
// The holder of such objects, for py::class_.
template <class T>
using EndsWithoutGil = std::unique_ptr<T, EndWithoutGil<T>>;

// An object that may be copied and dropped on any thread, with or without the GIL.
class Held {
 public:
  // Needs the GIL.
  explicit Held(py::object object);

  // To be used with the GIL. Throws Error once Python has ended.
  py::handle get() const;
  // To be kept by something that knows no Python, as Array::over does.
  std::shared_ptr<const void> owner() const { return object_; }

 private:
  std::shared_ptr<PyObject> object_;
};

}  // namespace pando::python

namespace pybind11::detail {

// Any Python callable as a function of the library; None is an empty one. It takes the GIL when it is called, and what
// it raises passes through the library with its type and traceback.
template <class Result, class... Arguments>
struct type_caster<pando::Function<Result(Arguments...)>> {
  using Type = pando::Function<Result(Arguments...)>;

  bool load(handle source, bool) {
    if (source.is_none()) return true;
    if (!PyCallable_Check(source.ptr())) return false;
    value = [held = pando::python::Held(reinterpret_borrow<object>(source))](Arguments... arguments) -> Result {
      const pando::python::WithGil gil;
      object result = held.get()(std::forward<Arguments>(arguments)...);
      if constexpr (!std::is_void_v<Result>) return result.template cast<Result>();
    };
    return true;
  }
  static handle cast(const Type& function, return_value_policy policy, handle) {
    if (!function) return none().release();
    return cpp_function(
               [function](Arguments... arguments) -> Result { return function(std::forward<Arguments>(arguments)...); },
               policy)
        .release();
  }
  PYBIND11_TYPE_CASTER(Type, const_name("Callable"));
};

}  // namespace pybind11::detail
