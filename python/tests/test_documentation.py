# SPDX-License-Identifier: Apache-2.0
"""What the documents show runs, what docstrings show is true, and every module has one."""
import doctest
import importlib
import pathlib
import pkgutil
import re

import pytest
from conftest import needs_mnist

import pando

ROOT = pathlib.Path(__file__).parent.parent.parent
BLOCKS = [(path.name, index, code) for path in (ROOT / "README.md", ROOT / "docs/python.md")
          for index, code in enumerate(re.findall(r"^```python\n(.*?)^```", path.read_text(), re.DOTALL | re.MULTILINE))]
MODULES = sorted(found.name for found in pkgutil.walk_packages(pando.__path__, "pando.")
                 if not found.name.endswith(("__main__", "_core")))


@needs_mnist
@pytest.mark.parametrize("name, index, code", BLOCKS, ids=[f"{name}-{index}" for name, index, _ in BLOCKS])
def test_the_programs_of_documents_run(run_python, name, index, code):
    run_python("-c", code, PANDO_TEST_SAMPLES="1000")


@needs_mnist
@pytest.mark.parametrize("example", ["keras_mnist.py", "poptorch_mnist.py"])
def test_the_examples_run(run_python, tmp_path, example):
    data = ["--data", str(tmp_path)] if example.startswith("poptorch") else []
    shown = run_python(str(ROOT / "python/examples" / example), "--epochs", "1", *data, PANDO_TEST_SAMPLES="1000").stdout
    assert re.search(r"[Tt]est .*accuracy 0\.\d+", shown)


def test_the_table_of_what_differs_from_keras_is_that_of_the_comparison(run_python):
    run_python(str(ROOT / "python/tests/peers/differences.py"))


@pytest.mark.parametrize("name", MODULES)
def test_docstrings_are_true(name):
    results = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert results.failed == 0


@pytest.mark.parametrize("name", MODULES)
def test_every_module_says_what_it_is(name):
    assert importlib.import_module(name).__doc__
