// SPDX-License-Identifier: Apache-2.0
// torch.nn.Module: parameters and modules by name.
#pragma once
#include <pando/model/tensor.h>

#include <iosfwd>

namespace pando::torch::nn {

// A weight of a module. Values are laid out as PyTorch lays them out, whatever the device prefers. Copies are the same
// parameter.
class PANDO_API Parameter {
 public:
  explicit Parameter(const Array& value, bool requires_grad = true);

  Shape shape() const;
  std::int64_t numel() const { return shape().elements(); }
  // A copy.
  Array value() const;
  // Throws Error unless the shape is the parameter's; the type is cast.
  void set_value(const Array& value) const;
  // Models that are compiled later keep the value in this memory of the host, which has it already, as it is. The
  // memory may change between their calls.
  void adopt(void* data, std::shared_ptr<const void> owner) const;
  bool requires_grad() const;
  // Models that are compiled later do not train a parameter that needs no gradient.
  const Parameter& requires_grad_(bool requires_grad = true) const;

  // Its value while a forward() is being traced. Throws Error elsewhere.
  operator Tensor() const;

  friend bool operator==(const Parameter& a, const Parameter& b) { return a.state_ == b.state_; }

  struct State;
  State& state() const { return *state_; }

 private:
  friend class ModuleAccess;
  explicit Parameter(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

using NamedParameters = std::vector<std::pair<std::string, Parameter>>;
// Parameters and buffers by name: "layer1.conv.weight".
using StateDict = std::map<std::string, Array>;

struct LoadStateDictOptions {
  // Whether the names must be exactly those of the module.
  bool strict = true;
};

// Derive from it, register the modules that are members, and write a forward() from tensors to tensors. Copies are the
// same module.
class PANDO_API Module {
 public:
  Module();
  virtual ~Module();
  Module(const Module&) = default;
  Module& operator=(const Module&) = default;

  // Its own parameters first, then those of the modules inside; each once.
  std::vector<Parameter> parameters() const;
  NamedParameters named_parameters() const;
  // Values that are kept but not trained, such as running means.
  NamedParameters named_buffers() const;
  // The modules inside, with their names, in the order in which they were registered.
  std::vector<std::pair<std::string, Module>> named_children() const;

  StateDict state_dict() const;
  // Throws Error listing what is missing, unexpected or of another shape; it then changes nothing.
  void load_state_dict(const StateDict& values, const LoadStateDictOptions& options = {}) const;

  // Whether dropout drops and batch norm uses its batch, when it is trained.
  void train(bool mode = true) const;
  void eval() const { train(false); }
  bool training() const;
  void requires_grad_(bool requires_grad = true) const;
  // Puts another parameter, which other modules may use too, in the place of one of its own. Throws Error if it has no
  // parameter of that name, or one of another shape.
  void set_parameter(const std::string& name, const Parameter& parameter) const;

  struct State;
  State& state() const { return *state_; }
  friend bool operator==(const Module& a, const Module& b) { return a.state_ == b.state_; }

 protected:
  struct Named {
    std::string name;
    const Module& module;
  };
  // Throws Error for a name or a module that is registered already, and for a name with a dot.
  void register_modules(std::initializer_list<Named> modules);
  void register_module(const std::string& name, const Module& module);
  Parameter register_parameter(const std::string& name, const Array& value);
  Parameter register_buffer(const std::string& name, const Array& value);

 private:
  std::shared_ptr<State> state_;
};

// The parts of a tree of modules that is kept elsewhere, such as by another language: those that have weights or can be
// called, and single parameters and buffers, each under its whole path, "layer1.conv".
struct ModuleParts {
  std::vector<std::pair<std::string, Module>> modules = {};
  NamedParameters parameters = {}, buffers = {};
};
// One module that has all of them. A module may be part of it under several paths.
PANDO_API Module assembled(const std::string& kind, const ModuleParts& parts);

// As PyTorch prints it, line by line.
PANDO_API std::string to_string(const Module& module);
PANDO_API std::ostream& operator<<(std::ostream& stream, const Module& module);

// A module that comes with Pando and can be called. Classes of the user's derive from Module instead.
class PANDO_API Layer : public Module {
 public:
  Tensor operator()(const Tensor& x) const { return forward(x); }
  // Throws Error naming the module and the shape if it cannot take the tensor.
  Tensor forward(const Tensor& x) const;

  struct Body;

 protected:
  explicit Layer(std::shared_ptr<const Body> body);
};

// Any module that turns a tensor into a tensor, as an element of containers.
class AnyModule {
 public:
  template <class M>
  requires std::is_base_of_v<Module, M> AnyModule(const M& module)
      : module_(module), forward_([copy = module](const Tensor& x) mutable { return copy.forward(x); }) {}

  Tensor operator()(const Tensor& x) const { return forward_(x); }
  Tensor forward(const Tensor& x) const { return forward_(x); }
  const Module& module() const { return module_; }

 private:
  Module module_;
  Function<Tensor(const Tensor&)> forward_;
};

// Modules that are called one after the other, named "0", "1", ...
class PANDO_API Sequential : public Module {
 public:
  Sequential();
  template <class First, class... Modules>
  requires(std::is_base_of_v<Module, First> &&
           !(std::is_same_v<First, Sequential> &&
             sizeof...(Modules) == 0)) explicit Sequential(const First& first, const Modules&... modules)
      : Sequential() {
    push_back(first);
    (push_back(modules), ...);
  }

  template <class M>
  void push_back(const M& module) {
    push_back(std::to_string(modules_->size()), module);
  }
  template <class M>
  void push_back(const std::string& name, const M& module) {
    register_module(name, module);
    modules_->push_back(module);
  }

  std::size_t size() const { return modules_->size(); }
  const AnyModule& operator[](std::size_t index) const { return modules_->at(index); }
  Tensor operator()(const Tensor& x) const { return forward(x); }
  Tensor forward(const Tensor& x) const;

 private:
  std::shared_ptr<std::vector<AnyModule>> modules_;
};

// Modules in a list, for a forward() that calls them.
class PANDO_API ModuleList : public Module {
 public:
  template <class... Modules>
  requires(std::is_base_of_v<Module, Modules>&&...) explicit ModuleList(const Modules&... modules)
      : ModuleList(std::in_place) {
    (push_back(modules), ...);
  }

  template <class M>
  void push_back(const M& module) {
    register_module(std::to_string(modules_->size()), module);
    modules_->push_back(module);
  }
  std::size_t size() const { return modules_->size(); }
  const AnyModule& operator[](std::size_t index) const { return modules_->at(index); }
  auto begin() const { return modules_->cbegin(); }
  auto end() const { return modules_->cend(); }

 private:
  explicit ModuleList(std::in_place_t);
  std::shared_ptr<std::vector<AnyModule>> modules_;
};

}  // namespace pando::torch::nn
