# SPDX-License-Identifier: Apache-2.0
"""What the documents show runs, what docstrings show is true, and every module has one."""
import doctest
import importlib
import pathlib
import pkgutil
import re

import pytest
from conftest import needs_mnist, needs_torch

import pando

ROOT = pathlib.Path(__file__).parent.parent.parent
BLOCKS = [(path.name, index, code) for path in (ROOT / "README.md", ROOT / "docs/python.md")
          for index, code in enumerate(re.findall(r"^```python\n(.*?)^```", path.read_text(), re.DOTALL | re.MULTILINE))]
MODULES = sorted(found.name for found in pkgutil.walk_packages(pando.__path__, "pando.")
                 if not found.name.endswith(("__main__", "_core")))


@needs_mnist
@pytest.mark.parametrize("name, index, code", [
    pytest.param(*block, id=f"{block[0]}-{block[1]}", marks=needs_torch if "torch" in block[2] else ()) for block in BLOCKS])
def test_the_programs_of_documents_run(run_python, name, index, code):
    run_python("-c", code, PANDO_TEST_SAMPLES="1000")


@needs_mnist
def test_the_example_of_keras_runs(run_python):
    shown = run_python(str(ROOT / "python/examples/keras_mnist.py"), "--epochs", "1", PANDO_TEST_SAMPLES="1000").stdout
    assert re.search(r"[Tt]est .*accuracy 0\.\d+", shown)


@needs_mnist
def test_the_example_of_poptorch_runs(run_python, few_digits, tmp_path):
    pytest.importorskip("torchvision")
    shown = run_python("-m", "pando", str(ROOT / "python/examples/poptorch_mnist.py"), "--epochs", "1", "--data",
                       str(tmp_path), PANDO_DATA=few_digits).stdout
    assert re.search(r"^Test accuracy 0\.\d+$", shown, re.MULTILINE)


def test_the_table_of_what_differs_from_keras_is_that_of_the_comparison(run_python):
    run_python(str(ROOT / "python/tests/peers/differences.py"))


def skip_without_its_torch(name):
    """The backend of torch.compile needs PyTorch 2.4, and the rest of two packages needs any."""
    package, _, module = name.removeprefix("pando.").partition(".")
    if package in ("torch", "poptorch"):
        torch = pytest.importorskip("torch")
        if package == "torch" and module in ("backend", "crossing", "fixed_sizes", "joint", "partition", "parts"):
            if not hasattr(torch.library, "register_fake"):
                pytest.skip("the backend of torch.compile needs PyTorch 2.4")


@pytest.mark.parametrize("name", MODULES)
def test_docstrings_are_true(name):
    skip_without_its_torch(name)
    results = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert results.failed == 0


@pytest.mark.parametrize("name", MODULES)
def test_every_module_says_what_it_is(name):
    skip_without_its_torch(name)
    assert importlib.import_module(name).__doc__
