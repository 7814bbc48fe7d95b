# SPDX-License-Identifier: Apache-2.0
"""The tutorials that Pando implements, as they were published: notebooks whose code must run unchanged.

They lie beside the project, in ../shared/seeds, with a program that prints the code of one as a script. `check_...`
compare what a script has shown with what it must show, with all data (`whole`) or with fewer samples.
"""
import pathlib
import re
import subprocess
import sys
import textwrap

SEEDS = pathlib.Path(__file__).resolve().parents[3] / "shared/seeds"
SET_OF = {"000": "mnist", "001": None, "002": "mnist", "003": "fashion_mnist", "004": "mnist"}

# What Keras 2 shows of an epoch or an evaluation when it has ended.
_LINE = re.compile(r"^(\d+)/\1 \[={30}\] - \d+s \d+(?:s|ms|us)/step((?: - \w+: \d+\.\d{4})+)$", re.MULTILINE)


def path_of(number):
    """The file of a document; None where there is none."""
    return next(iter(sorted(SEEDS.glob(f"{number}_*.txt"))), None)


def script_of(number):
    """The code of a document as one script."""
    command = [sys.executable, str(SEEDS / "blocks.py"), str(path_of(number))]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def lines_of(text):
    """(steps, {name: value}) of each finished epoch or evaluation."""
    return [(int(steps), {name: float(value) for name, value in re.findall(r"(\w+): ([\d.]+)", values)})
            for steps, values in _LINE.findall(text)]


def check_000(out, err, whole):
    lines = lines_of(out)
    assert [steps for steps, _ in lines] == [2000] * 4, out
    assert re.findall(r"^Epoch (\d)/4$", out, re.MULTILINE) == list("1234"), out
    losses = [values["loss"] for _, values in lines]
    assert losses == sorted(losses, reverse=True), losses
    assert not whole or losses[-1] < 0.28, losses
    return f"loss {losses[-1]} after 4 x 2,000 steps"


def steps_of_002(train, test):
    """The steps of all lines that document 002 shows with that many samples."""
    halves, quarters, pairs = test // 64 * 2, test // 64, test // 128
    return ([-(-train // 64)] * 3 + [-(-test // 64)] + [train // 64] * 3 + [halves] +
            [train // 64] * 3 + [halves] + [train // 64] * 3 + [quarters] +
            [train // 128 * 2] * 3 + [pairs * 4] + [train // 128 * 2] * 3 + [pairs * 2] +
            [train // 512 * 8] * 3 + [test // 512 * 8])


def check_002(out, err, whole, train=60000, test=10000):
    lines = lines_of(out)
    assert [steps for steps, _ in lines] == steps_of_002(train, test), out
    assert out.count("Model: ") == 7 and out.count("\nNone\n") == 2, out
    assert out.count("Total params: 34,826\n") == 7, out
    warning = "WARNING:tensorflow:Resetting existing IPU configuration before applying new configuration\n"
    assert err.count(warning) == 1, err
    # Runs of three epochs and an evaluation; those with number 3 and 5 go on where the one before them stopped.
    runs = [[values["accuracy"] for _, values in lines[i:i + 4]] for i in range(0, len(lines), 4)]
    first = [run for number, run in enumerate(runs) if number not in (3, 5)]
    assert len(first) == 5 and all(run[0] < run[2] for run in runs), runs
    if whole:
        assert all(run[2] >= 0.925 for run in runs) and all(run[3] >= 0.955 for run in runs), runs
    return "epoch 3 / test: " + ", ".join(f"{run[2]} / {run[3]}" for run in first)


def check_003(out, err, whole):
    assert re.match(r"(\nLoss: \d+\.\d+\nTime: \d+\.\d+\n){5}Program ran successfully\n", out), out
    assert err.count("WARNING") == 1 and "The layer 'conv2d' is in the Sequential model twice" in err, err
    losses = [float(loss) for loss in re.findall(r"Loss: ([\d.]+)", out)]
    assert losses == sorted(losses, reverse=True), losses
    times = [float(time) for time in re.findall(r"Time: ([\d.]+)", out)]
    return f"losses {losses[0]:.4f} to {losses[-1]:.4f}, {sum(times):.2f} s"


def tree_of_004():
    """The printed module that the document shows."""
    shown = re.search(r"^    TrainingModelWithLoss\(\n(?:    .*\n)*?    \)\n", path_of("004").read_text(), re.MULTILINE)
    return textwrap.dedent(shown[0])


def check_004(out, err, whole):
    assert out.startswith(tree_of_004()), out
    found = re.fullmatch(r"Accuracy on test set: (\d+\.\d\d)%\n", out[len(tree_of_004()):])
    assert found and float(found[1]) >= (99.0 if whole else 90.0), out
    assert re.search(r"Loss: 0\.\d{4} \| Accuracy: \d\d\.\d\d% ", err) and "Epochs: 100%" in err, err
    return f"{found[1]} % on the test set"
