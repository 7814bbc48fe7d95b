# SPDX-License-Identifier: Apache-2.0
"""The cases: for each class and function that both modules have, one as it is, and one for each value of each argument.

A case is JSON: its name, its program, what it is about ("layers.Dense"), the arguments, the argument that it is about, and
what the program needs to make inputs. A class that the tables of arguments.py lack raises LookupError, so that no class is
without a case.
"""
import arguments as tables
import fit_programs

_PROGRAMS = {"optimizers": "optimizer", "schedules": "schedule", "regularizers": "regularizer", "callbacks": "callback",
             "activations": "activation"}
# By their own object alone: {"l2": 0.1} is the value of one argument, {"strides": 2, ...} are several arguments.
_OBJECT_KEYS = ("make", "call")


def both(keras_names, pando_names):
    """The names that both have, without second names of one object."""
    return [name for name, described in sorted(keras_names.items())
            if name in pando_names and not ("same_as" in described and "same_as" in pando_names[name])]


def _given_as(argument, value):
    if isinstance(value, dict) and not any(key in value for key in _OBJECT_KEYS):
        return value
    return {argument: value}


def _values(about, argument):
    own = tables.OWN_OTHERS.get(about, {})
    if argument not in own and argument not in tables.OTHERS:
        raise LookupError(f"argument '{argument}' of {about} has no other value in python/tests/peers/arguments.py")
    return own.get(argument, tables.OTHERS.get(argument))


def _variants(about, parameters):
    """(label, the argument that it is about, arguments): as it is, each argument, and several at once."""
    needed = tables.NEEDED.get(about, {})
    missing = [name for name, default in parameters.items()
               if default is None and name not in needed and name not in ("inputs", "x", "y_true", "y_pred")]
    if missing:
        raise LookupError(f"{about} needs {missing}: give values in NEEDED of python/tests/peers/arguments.py")
    yield "", None, needed
    for argument in parameters:
        if argument in ("inputs", "x", "y_true", "y_pred"):
            continue
        for value in _values(about, argument):
            given = _given_as(argument, value)
            yield _label(given), argument, {**needed, **given}
    for given in tables.TOGETHER.get(about, []):
        yield _label(given), None, {**needed, **given}


def _label(given):
    def text(value):
        if isinstance(value, dict):
            return value.get("make", value.get("call", "")).split(".")[-1]
        return repr(value)
    return ", ".join(f"{key}={text(value)}" for key, value in given.items())


def _of_layer(case):
    """A case for each set of inputs; with other arguments, those of the first or, for images, what the argument needs."""
    name = case["about"].split(".")[1]
    sets = tables.SHAPES.get(case["about"], [[[4]]])
    if case["about"] in tables.INTEGERS:
        case["integers"] = tables.INTEGERS[case["about"]]
    if name in tables.RANDOM_LAYERS:
        case["random"] = True
    # Axes of sequences need more than one axis.
    if case["arguments"].get("axis") in (1, [1, 2]) and case["about"] != "layers.Concatenate":
        sets = [shapes for shapes in sets if len(shapes[0]) > 1]
    for shapes in sets:
        shown = " and ".join(str(shape) for shape in shapes)
        yield {**case, "program": "layer", "shapes": shapes, "name": f"{case['name']} on {shown}"}
    if case["is_class"] and case["argument"] is None and case["name"].endswith("()"):
        yield {**case, "program": "frozen", "shapes": sets[0], "name": f"{case['name']} frozen"}


def _of_scores(case, about, described):
    """Losses and metrics, for rows and for rows of several parts."""
    class_name = about.split(".")[1] if described["class"] else _class_of(about.split(".")[1])
    if class_name not in tables.KINDS:
        raise LookupError(f"{about} has no kind of data in KINDS of python/tests/peers/arguments.py")
    case["kind"] = tables.KINDS[class_name]
    case["program"] = ("loss" if about.startswith("losses.") else "metric") if described["class"] else "function"
    if case["argument"] == "axis":
        case["shape"] = [3, 5]
    yield case
    plain = case["argument"] in (None, "from_logits", "label_smoothing")
    if plain and case["program"] == "loss" and case["kind"] in ("yes or no", "classes", "class numbers", "shares"):
        yield {**case, "edges": True, "name": f"{case['name']} at the edges"}
    if case["argument"] is None:
        yield {**case, "shape": [3, 5], "name": f"{case['name']} of 3 x 5"}
        if case["kind"] in ("numbers", "yes or no", "signs", "counts"):
            yield {**case, "shape": [1], "name": f"{case['name']} of 1"}


def _class_of(function):
    """mean_squared_error: MeanSquaredError."""
    found = [name for name in tables.KINDS if name.lower() == function.replace("_", "")]
    return found[0] if found else function


def _of_initializer(case, name):
    case["program"] = "initializer"
    random = name in tables.RANDOM_INITIALIZERS
    return {**case, "random": random}


def make(keras_names, pando_names):
    """All cases of the classes and functions that both have."""
    made = {}
    for about in both(keras_names, pando_names):
        if about in tables.WITHOUT_CASE:
            continue
        described, part = keras_names[about], about.split(".")[0]
        for label, argument, given in _variants(about, described["parameters"]):
            case = {"name": f"{about}({label})", "about": about, "argument": argument, "arguments": given,
                    "is_class": described["class"]}
            if part == "layers":
                cases = _of_layer(case)
            elif part in ("losses", "metrics"):
                cases = _of_scores(case, about, described)
            elif part == "initializers":
                cases = [_of_initializer(case, about.split(".")[1])]
            else:
                cases = [{**case, "program": _PROGRAMS[part]}]
            made.update({case["name"]: case for case in cases})
    return [*made.values(), *fit_programs.cases()]
