# SPDX-License-Identifier: Apache-2.0
"""What the tests share: how a program is run in a Python of its own."""
import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest

import pando
from pando import _core

needs_mnist = pytest.mark.skipif(not _core.dataset_available("mnist"),
                                 reason="MNIST is not on this machine; scripts/fetch_data.sh gets it")
needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
# Where the module under test is, for programs that run in other folders.
PACKAGES = str(pathlib.Path(pando.__file__).absolute().parent.parent)


@pytest.fixture
def run_python(tmp_path):
    """Runs Python with these arguments in an empty folder; returns the finished process, with its text."""

    def run(*arguments, check=True, timeout=300, cwd=tmp_path, **environment):
        process = subprocess.run([sys.executable, *arguments], cwd=cwd, timeout=timeout, text=True, capture_output=True,
                                 env={**os.environ, "PYTHONPATH": PACKAGES, **environment}, check=False)
        if check:
            assert process.returncode == 0, process.stdout + process.stderr
        return process

    return run
