#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the tables of docs/performance.md from the measurements in docs/performance/*.json.

  tools/document_performance.py [--check] [ROOT]

A line "<!-- TABLE FILE... -->" of the page names a table and the files it is made from; what follows it, up to
"<!-- end -->", is replaced. With --check nothing is written, and the status is 1 if the page is not what would be. The
files are what `train_step --json` and `scaling --json` write, without the times of single kernels:

  summary TWO_CORES SCALING GPU   each model on two cores, on all cores of a machine and on a GPU, beside other libraries
  processors FILE...              the same models on two cores of several machines
  devices FILE                    a step on a GPU, beside other libraries (train_step --backend)
"""
import argparse
import json
import pathlib
import re
import sys

BLOCK = re.compile(r"(<!-- (summary|processors|devices) ([^\n]*?) -->\n).*?(<!-- end -->)", re.DOTALL)
ORDER = ["mlp", "keras_cnn", "fashion", "poptorch_cnn", "vgg_small", "large_mlp", "lenet", "strided", "residual",
         "resnet18", "gpt_nano"]


def time(microseconds):
    """With three digits, as people write them."""
    if microseconds < 10:
        return f"{microseconds:.1f} us"
    if microseconds < 1000:
        return f"{microseconds:.0f} us"
    return f"{microseconds / 1000:.{2 if microseconds < 1e4 else 1 if microseconds < 1e5 else 0}f} ms"


def table(titles, rows):
    lines = [titles, ["---"] * len(titles)] + rows
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def origin(run):
    """Which run a table shows."""
    peak = f", multiply-add peak {run['peak_gflops']:.0f} GFLOP/s" if "peak_gflops" in run else ""
    return f"{run['processor']}, {run['instruction_set']}{peak}, g++ {run['compiler']}, {run['date']}"


def ratio(other, own):
    return f"{other / own:.1f} x"


def in_order(*names):
    """The models that any of these has."""
    return [name for name in ORDER if any(name in some for some in names)]


def summary(two, scaling, gpu):
    on_two = {model["model"]: model for model in two["models"]}
    on_all = {model["model"]: {entry["tiles"]: entry["step_us"] for entry in model["times"]} for model in scaling["models"]}
    lines = gpu["steps_us"]
    titles = ["training step", "2 cores", "of peak", "PyTorch", "JAX", f"{scaling['tiles']} cores", "gain over 1", "H200", "PyTorch graph",
              "JAX", "JAX, both in tf32"]
    rows = []
    for name in in_order(on_two, on_all, lines["cuda float32"]):
        row = [f"`{name}`", "", "", "", "", "", ""]
        if name in on_two:
            step, others = on_two[name]["step_us"], on_two[name]["others_us"]
            row[1:5] = [time(step), f"{100 * on_two[name]['of_peak']:.0f} %", ratio(others["torch"], step),
                        ratio(others["jax"], step)]
        if name in on_all:
            lowest = min(on_all[name].values())
            row[5:7] = [time(lowest), ratio(on_all[name][1], lowest)]
        step = lines["cuda float32"][name]
        rows.append(row + [time(step), ratio(lines["torch graph"][name], step), ratio(lines["jax scan"][name], step),
                           ratio(lines["jax scan, tf32"][name], lines["cuda tf32"][name])])
    return table(titles, rows)


def processors(*runs):
    machines = [{model["model"]: model for model in run["models"]} for run in runs]
    titles = ["training step", "MFLOP"]
    for number in range(1, len(runs) + 1):
        titles += [f"{number}: step", "of peak", "bf16", "PyTorch"]
    rows = []
    for name in in_order(*machines):
        row = [f"`{name}`", f"{machines[0][name]['megaflops']:,.0f}"]
        for machine in machines:
            model, step = machine[name], machine[name]["step_us"]
            other = ratio(model["others_us"]["torch"], step) if "torch" in model["others_us"] else ""
            row += [time(step), f"{100 * model['of_peak']:.0f} %", f"{step / model['mixed_bfloat16_us']:.2f} x", other]
        rows.append(row)
    return "".join(f"{number}. {origin(run)}\n" for number, run in enumerate(runs, 1)) + "\n" + table(titles, rows)


def devices(run):
    lines = run["steps_us"]
    names = in_order(*lines.values())
    rows = [[title] + [f"{times[name]:,.0f}" if times[name] >= 100 else f"{times[name]:.1f}" if name in times else ""
                       for name in names] for title, times in lines.items()]
    return f"`{run['command']}` ({run['date']}, us):\n\n" + table([""] + [f"`{name}`" for name in names], rows)


def made(folder, kind, words):
    def read(name):
        return json.loads((folder / name).read_text())
    return {"summary": summary, "processors": processors, "devices": devices}[kind](*map(read, words.split()))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="compare the page instead of writing it")
    parser.add_argument("root", nargs="?", default=pathlib.Path(__file__).resolve().parent.parent, type=pathlib.Path)
    arguments = parser.parse_args()
    page = arguments.root / "docs" / "performance.md"
    old = page.read_text()
    new = BLOCK.sub(lambda found: found[1] + made(page.with_suffix(""), found[2], found[3]) + found[4], old)
    if not BLOCK.search(old):
        sys.exit(f"{page} names no table; see tools/document_performance.py")
    if not arguments.check:
        page.write_text(new)
    elif new != old:
        sys.exit("docs/performance.md is not made from docs/performance/*.json; run tools/document_performance.py")


if __name__ == "__main__":
    main()
