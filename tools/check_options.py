#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that no option of the front ends is ignored: each field of an option struct in include/pando/frontends is read in
src/, by a file that knows the struct, and is set by a test of something that takes the struct.

Usage: tools/check_options.py [ROOT]     Prints each field that is not; exit status 1 if there is one.
"""
import pathlib
import re
import sys

# Structs of options that are not named ...Options.
OTHERS = {"IPUConfig", "FloatingPointBehaviour"}
# Fields that no test of C++ sets, each with its reason.
_IN_PYTHON = "python/tests/test_arguments.py gives it to the Python class or method that takes this struct"
_PASSED_ON = "handed on as it is to what a test of src/{} looks at"
EXCEPTIONS = {
    **dict.fromkeys((
        "ModelCheckpointOptions.mode", "EarlyStoppingOptions.mode",
        "ReduceLROnPlateauOptions.mode", "ReduceLROnPlateauOptions.cooldown", "ReduceLROnPlateauOptions.min_lr",
        "LearningRateSchedulerOptions.verbose",
        "WeightOptions.initializer", "WeightOptions.regularizer", "WeightOptions.trainable", "FitOptions.initial_epoch",
        "EvaluateOptions.steps", "PredictOptions.steps"), _IN_PYTHON),
    **dict.fromkeys(("ExplainOptions.network_latency", "ExplainOptions.network_bandwidth"),
                    _PASSED_ON.format("model/predict_scaling.h")),
    "CallOptions.arguments": "what layers of Python give back: python/tests/test_keras_layers.py",
    "ReportOptions.description": _PASSED_ON.format("report/pages"),
}

_STRUCT = re.compile(r"^( *)struct (?:PANDO_API )?(\w+)(?: : (\w+))? \{\n(.*?)^\1\};", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r"^(?:[\w:]+(?:<[^;=]*>)?(?:::\w+)?) (\w+(?: = [^;,]+)?(?:, \w+(?: = [^;,]+)?)*);", re.MULTILINE)


def without_comments(text):
    return re.sub(r"//[^\n]*", "", text)


def structs_of(header):
    """The option structs of a header: name, the struct that it derives from, fields, and its own text."""
    for _, name, base, body in _STRUCT.findall(without_comments(header)):
        if not (name.endswith("Options") or name in OTHERS):
            continue
        # Statements within functions are no fields.
        outer = re.sub(r"\{[^{}\n]*\}", "{}", "\n".join(line.strip() for line in body.split("\n")))
        fields = [part.split()[0] for declared in _FIELD.findall(outer) for part in re.split(r", (?=\w+(?: = |,|$))", declared)]
        yield name, base, [field for field in fields if field not in ("using", "return")], body


def takers_of(struct, headers):
    """What is called with the struct, or with one that it is a part of: a test that names one of them may set its fields."""
    found = {struct}
    for text in headers:
        found.update(re.findall(rf"(\w+)\([^()]*\b{struct}\b", text))
        for whole, _, _, body in structs_of(text):
            if whole != struct and re.search(rf"\b{struct} \w+ = ", body):
                found |= takers_of(whole, headers)
    return found


def texts(root, *patterns):
    return {path: without_comments(path.read_text()) for pattern in patterns for path in sorted(root.glob(pattern))}


def knows(text, names, headers):
    """Whether a source file names one of these, or includes a header of src/ that does."""
    word = re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(names)))})\b")
    return word.search(text) or any(word.search(headers.get(name, "")) for name in re.findall(r'#include "([^"]+)"', text))


def ignored(root):
    """A line for each field that is not read, or that no test sets."""
    public = texts(root, "include/pando/frontends/**/*.h")
    sources = texts(root, "src/**/*.h", "src/**/*.cpp")
    inner = {str(path.relative_to(root / "src")): text for path, text in sources.items() if path.suffix == ".h"}
    tests = texts(root, "tests/**/*.h", "tests/**/*.cpp")
    count, wrong = 0, []
    derived = {}
    found = [(path, *struct) for path, text in public.items() for struct in structs_of(path.read_text())]
    for _, name, base, _, _ in found:
        derived.setdefault(base, set()).add(name)
    for path, name, _, fields, body in found:
        names = {name, *derived.get(name, ())}
        takers = set().union(*(takers_of(one, public.values()) for one in names))
        readers = [text for text in sources.values() if knows(text, takers, inner)] + [body]
        setters = [text for text in tests.values() if knows(text, takers, {})]
        for field in fields:
            count += 1
            read = re.compile(rf"(?:\.|->|::|\breturn |[(!|] ?){field}\b(?! = )")
            if not any(read.search(text) for text in readers):
                wrong.append(f"{path.relative_to(root)}: {name}.{field} is not read in src/: it would be ignored")
            elif any(re.search(rf"\.{field}\b|\"{field}\"", text) for text in setters):
                if f"{name}.{field}" in EXCEPTIONS:
                    wrong.append(f"tools/check_options.py: {name}.{field} has a test now; take it out of EXCEPTIONS")
            elif f"{name}.{field}" not in EXCEPTIONS:
                wrong.append(f"{path.relative_to(root)}: no test sets {name}.{field}; write one, or give a reason in EXCEPTIONS")
    return count, wrong


def main(arguments):
    root = pathlib.Path(arguments[0] if arguments else pathlib.Path(__file__).resolve().parents[1])
    count, wrong = ignored(root)
    print("\n".join(wrong) if wrong else f"options: {count} fields are read and tested")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
