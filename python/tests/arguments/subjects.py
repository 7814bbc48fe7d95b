# SPDX-License-Identifier: Apache-2.0
"""Which functions, classes and methods there are: those that the modules offer, found by their signatures."""
import dataclasses
import enum
import importlib
import importlib.util
import inspect

HAS_TORCH = importlib.util.find_spec("torch") is not None
PACKAGES = ("keras", "tf", *(["poptorch"] if HAS_TORCH else []), "tf.compat.v1")
# What these modules have is used by others of their package, and not by users.
INNER = {"pando.keras.arguments", "pando.keras.data", "pando.keras.eager", "pando.keras.html", "pando.keras.weight_files",
         "pando.keras.whole", "pando.keras.layers.base", "pando.keras.layers.calls", "pando.poptorch.blocks", "pando.tf.columns",
         "pando.tf.mapping"}
# So are these functions, and these arguments.
INNER_NAMES = {
    "keras.callbacks.callback_list",
    "keras.activations.native", "keras.activations.symbol_function", "keras.callbacks.native_callbacks",
    "keras.callbacks.called_around", "keras.layers.base.python_layer", "keras.losses.call_native",
    "keras.regularizers.native", "keras.schedules.native", "keras.optimizers.Rate",
    "tf.DType", "tf.TensorShape", "tf.data.Dataset", "tf.compat.v1.data.Dataset", "tf.compat.v1.data.Iterator",
    "keras.variables.Variable", "keras.callbacks.History", "keras.Model.call", "tf.compat.v1.graph.tensor_named",
}
# What Pando itself calls: what layers, losses, metrics and callbacks override. Their arguments are not a program's.
HOOKS = {"build", "call", "set_model", "set_params"}
KINDS = inspect.Parameter


@dataclasses.dataclass(frozen=True)
class Subject:
    """Something that is called with arguments: a class, a function, or a method together with its class."""
    name: str
    function: object
    owner: type | None = None

    @property
    def parameters(self):
        """Its parameters by name, without the object that a method belongs to."""
        function = self.function
        if function in (object.__init__, object.__new__) or inspect.isclass(function) and (
                function.__init__ is object.__init__ and function.__new__ is object.__new__):
            return {}
        if inspect.isclass(function):
            function = function.__init__ if "__new__" not in vars(function) or "__init__" in vars(function) else function.__new__
        found = dict(inspect.signature(function).parameters)
        if self.owner is not None or inspect.isclass(self.function):
            found.pop(next(iter(found), None), None)
        return found

    @property
    def takes_keywords(self):
        """Whether it has **kwargs, and might take any name."""
        return any(parameter.kind is KINDS.VAR_KEYWORD for parameter in self.parameters.values())


def _modules():
    """The modules that users reach from the packages, by the names that each of them lists."""
    found = [importlib.import_module(f"pando.{package}") for package in PACKAGES]
    for module in found:
        listed = module.__dict__.get("__all__")
        for name in list(vars(module)) if listed is None else [*listed, *module.__dict__.get("_LAZY", ())]:
            part = getattr(module, name) if not name.startswith("_") else None
            if not inspect.ismodule(part) or part in found:
                continue
            if part.__name__.startswith(("pando.keras", "pando.tf", "pando.poptorch")) and part.__name__ not in INNER:
                found.append(part)
    return found


def _members(module):
    """What a module lists; if it lists nothing, what it defines, and what it takes from the inner files of its package."""
    listed = module.__dict__.get("__all__")
    names = listed if listed is not None else [name for name in vars(module) if not name.startswith("_")]
    package = ".".join(module.__name__.split(".")[:2]) + "."
    for name in names:
        member = getattr(module, name)
        origin = getattr(member, "__module__", None) or ""
        if not (inspect.isclass(member) or inspect.isfunction(member)) or isinstance(member, enum.EnumMeta):
            continue
        if listed is None:
            is_offered = origin == module.__name__ or (origin.startswith(package) and origin not in INNER)
        else:
            is_offered = origin.startswith("pando.") and not origin.startswith("pando._core")
        if is_offered:
            yield name, member


def _methods(cls, name):
    for part, value in vars(cls).items():
        function = value.__func__ if isinstance(value, (classmethod, staticmethod)) else value
        if part.startswith("_") or not inspect.isfunction(function):
            continue
        if (part in HOOKS or part.startswith("on_")) and cls.__name__ not in ("Model", "Sequential"):
            continue
        if isinstance(value, staticmethod):
            yield Subject(f"{name}.{part}", function)
        else:
            yield Subject(f"{name}.{part}", function, cls)


def all_subjects():
    """Every class, function and method, once, by the first name that it has."""
    found, known = [], set()
    for module in _modules():
        for name, member in _members(module):
            if id(member) in known:
                continue
            known.add(id(member))
            qualified = f"{module.__name__}.{name}".removeprefix("pando.")
            found.append(Subject(qualified, member))
            for cls in (member.__mro__ if inspect.isclass(member) else ()):
                if cls.__module__.startswith(("pando.keras", "pando.tf", "pando.poptorch", "pando.tensors")) and cls not in known:
                    known.add(cls)
                    known.add(id(cls)) if cls is member else None
                    owner = qualified if cls is member else f"{cls.__module__}.{cls.__name__}".removeprefix("pando.")
                    found += _methods(cls, owner)
    for name, part in vars(importlib.import_module("pando.poptorch").Options()).items() if HAS_TORCH else ():
        if type(part).__module__ == "pando.poptorch.options" and not name.startswith("_"):
            found += _methods(type(part), f"poptorch.Options.{name}")
    subjects, functions = [], set()
    for subject in found:
        if subject.function not in functions and subject.name not in INNER_NAMES and subject.parameters:
            functions.add(subject.function)
            subjects.append(subject)
    return subjects
