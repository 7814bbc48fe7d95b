# SPDX-License-Identifier: Apache-2.0
"""What `pip install .` says where it cannot build: each missing tool is named, with where it comes from."""
import importlib.util
import pathlib
import shutil

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[1] / "packaging/build_wheel.py"


@pytest.fixture
def backend():
    spec = importlib.util.spec_from_file_location("build_wheel", SOURCE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Makes a machine that has these programs and no others."""
    def make(*programs):
        for name in programs:
            (tmp_path / name).symlink_to(shutil.which(name))
        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.delenv("CXX", raising=False)
        monkeypatch.delenv("CMAKE_ARGS", raising=False)
    return make


def refusal(backend):
    with pytest.raises(SystemExit) as caught:
        backend.prepare_metadata_for_build_wheel("unused")
    return str(caught.value)


def test_pip_brings_cmake_and_ninja_where_the_machine_has_none(backend, machine):
    assert backend.get_requires_for_build_wheel() == []
    machine()
    assert backend.get_requires_for_build_wheel() == ["cmake>=3.25", "ninja"]


def test_a_cmake_that_is_too_old_is_none(backend, machine, tmp_path):
    machine("ninja", "sh")
    (tmp_path / "cmake").write_text("#!/bin/sh\necho cmake version 3.18.4\n")
    (tmp_path / "cmake").chmod(0o755)
    assert backend.get_requires_for_build_wheel() == ["cmake>=3.25"]
    assert refusal(backend) == (
        "pando: cannot find CMake 3.25 or newer; install it (Debian: apt install cmake), or leave it to pip by calling it "
        "without --no-build-isolation")


def test_the_missing_ninja_is_named(backend, machine):
    machine("cmake")
    assert refusal(backend) == (
        "pando: cannot find Ninja; install it (Debian: apt install ninja-build), or leave it to pip by calling it without "
        "--no-build-isolation")


def test_the_missing_package_wheel_is_named(backend, machine, monkeypatch):
    machine("cmake", "ninja")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert refusal(backend) == (
        "pando: cannot find the Python package wheel; install it (Debian: apt install python3-wheel), or leave it to pip by "
        "calling it without --no-build-isolation")


def test_the_missing_compiler_is_named(backend, machine, monkeypatch):
    machine("cmake", "ninja")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name)
    assert refusal(backend) == (
        "pando: cannot find a C++ compiler; install one (Debian: apt install g++), or name one in the environment variable CXX")
    monkeypatch.setenv("CXX", "g++-99 -m64")
    assert refusal(backend) == (
        "pando: cannot find g++-99; install one (Debian: apt install g++), or name one in the environment variable CXX")
