// SPDX-License-Identifier: Apache-2.0
// Layer for Python, and layers whose class is written in Python.
#include "layer_table.h"

namespace pando::python {

namespace {

using keras::Layer;

// What a Python layer may do while it makes its weights.
struct Builder {
  keras::LayerBuild& build;
};
// What it may do while it is traced. Both live only during the call.
struct Caller {
  keras::LayerCall& call;
};

// A layer whose class is written in Python. It owns the Python object, which owns the Layer: the garbage collector sees
// this cycle through the type of Layer (see traverse), once no model and no tensor uses the layer any more.
class PythonBody : public keras::LayerBody {
 public:
  PythonBody(py::object object, std::string kind) : object_(std::move(object)), kind_(std::move(kind)) {}

  std::string kind() const override { return kind_; }
  void build(keras::LayerBuild& build, const std::vector<Shape>& inputs) override {
    const WithGil gil;
    Builder builder{build};
    object_->get().attr("_build_weights")(py::cast(&builder, py::return_value_policy::reference), py::cast(inputs));
  }
  std::vector<Value> call(keras::LayerCall& call, const std::vector<Value>& inputs) const override {
    const WithGil gil;
    Caller caller{call};
    py::list symbols;
    for (const Value& value : inputs) symbols.append(py::cast(Tensor(call.trace(), value)));
    const auto* arguments = static_cast<const Held*>(call.arguments().get());
    const py::object outputs = object_->get().attr("_trace")(py::cast(&caller, py::return_value_policy::reference),
                                                             symbols, arguments ? arguments->get() : py::none());
    std::vector<Value> values;
    for (py::handle output : outputs) values.push_back(output.cast<Tensor>().value());
    return values;
  }
  std::optional<DType> input_dtype() const override { return std::nullopt; }
  int input_count() const override { return 0; }
  std::vector<Layer> layers() const override {
    const WithGil gil;
    if (!object_) return {};
    std::vector<Layer> list;
    for (py::handle layer : object_->get().attr("_inner_layers")()) list.push_back(layer.cast<Layer>());
    return list;
  }

  // Null, too, while Python ends: its last collections leave the layer alone.
  PyObject* object() const { return object_ && python_runs() ? object_->get().ptr() : nullptr; }
  void release() { object_.reset(); }

