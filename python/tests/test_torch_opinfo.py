# SPDX-License-Identifier: Apache-2.0
"""Programs compute what PyTorch's own database of operators says, or are refused: opinfo_gate.py."""
import warnings

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (Debian: apt install python3-torch)")

import opinfo_gate as gate  # noqa: E402, it imports torch

SHARDS = 24
pytestmark = [pytest.mark.filterwarnings("ignore"),
              pytest.mark.skipif(not gate.table_path().exists(), reason=f"there is no table for PyTorch {torch.__version__}")]


@pytest.fixture(scope="module")
def operators():
    return gate.database()


@pytest.mark.parametrize("shard", range(SHARDS))
def test_verdicts_are_those_of_the_table(operators, shard):
    known, worse, better, new = gate.read_table(), [], [], []
    for name in list(operators)[shard::SHARDS]:
        if name in gate.TOO_LONG:
            continue
        row, reasons = gate.judged(name, operators[name])
        for column in gate.COLUMNS:
            before = known.get(name, {}).get(column, "")
            told = f"{name}, {column}: {row[column]}, and {before or 'nothing'} in the table {reasons.get(column, '')}"
            if row[column] == "wrong" or (before and rank(row[column]) < rank(before)):
                worse.append(told)
            elif rank(row[column]) > rank(before):
                (better if before else new).append(told)
    if better or new:
        warnings.warn("opinfo_gate.py --write will take these into the table:\n" + "\n".join(better + new), stacklevel=1)
    assert not worse, "\n".join(worse)


def rank(verdict):
    return -1 if not verdict else gate.VERDICTS.index(verdict)


def test_table_has_no_wrong_verdicts():
    wrong = [name for name, row in gate.read_table().items() if "wrong" in row.values()]
    assert not wrong
