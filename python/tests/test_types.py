# SPDX-License-Identifier: Apache-2.0
"""Type checkers: programs of each style pass mypy, wrong calls are found, and the stubs are those of the extension."""
import ast
import importlib.util
import inspect
import os
import pathlib
import subprocess
import sys

import pytest

import pando
from conftest import needs_torch
from pando import _core

HERE = pathlib.Path(__file__).parent
PACKAGES = str(pathlib.Path(pando.__file__).absolute().parent.parent)
needs_mypy = pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")


@pytest.fixture(scope="module")
def mypy(tmp_path_factory):
    """What mypy says of a program."""
    folder = tmp_path_factory.mktemp("mypy")
    # mypy reads the packages and does not load them: a sanitizer that the extension needs would only slow it down.
    environment = {**os.environ, "PYTHONPATH": PACKAGES}
    environment.pop("LD_PRELOAD", None)

    def check(path):
        process = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(folder), str(path)],
                                 env=environment, cwd=folder, text=True, capture_output=True,
                                 check=False)
        return process.stdout + process.stderr

    return check


@needs_mypy
@pytest.mark.parametrize("style", ["keras", "session", "poptorch"])
def test_a_program_of_each_style_has_no_errors(style, mypy):
    assert mypy(HERE / "typed" / f"{style}_program.py").startswith("Success")


# A wrong line, and what mypy must say of it.
WRONG = [
    ("keras.layers.Dens(3)", 'Module has no attribute "Dens"; maybe "Dense"?'),
    ("keras.layers.Dense('three')", 'Argument 1 to "Dense" has incompatible type "str"; expected "int"'),
    ("keras.Sequential([]).fit(epochs='three')", 'Argument "epochs" to "fit"'),
    ("keras.Sequential([]).fitt()", '"Sequential" has no attribute "fitt"'),
    ("keras.losses.MSEE", 'Module has no attribute "MSEE"'),
    ("poptorch.Options().deviceIterations('5')", 'Argument 1 to "deviceIterations" of "Options"'),
    ("compile_step(3, None, 4)", 'Argument 1 to "compile_step" has incompatible type "int"'),
    ("tf.reduce_summ(3)", 'Module has no attribute "reduce_summ"'),
    ("tf.compat.v1.Sesion()", 'Module has no attribute "Sesion"; maybe "Session"?'),
    ("pando.kerass", 'Module has no attribute "kerass"; maybe "keras"?'),
]


@needs_mypy
def test_wrong_calls_are_found(tmp_path, mypy):
    program = tmp_path / "wrong.py"
    program.write_text("import pando\nimport pando.tf as tf\nfrom pando import keras, poptorch\n"
                       "from pando.torch import compile_step\n" + "".join(f"{line}\n" for line, _ in WRONG))
    said = mypy(program).split("\n")
    for number, (line, words) in enumerate(WRONG, start=5):
        assert any(f":{number}: error" in one and words in one for one in said), f"{line}: {said}"


def stub_names(path):
    """What a stub declares: the names of the module, and of each class those of its members."""
    found = {}
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ClassDef):
            found[node.name] = {part.name if isinstance(part, ast.FunctionDef) else part.target.id for part in node.body
                                if isinstance(part, (ast.FunctionDef, ast.AnnAssign))}
        elif isinstance(node, (ast.FunctionDef, ast.AnnAssign)):
            found[node.name if isinstance(node, ast.FunctionDef) else node.target.id] = set()
    return found


def extension_names(module, tool):
    found = {}
    for name, member in vars(module).items():
        if inspect.isclass(member):
            found[name] = {part for part, value in vars(member).items() if part not in tool.OF_EVERY_CLASS and (
                isinstance(value, property) or tool.signatures(getattr(member, part)) or (
                    tool.is_enum(member) and part in member.__members__))}
        elif not inspect.ismodule(member) and (not name.startswith("__") or name == "__version__"):
            found[name] = set()
    return found


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("python_stubs", HERE.parent.parent / "tools/python_stubs.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("part", ["__init__", "poptorch", "steps", "torch"])
def test_the_stubs_have_exactly_the_names_of_the_extension(part, tool):
    module = _core if part == "__init__" else getattr(_core, part)
    stub = pathlib.Path(pando.__file__).parent / "_core" / f"{part}.pyi"
    assert stub_names(stub) == extension_names(module, tool), "run tools/python_stubs.py"


def test_the_package_says_that_it_has_types():
    assert (pathlib.Path(pando.__file__).parent / "py.typed").exists()


def test_hints_can_be_evaluated():
    """A name in a hint that a module does not know would stop documentation tools."""
    import typing
    modules = ["keras.training", "keras.models", "keras.layers.core", *([] if needs_torch.args[0] else ["poptorch.executor", "torch.step"])]
    for name in modules:
        module = importlib.import_module(f"pando.{name}")
        for owner in [module, *(one for one in vars(module).values() if inspect.isclass(one))]:
            for function in vars(owner).values():
                if inspect.isfunction(function) and function.__module__ == module.__name__ and sys.version_info >= (3, 10):
                    typing.get_type_hints(function)
