# SPDX-License-Identifier: Apache-2.0
"""What a module keras has, by its own signatures: the same code asks Keras 3 and Pando."""
import inspect

FAMILIES = ("layers", "losses", "metrics", "optimizers", "initializers", "schedules", "regularizers", "callbacks",
            "activations")


def family(keras, name):
    """The module of a family; schedules are within optimizers."""
    return keras.optimizers.schedules if name == "schedules" else getattr(keras, name)


def found(keras, path):
    """The object of a name such as "layers.Dense"."""
    part, name = path.split(".")
    return getattr(family(keras, part), name)


def _described(member):
    """The parameters with their defaults as text, and whether any other keyword is taken, too."""
    signature = inspect.signature(member.__init__ if inspect.isclass(member) else member)
    parameters, others = {}, False
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            others = True
        elif parameter.name != "self" and parameter.kind is not parameter.VAR_POSITIONAL:
            parameters[parameter.name] = None if parameter.default is parameter.empty else repr(parameter.default)
    return {"parameters": parameters, "others": others, "class": inspect.isclass(member)}


def names_of(keras):
    """Every public class and function of the families; a second name of one object says which it is."""
    result = {}
    for part in FAMILIES:
        module = family(keras, part)
        for name in sorted(dir(module)):
            member = getattr(module, name)
            # What the module imported for itself is not its own.
            if name.startswith("_") or not callable(member) or not member.__module__.startswith(keras.__name__):
                continue
            result[f"{part}.{name}"] = _described(member)
            if member.__name__ != name and getattr(module, member.__name__, None) is member:
                result[f"{part}.{name}"]["same_as"] = member.__name__
    return result
