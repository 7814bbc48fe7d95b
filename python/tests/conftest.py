# SPDX-License-Identifier: Apache-2.0
"""What the tests share: how a program is run in a Python of its own."""
import gzip
import importlib.util
import os
import pathlib
import struct
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
def eager_switching():
    """Threads take turns as often as Python lets them."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.fixture
def few_digits(tmp_path):
    """A folder for PANDO_DATA: MNIST, of which each file has its first samples alone."""
    folder = tmp_path / "few" / "mnist"
    folder.mkdir(parents=True)
    for path in pathlib.Path(_core.dataset_folder("mnist")).glob("*-ubyte.gz"):
        data = gzip.decompress(path.read_bytes())
        head, size = (16, 28 * 28) if "images" in path.name else (8, 1)
        count = min(8000, (len(data) - head) // size)
        (folder / path.name).write_bytes(gzip.compress(data[:4] + struct.pack(">i", count) + data[8:head + count * size], 1))
    return str(folder.parent)


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