 private:
  // Empty once the garbage collector has taken the layer apart.
  std::optional<Held> object_;
  std::string kind_;
};

// How many owners the layer's state has, this object excluded.
struct Owners : Layer {
  explicit Owners(const Layer& layer) : Layer(layer) {}
  long count() const { return state_.use_count() - 1; }
};

PythonBody* body_owned_by(PyObject* self) {
  // The collector may come while the object is being made.
  if (!reinterpret_cast<py::detail::instance*>(self)->get_value_and_holder().holder_constructed()) return nullptr;
  auto* layer = py::cast<Layer*>(py::handle(self));
  auto* body = dynamic_cast<PythonBody*>(&layer->body());
  return body != nullptr && Owners(*layer).count() == 1 ? body : nullptr;
}

int traverse(PyObject* self, visitproc visit, void* arg) {
#if PY_VERSION_HEX >= 0x03090000
  Py_VISIT(Py_TYPE(self));
#endif
  if (PythonBody* body = body_owned_by(self)) Py_VISIT(body->object());
  return 0;
}

int clear(PyObject* self) {
  if (PythonBody* body = body_owned_by(self)) body->release();
  return 0;
}

py::custom_type_setup collectable() {
  return py::custom_type_setup([](PyHeapTypeObject* type) {
    type->ht_type.tp_flags |= Py_TPFLAGS_HAVE_GC;
    type->ht_type.tp_traverse = traverse;
    type->ht_type.tp_clear = clear;
  });
}

void bind_layer(py::module_& module) {
  py::class_<Layer>(module, "Layer", collectable(), "A layer of Keras: weights, and what they do to tensors.")
      .def_property_readonly("name", &Layer::name)
      .def_property_readonly("kind", &Layer::kind)
      .def_property_readonly("built", &Layer::built)
      .def("build",
           [](const Layer& layer, const std::vector<py::object>& shapes) {
             std::vector<Shape> sizes;
             for (const py::object& shape : shapes) sizes.push_back(read_shape(shape));
             layer.build(sizes);
           })
      .def("built_for",
           [](const Layer& layer) {
             std::vector<std::vector<std::int64_t>> list;
             for (const Shape& shape : layer.built_for()) list.emplace_back(shape.begin(), shape.end());
             return list;
           })
      .def(
          "call",
          [](const Layer& layer, const std::vector<Tensor>& inputs, std::optional<bool> training,
             const py::object& arguments) {
            keras::CallOptions options{.training = training};
            if (!arguments.is_none()) options.arguments = std::make_shared<const Held>(arguments);
            return layer.call(inputs, options);
          },
          py::arg("inputs"), py::arg("training") = py::none(), py::arg("arguments") = py::none())
      .def("inputs", [](const Layer& layer) { return layer.inputs(); })
      .def("outputs", [](const Layer& layer) { return layer.outputs(); })
      .def("weights", &Layer::weights)
      .def("trainable_weights", &Layer::trainable_weights)
      .def("count_params", &Layer::count_params)
      .def("get_weights", &Layer::get_weights)
      .def("set_weights", &Layer::set_weights)
      .def("set_input_shape",
           [](const Layer& layer, const py::object& shape) { layer.body().input_shape = read_shape(shape); })
      .def_property("trainable", &Layer::trainable, [](const Layer& layer, bool on) { layer.set_trainable(on); })
      .def("__eq__", [](const Layer& a, const Layer& b) { return a == b; })
      .def("__hash__", [](const Layer& layer) { return reinterpret_cast<std::size_t>(&layer.body()); });
}

void bind_python_layer(py::module_& module) {
  py::class_<Builder>(module, "LayerBuilder")
      .def("add_weight", [](Builder& builder, const std::string& name, const py::object& shape,
                            const py::object& initializer, const py::object& regularizer, bool trainable) {
        keras::LayerBuild::WeightOptions options;
        read(initializer, options.initializer);
        read(regularizer, options.regularizer);
        options.trainable = trainable;
        builder.build.add_weight(name, read_shape(shape), options);
      });
  py::class_<Caller>(module, "LayerCaller")
      .def_property_readonly("training", [](const Caller& caller) { return caller.call.training(); })
      .def_property_readonly("trainable", [](const Caller& caller) { return caller.call.trainable(); })
      .def("weight", [](const Caller& c, std::size_t i) { return Tensor(c.call.trace(), c.call.weight(i)); })
      .def("assign", [](const Caller& c, std::size_t i, const Tensor& value) { c.call.assign(i, value.value()); })
      .def("parameter",
           [](const Caller& c, const Parameter& p) { return Tensor(c.call.trace(), c.call.trace().value_of(p)); })
      .def("add_loss", [](const Caller& caller, const Tensor& term) { caller.call.add_loss(term.value()); })
      .def("dropout",
           [](Caller& caller, const Tensor& x, double rate) {
             keras::LayerCall& call = caller.call;
             return Tensor(call.trace(), ops::dropout(x.value(), call.counter(), rate, call.random()));
           })
      .def("random_normal",
           [](Caller& caller, const py::object& shape, double mean, double deviation) {
             keras::LayerCall& call = caller.call;
             return Tensor(call.trace(),
                           ops::random_normal(call.counter(), read_shape(shape), mean, deviation, call.random()));
           })
      .def("random_uniform", [](Caller& caller, const py::object& shape, double low, double high) {
        keras::LayerCall& call = caller.call;
        return Tensor(call.trace(), ops::random_uniform(call.counter(), read_shape(shape), low, high, call.random()));
      });
  module.def("python_layer", [](const py::object& object, const std::string& kind, const std::string& name) {
    return Layer(std::make_shared<PythonBody>(object, kind), name);
  });
}

// `with build_scope():` takes the weights of the layers that were built in it if an exception ends it.
struct PythonBuildScope {
  std::optional<keras::BuildScope> scope = {};
};

void bind_build_scope(py::module_& module) {
  py::class_<PythonBuildScope>(module, "build_scope")
      .def(py::init<>())
      .def("__enter__", [](PythonBuildScope& self) { self.scope.emplace(); })
      .def("__exit__", [](PythonBuildScope& self, const py::object& type, const py::object&, const py::object&) {
        if (type.is_none()) self.scope->keep();
        self.scope.reset();
      });
}

}  // namespace

void bind_layers(py::module_& module) {
  bind_layer(module);
  bind_build_scope(module);
  bind_python_layer(module);
  module.def("make_layer", &make_layer, "A layer by the name of its class, from a dictionary of its arguments.");
  // The weight as a tensor of the model that `like` belongs to.
  module.def("weight", [](const Tensor& like, const Parameter& parameter) {
    const TensorFunction value = [parameter](Trace& trace, const std::vector<Value>&) {
      return std::vector<Value>{trace.value_of(parameter)};
    };
    return apply(parameter.name(), {like}, value).at(0);
  });
  module.def("input", [](const py::object& shape, const std::string& dtype, const std::string& name) {
    return keras::Input(read_shape(shape), {.dtype = parse_dtype(dtype), .name = name});
  });
}

}  // namespace pando::python
