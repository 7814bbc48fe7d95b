# SPDX-License-Identifier: Apache-2.0
"""Keras beside Keras: what Pando answers to each case is what Keras 3 answers, but for what differs on purpose.

scripts/test_peers.sh makes the environment that has Keras 3, build/peers/venv, and runs this with the Python that Pando is
built for.
"""
import hashlib
import json
import os
import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
# pylint: disable=wrong-import-position
import answers  # noqa: E402
import arguments  # noqa: E402
import cases as case_list  # noqa: E402
import comparison  # noqa: E402
import differences  # noqa: E402
import names  # noqa: E402
from pando import keras  # noqa: E402

FOLDER = pathlib.Path(__file__).parents[3] / "build/peers"


def _peer(*words):
    """A process of the Python that has Keras 3, with one thread."""
    program = pathlib.Path(__file__).with_name("peer.py")
    environment = {**os.environ, "KERAS_BACKEND": "torch", "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}
    environment.pop("PYTHONPATH", None)
    with open(FOLDER / "peer.log", "a", encoding="utf-8") as log:
        return subprocess.Popen([FOLDER / "venv/bin/python", "-B", program, *words], env=environment,
                                stdin=subprocess.DEVNULL, stdout=log, stderr=log)


def _wait(peers):
    assert not any([peer.wait() for peer in peers]), f"Keras 3 does not answer; {FOLDER / 'peer.log'} says why"


def _names():
    """What Keras has."""
    _wait([_peer("names", FOLDER / "names.json")])
    return json.loads((FOLDER / "names.json").read_text(encoding="utf-8"))


def _answers(told, cases):
    """What Keras answers; two processes share the cases. Nothing is asked twice: answers are kept until the version of Keras,
    the cases or the programs change."""
    programs = [path.read_text(encoding="utf-8") for path in sorted(pathlib.Path(__file__).parent.glob("*.py"))
                if path.name not in ("suite.py", "differences.py", "comparison.py", "arguments.py", "cases.py")]
    key = hashlib.sha256(json.dumps([told["version"], cases, programs]).encode()).hexdigest()
    files = [FOLDER / f"answers_{part}.npz" for part in range(2)]
    kept = FOLDER / "answers.key"
    if not kept.exists() or kept.read_text(encoding="utf-8") != key:
        kept.unlink(missing_ok=True)
        peers = []
        for part, file in enumerate(files):
            asked = FOLDER / f"cases_{part}.json"
            asked.write_text(json.dumps(cases[part::2]), encoding="utf-8")
            peers.append(_peer("answer", asked, file))
        _wait(peers)
        kept.write_text(key, encoding="utf-8")
    return {name: answer for file in files for name, answer in answers.read(file).items()}


TOLD = _names()
CASES = case_list.make(TOLD["names"], names.names_of(keras))
ANSWERS = _answers(TOLD, CASES)


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_pando_answers_as_keras(case):
    from_keras = ANSWERS[case["name"]]
    assert ("error" in from_keras) == differences.is_among(case["name"], differences.REFUSED_BY_KERAS), from_keras
    weights = {key[len("weight "):]: value for key, value in from_keras.items()
               if key.startswith("weight ") and key != "weight names"}
    lines = comparison.differences(from_keras, answers.answer(keras, case, weights or None))
    rows = differences.rows_of(case["name"])
    if differences.is_among(case["name"], differences.TO_BE_FIXED):
        assert lines, "it is right now: take it off TO_BE_FIXED in python/tests/peers/differences.py"
        pytest.xfail(lines[0])
    if not rows:
        assert not lines, "\n".join(lines)
        return
    said = " and ".join(f"'{row.what}'" for row in rows)
    assert lines, f"it does not differ any more: take it out of the row {said} of python/tests/peers/differences.py"
    others = [line for line in lines if not any(words in line for row in rows for words in row.lines)]
    assert not others, "\n".join([f"other than the row {said} says:", *others])


@pytest.mark.parametrize("row", differences.ROWS, ids=[row.what for row in differences.ROWS])
def test_a_row_has_cases(row):
    for pattern in row.cases:
        assert any(differences.matches(case["name"], pattern) for case in CASES), f"no case is named {pattern}"


def test_every_class_of_both_has_a_case():
    about = {case["about"] for case in CASES}
    for name in case_list.both(TOLD["names"], names.names_of(keras)):
        assert name in about or name in arguments.WITHOUT_CASE, f"{name} has no case"


def _default(text):
    """A default as text; None and what it stands for are the same."""
    same = {"'channels_last'": "None", "'auto'": "'sum_over_batch_size'", "'Zeros'": "'zeros'", "0": "0.0"}
    return same.get(text, text)


def test_defaults_are_those_of_keras():
    """The defaults of arguments that both have; a case as it is shows what they do."""
    ours, wrong = names.names_of(keras), []
    for name in case_list.both(TOLD["names"], ours):
        for argument, default in TOLD["names"][name]["parameters"].items():
            own = ours[name]["parameters"].get(argument)
            if None in (default, own) or argument == "name" or _default(own) == _default(default):
                continue
            if (name, argument) not in differences.SAME_DEFAULTS:
                wrong.append(f"{name}: {argument} is {own}, in Keras {default}")
    assert not wrong, "\n".join(wrong)
