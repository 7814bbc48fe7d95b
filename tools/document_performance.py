#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the tables of docs/performance.md from the measurements in docs/performance/*.json.

  tools/document_performance.py [--check] [ROOT]

A line "<!-- TABLE FILE... -->" of the page names a table and the files it is made from; what follows it, up to
"<!-- end -->", is replaced. With --check nothing is written, and the status is 1 if the page is not what would be. The
files are what `train_step --json` and `scaling --json` write:

  steps FILE           a row for each model
  kernels FILE MODEL   where the time of a step goes
  sets WIDE NARROW     the same models on two instruction sets: the share of its own peak that each reaches
  scaling FILE         a step by the number of tiles
  devices FILE         a step on a GPU and on CPUs, beside other libraries (train_step --backend)
"""
import argparse
import json
import pathlib
import re
import sys

BLOCK = re.compile(r"(<!-- (steps|kernels|sets|scaling|devices) ([^\n]*?) -->\n).*?(<!-- end -->)", re.DOTALL)
ORDER = ["mlp", "keras_cnn", "fashion", "poptorch_cnn", "vgg_small", "large_mlp", "lenet", "strided", "residual",
         "resnet18", "gpt_nano"]
OTHERS = {"torch": "PyTorch", "torch_compile": "`torch.compile`", "jax": "JAX"}


def time(microseconds):
    """With three digits, as people write them."""
    if microseconds < 1000:
        return f"{microseconds:.0f} us"
    return f"{microseconds / 1000:.{2 if microseconds < 1e4 else 1 if microseconds < 1e5 else 0}f} ms"


def table(titles, rows):
    lines = [titles, ["---"] * len(titles)] + rows
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def origin(run):
    """The sentence over a table: which run it shows."""
    peak = f", multiply-add peak {run['peak_gflops']:.0f} GFLOP/s" if "peak_gflops" in run else ""
    compiler = f", g++ {run['compiler']}" if "compiler" in run else ""
    cores = f"{run['tiles']} core{'s' if run['tiles'] > 1 else ''}"
    return f"`{run['command']}` on {cores} ({run['processor']}, {run['instruction_set']}{peak}{compiler}), {run['date']}:\n\n"


def steps(run):
    others = [name for name in OTHERS if any(name in model["others_us"] for model in run["models"])]
    titles = ["training step", "MFLOP", "compile", "1 tile", f"{run['tiles']} tiles", "of peak"]
    titles += [OTHERS[name] for name in others] + ["bf16", "batch 1", "batch 256"]
    rows = []
    for model in run["models"]:
        step = model["step_us"]
        ratios = [f"{model['others_us'][name] / step:.1f} x" if name in model["others_us"] else "" for name in others]
        rows.append([f"`{model['model']}`", f"{model['megaflops']:,.0f}", f"{model['compile_ms']:.1f} ms",
                     time(model["one_tile_us"]), time(step), f"{100 * model['of_peak']:.0f} %", *ratios,
                     f"{step / model['mixed_bfloat16_us']:.2f} x", time(model["latency_us"]),
                     f"{model['samples_per_second']:,.0f}/s"])
    return origin(run) + table(titles, rows)


def kernels(run, name):
    model = next(model for model in run["models"] if model["model"] == name)
    timed = [kernel for kernel in model["kernels"] if kernel["op"] != "feed"]
    total = sum(kernel["microseconds"] for kernel in timed)
    rows = [[f"`{kernel['op']}`", kernel["name"], f"{kernel['microseconds']:.0f} us",
             f"{100 * kernel['microseconds'] / total:.0f} %"]
            for kernel in timed if kernel["microseconds"] >= 0.02 * total]
    return f"A step of `{name}`, {run['tiles']} tiles, {run['instruction_set']}, what takes at least 2 %:\n\n" + table(
        ["kernel", "of", "time", "share"], rows)


def sets(wide, narrow):
    titles = ["of its own peak", f"{wide['instruction_set']}, {wide['peak_gflops']:.0f} GFLOP/s",
              f"{narrow['instruction_set']}, {narrow['peak_gflops']:.0f} GFLOP/s", "ratio"]
    rows = []
    for first in wide["models"]:
        second = next((model for model in narrow["models"] if model["model"] == first["model"]), None)
        if second is not None:
            rows.append([f"`{first['model']}`", f"{time(first['step_us'])}, {100 * first['of_peak']:.0f} %",
                         f"{time(second['step_us'])}, {100 * second['of_peak']:.0f} %",
                         f"{100 * second['of_peak'] / first['of_peak']:.0f} %"])
    return table(titles, rows)


def scaling(run):
    counts = sorted({entry["tiles"] for model in run["models"] for entry in model["times"]})
    rows = []
    if "peaks" in run:
        peaks = [entry["gflops"] for entry in run["peaks"]]
        rows.append(["GFLOP/s of the machine"] + [f"{peak:,.0f}" for peak in peaks] + ["", f"{peaks[-1] / peaks[0]:.1f} x"])
    for model in run["models"]:
        times = {entry["tiles"]: entry["step_us"] for entry in model["times"]}
        lowest = min(times.values())
        chosen = f"{model['chosen_us']:,.0f}" + (f" on {model['chosen_tiles']}" if "chosen_tiles" in model else "")
        rows.append([f"`{model['model']}`"] + [
            "" if count not in times else f"**{times[count]:,.0f}**" if times[count] == lowest else f"{times[count]:,.0f}"
            for count in counts] + [chosen, f"{times[1] / lowest:.1f} x"])
    return origin(run) + table(["tiles"] + [str(count) for count in counts] + ["`tiles = 0`", "gain"], rows)


def devices(run):
    lines = run["steps_us"]
    names = [name for name in ORDER if any(name in times for times in lines.values())]
    rows = [[title] + [f"{times[name]:,.0f}" if times[name] >= 100 else f"{times[name]:.1f}" if name in times else ""
                       for name in names] for title, times in lines.items()]
    head = f"`{run['command']}` ({run['date']}, us):\n\n"
    return head + table([""] + [f"`{name}`" for name in names], rows)


def made(folder, kind, words):
    def read(name):
        return json.loads((folder / name).read_text())
    words = words.split()
    if kind == "kernels":
        return kernels(read(words[0]), words[1])
    return {"steps": steps, "sets": sets, "scaling": scaling, "devices": devices}[kind](*map(read, words))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="compare the page instead of writing it")
    parser.add_argument("root", nargs="?", default=pathlib.Path(__file__).resolve().parent.parent, type=pathlib.Path)
    arguments = parser.parse_args()
    page = arguments.root / "docs" / "performance.md"
    old = page.read_text()
    new = BLOCK.sub(lambda found: found[1] + made(page.with_suffix(""), found[2], found[3]) + "\n" + found[4], old)
    if not BLOCK.search(old):
        sys.exit(f"{page} names no table; see tools/document_performance.py")
    if not arguments.check:
        page.write_text(new)
    elif new != old:
        sys.exit("docs/performance.md is not made from docs/performance/*.json; run tools/document_performance.py")


if __name__ == "__main__":
    main()
