# SPDX-License-Identifier: Apache-2.0
"""python3 -m pando runs scripts, code and modules as Python does, with the frameworks' names."""
import pytest

import pando

SCRIPT = """
import sys
import tensorflow
print(__name__, __file__ == sys.argv[0], sys.argv[1:], tensorflow.__name__)
import neighbour
"""


def test_a_script_sees_its_arguments_and_its_folder(run_python, tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "neighbour.py").write_text("print('neighbour')")
    shown = run_python("-m", "pando", "script.py", "a", "-b").stdout
    assert shown == "__main__ True ['a', '-b'] pando.tf\nneighbour\n"


def test_a_file_called_keras_beside_the_script_is_not_taken_for_keras(run_python, tmp_path):
    (tmp_path / "script.py").write_text("import keras; print(keras.__name__)")
    (tmp_path / "keras.py").write_text("raise SystemExit('the wrong one')")
    assert run_python("-m", "pando", "script.py").stdout == "pando.keras\n"


def test_pytorch_is_the_one_that_is_installed(run_python):
    pytest.importorskip("torchvision")
    shown = run_python("-m", "pando", "-c", "import torch, torchvision, poptorch; "
                       "print(torch.__name__, torchvision.__name__, poptorch.__name__)").stdout
    assert shown == "torch torchvision pando.poptorch\n"


@pytest.mark.parametrize("code, words", [
    ("import torch", "the program needs PyTorch: apt install python3-torch, or pip install torch"),
    ("from torchvision import datasets",
     "the program needs torchvision: apt install python3-torchvision, or pip install torchvision"),
    ("import poptorch", "pando.torch needs PyTorch: apt install python3-torch, or pip install torch")])
def test_a_program_that_needs_pytorch_is_told_how_to_install_it(run_python, tmp_path, code, words):
    hidden = ("import sys, importlib.machinery as machinery\n"
              "find = machinery.PathFinder.find_spec\n"
              "machinery.PathFinder.find_spec = classmethod(lambda cls, name, *rest: None if name in ('torch', 'torchvision') "
              "else find(name, *rest))\n")
    (tmp_path / "program.py").write_text(hidden + code)
    process = run_python("-m", "pando", "program.py", check=False)
    assert process.returncode == 1 and process.stderr.endswith(f"ModuleNotFoundError: {words}\n"), process.stderr


def test_code_and_modules(run_python, tmp_path):
    (tmp_path / "program.py").write_text("import keras, sys; print(__name__, sys.argv[1:])")
    assert run_python("-m", "pando", "-c", "import keras, sys; print(sys.argv)", "x").stdout == "['-c', 'x']\n"
    assert run_python("-m", "pando", "-m", "program", "x").stdout == "__main__ ['x']\n"


def test_what_a_script_raises_and_returns_is_seen(run_python, tmp_path):
    (tmp_path / "script.py").write_text("import sys; sys.exit(7)")
    assert run_python("-m", "pando", "script.py", check=False).returncode == 7
    failed = run_python("-m", "pando", "-c", "1 / 0", check=False)
    assert failed.returncode == 1 and "ZeroDivisionError" in failed.stderr


def test_a_traceback_has_the_lines_of_the_script_alone(run_python, tmp_path):
    (tmp_path / "script.py").write_text("def fail():\n    raise KeyError(1)\nfail()\n")
    failed = run_python("-m", "pando", "script.py", check=False)
    assert failed.returncode == 1
    assert failed.stderr.splitlines()[1].strip().endswith('script.py", line 3, in <module>')


def test_wrong_usage_says_what_is_wrong(run_python):
    for arguments, text in ((["nope.py"], "cannot find the script nope.py"), (["--lits"], "unknown option --lits"),
                            (["-c"], "-c needs an argument")):
        process = run_python("-m", "pando", *arguments, check=False)
        assert process.returncode == 2
        assert process.stderr == f"python3 -m pando: {text}\nTry 'python3 -m pando --help'.\n"


def test_help_version_and_list(run_python):
    assert run_python("-m", "pando", "--help").stdout.startswith("usage: python3 -m pando SCRIPT")
    assert run_python("-m", "pando", "--version").stdout == f"Pando {pando.__version__}\n"
    assert "keras.layers" in run_python("-m", "pando", "--list").stdout.split()


def test_without_it_the_names_are_not_pandos(run_python):
    shown = run_python("-c", """
import importlib.util
import pando
print([importlib.util.find_spec(name) is None or "pando" not in importlib.util.find_spec(name).origin
       for name in ("torch", "tensorflow", "poptorch")])
""").stdout
    assert shown == "[True, True, True]\n"
