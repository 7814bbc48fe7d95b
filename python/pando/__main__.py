# SPDX-License-Identifier: Apache-2.0
"""Runs a program that was written for TensorFlow or PopTorch, unchanged, on Pando.

usage: python3 -m pando SCRIPT [ARGUMENT...]
       python3 -m pando -c CODE [ARGUMENT...]
       python3 -m pando -m MODULE [ARGUMENT...]
       python3 -m pando --list | --version | --help

In the program, tensorflow, keras and poptorch are Pando's packages. --list prints their modules. torch and torchvision
are PyTorch's own; torchvision finds the data sets that Pando has fetched.
"""
import os
import runpy
import sys

import pando
from pando import compat


def _fail(text):
    sys.stderr.write(f"python3 -m pando: {text}\nTry 'python3 -m pando --help'.\n")
    return 2


def _run_code(code, arguments):
    sys.argv = ["-c", *arguments]
    sys.path[0] = ""
    namespace = sys.modules["__main__"].__dict__
    for name in [name for name in namespace if not name.startswith("__")]:
        del namespace[name]
    exec(compile(code, "<string>", "exec"), namespace)


def _run_script(script, arguments):
    sys.argv = [script, *arguments]
    # As Python does: the script's own folder comes first.
    sys.path[0] = os.path.dirname(os.path.abspath(script))
    runpy.run_path(script, run_name="__main__")


def _run_module(module, arguments):
    sys.argv = [module, *arguments]
    sys.path[0] = os.getcwd()
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _run(function, *arguments):
    """Runs the program; a traceback begins with the program's own lines. Returns the exit status."""
    compat.install()
    try:
        function(*arguments)
    except Exception as error:
        trace = error.__traceback__
        while trace.tb_next and (trace.tb_frame.f_code.co_filename == __file__ or
                                 trace.tb_frame.f_code.co_filename.startswith("<frozen")):
            trace = trace.tb_next
        sys.excepthook(type(error), error.with_traceback(trace), trace)
        return 1
    return 0


def main(arguments):
    """Runs what the arguments name; returns the exit status."""
    if not arguments or arguments[0] in ("-h", "--help"):
        sys.stdout.write(__doc__[__doc__.index("usage"):])
        return 0 if arguments else 2
    first, rest = arguments[0], arguments[1:]
    if first == "--version":
        print(f"Pando {pando.__version__}")
        return 0
    if first == "--list":
        from pando.compat.finder import modules
        print("\n".join(modules()))
        return 0
    if first in ("-c", "-m"):
        if not rest:
            return _fail(f"{first} needs an argument")
        return _run(_run_code if first == "-c" else _run_module, rest[0], rest[1:])
    if first.startswith("-"):
        return _fail(f"unknown option {first}")
    if not os.path.exists(first):
        return _fail(f"cannot find the script {first}")
    return _run(_run_script, first, rest)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
