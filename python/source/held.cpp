// SPDX-License-Identifier: Apache-2.0
#include "held.h"

#include <pando/program/program.h>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

namespace pando::python {

namespace {

std::atomic<bool> runs{true};
// Threads on their way into Python, or in it by way of the library.
std::atomic<int> arrivals{0};
// How long the exit hook waits for Python functions and runs that do not end.
constexpr std::chrono::seconds patience(10);

const std::thread::id main_thread = std::this_thread::get_id();

void drop(PyObject* object) {
  if (!python_runs()) return;
  try {
    const WithGil gil;
    Py_DECREF(object);
  } catch (const Error&) {
    // Python ended meanwhile.
  }
}

}  // namespace

bool python_runs() { return runs.load(); }

Arrival::Arrival() {
  // Counted before the question: the exit hook either sees the thread or is seen by it.
  arrivals.fetch_add(1);
  if (python_runs()) return;
  arrivals.fetch_sub(1);
  throw Error("Python has ended, and its functions cannot be called any more");
}

Arrival::~Arrival() { arrivals.fetch_sub(1); }

WithGil::WithGil() : arrival_(PyGILState_Check() ? std::nullopt : std::optional<Arrival>(std::in_place)) {}

GilRelease::~GilRelease() {
  if (std::this_thread::get_id() == main_thread) {
    PyEval_RestoreThread(state_);
    return;
  }
  try {
    const Arrival arrival;
    PyEval_RestoreThread(state_);
  } catch (const Error&) {
    for (;;) std::this_thread::sleep_for(patience);
  }
}

void end_python() {
  runs = false;
  const GilRelease released;
  const auto deadline = std::chrono::steady_clock::now() + patience;
  // On a thread of its own, as it waits for runs whose feed may wait for something that never comes.
  std::promise<void> stopped;
  std::future<void> all_stopped = stopped.get_future();
  std::thread([promise = std::move(stopped)]() mutable {
    stop_all_runs();
    promise.set_value();
  }).detach();
  all_stopped.wait_until(deadline);
  while (arrivals.load() > 0 && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

Held::Held(py::object object) : object_(object.release().ptr(), drop) {}

py::handle Held::get() const {
  if (!python_runs()) throw Error("Python has ended, and its functions cannot be called any more");
  return object_.get();
}

}  // namespace pando::python
