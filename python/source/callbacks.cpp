// SPDX-License-Identifier: Apache-2.0
// Callbacks of Keras: those of Pando, and those whose class is written in Python.
#include <pando/frontends/keras/model.h>

#include <set>

#include "fields.h"
#include "logs.h"

namespace pando::python {

namespace {

namespace callbacks = keras::callbacks;
using CallbackPointer = std::shared_ptr<keras::Callback>;

// Calls the methods of a Python object that its class overrides; `methods` are their names.
class PythonCallback : public keras::Callback {
 public:
  PythonCallback(py::object object, std::set<std::string> methods)
      : object_(std::move(object)), methods_(std::move(methods)) {}

  void on_train_begin(keras::Model&) override {
    last_ = {};
    call("on_train_begin");
  }
  void on_train_end(keras::Model&) override { call("on_train_end"); }
  void on_epoch_begin(keras::Model&, std::int64_t epoch) override {
    last_ = {};
    call("on_epoch_begin", epoch);
  }
  void on_epoch_end(keras::Model&, std::int64_t epoch, keras::Logs& logs) override {
    last_ = logs;
    if (!methods_.contains("on_epoch_end")) return;
    const WithGil gil;
    py::dict values = logs_dict(logs);
    object_.get().attr("on_epoch_end")(epoch, values);
    for (const auto& [name, value] : values)
      logs.set(py::str(name).cast<std::string>(), py::float_(py::reinterpret_borrow<py::object>(value)));
  }
  void on_train_batch_end(keras::Model&, std::int64_t batch, const keras::Logs& logs) override {
    const WithGil gil;
    object_.get().attr("_batch")(batch, logs_dict(logs));
  }
  void on_test_begin(keras::Model&) override { call_with("on_test_begin", {}); }
  void on_test_end(keras::Model&, const keras::Logs& logs) override { call_with("on_test_end", logs); }
  bool sees_batches() const override {
    return methods_.contains("on_train_batch_end") || methods_.contains("on_train_batch_begin");
  }

 private:
  template <class... Arguments>
  void call(const char* method, Arguments... arguments) const {
    call_with(method, last_, arguments...);
  }
  template <class... Arguments>
  void call_with(const char* method, const keras::Logs& logs, Arguments... arguments) const {
    if (!methods_.contains(method)) return;
    const WithGil gil;
    object_.get().attr(method)(arguments..., logs_dict(logs));
  }
  // The logs of the epoch that ended last; none while an epoch runs.
  keras::Logs last_;
  Held object_;
  std::set<std::string> methods_;
};

CallbackPointer make_monitor(const std::string& kind, Fields& fields) {
  if (kind == "EarlyStopping") {
    callbacks::EarlyStoppingOptions o;
    fields("monitor", o.monitor)("min_delta", o.min_delta)("patience", o.patience)("verbose", o.verbose);
    fields("mode", o.mode)("baseline", o.baseline)("restore_best_weights", o.restore_best_weights).finish();
    return callbacks::EarlyStopping(o);
  }
  callbacks::ReduceLROnPlateauOptions o;
  fields("monitor", o.monitor)("factor", o.factor)("patience", o.patience)("verbose", o.verbose)("mode", o.mode);
  fields("min_delta", o.min_delta)("cooldown", o.cooldown)("min_lr", o.min_lr).finish();
  return callbacks::ReduceLROnPlateau(o);
}

CallbackPointer make_callback(const std::string& kind, const py::dict& arguments) {
  Fields fields(kind, arguments);
  if (kind == "ModelCheckpoint") {
    callbacks::ModelCheckpointOptions o;
    const auto path = fields.get<std::string>("filepath", "");
    fields("monitor", o.monitor)("save_best_only", o.save_best_only)("mode", o.mode)("verbose", o.verbose);
    fields("initial_value_threshold", o.initial_value_threshold).finish();
    return callbacks::ModelCheckpoint(path, o);
  }
  if (kind == "LearningRateScheduler") {
    const auto schedule = fields.get<Function<double(std::int64_t, double)>>("schedule", {});
    const auto verbose = fields.get<int>("verbose", 0);
    fields.finish();
    return callbacks::LearningRateScheduler(schedule, {.verbose = verbose});
  }
  if (kind == "CSVLogger") {
    callbacks::CSVLoggerOptions o;
    const auto path = fields.get<std::string>("filename", "");
    fields("separator", o.separator)("append", o.append).finish();
    return callbacks::CSVLogger(path, o);
  }
  if (kind == "TerminateOnNaN") {
    fields.finish();
    return callbacks::TerminateOnNaN();
  }
  return make_monitor(kind, fields);
}

}  // namespace

void bind_callbacks(py::module_& module) {
  py::class_<keras::Callback, CallbackPointer>(module, "Callback", "What happens alongside training.");
  module.def("make_callback", &make_callback);
  module.def("python_callback", [](py::object object, std::set<std::string> methods) -> CallbackPointer {
    return std::make_shared<PythonCallback>(std::move(object), std::move(methods));
  });
}

}  // namespace pando::python
