#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`pando bench network` measures messages between workers, under mpirun and under `pando launch`, and keeps what it found
for `pando explain`; `pando bench --workers auto` measures steps of workers that train together.

Usage: bench_workers.py PANDO MPIRUN FOLDER
"""
import json
import os
import pathlib
import subprocess
import sys

from worker_runs import ENVIRONMENT, check

PANDO, MPIRUN, FOLDER = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
KEPT = FOLDER / "kept" / "measurements.json"
DIGITS = ["--tiles", "1", "--batch-size", "8", "--dataset", "synthetic_digits"]


def run(*words, expect=0):
    done = subprocess.run(words, env=ENVIRONMENT, text=True, capture_output=True, timeout=300)
    check(done.returncode == expect, f"{words} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done


def expect_network(workers, *start):
    KEPT.unlink(missing_ok=True)
    measured = json.loads(run(*start, PANDO, "bench", "network", "--json").stdout)
    check(measured["workers"] == workers and measured["hosts"] == 1, f"{workers} workers on a host are {measured}")
    check(measured["kept_in"] == str(KEPT), f"kept in {measured['kept_in']}")
    times = [size["pair_microseconds"] for size in measured["sizes"]]
    check(min(times) > 0 and times[-1] > times[0], f"16 MiB take no longer than a byte: {times}")
    kept = json.loads(KEPT.read_text())["network"]
    check(abs(kept["latency"] * 1e6 / measured["latency_microseconds"] - 1) < 1e-9, f"other figures are kept: {kept}")
    check(kept["bandwidth"] > 0 and kept["copies"] > 0 and kept["per_message"] >= 0, f"{kept}")
    print(f"bench network: {workers} workers")


def main():
    KEPT.parent.mkdir(parents=True, exist_ok=True)
    ENVIRONMENT["PANDO_MEASUREMENTS"] = str(KEPT)
    # `pando launch` starts the mpirun that it finds first.
    ENVIRONMENT["PATH"] = os.pathsep.join([str(pathlib.Path(MPIRUN).parent), ENVIRONMENT["PATH"]])
    expect_network(3, MPIRUN, "-n", "3")
    expect_network(2, PANDO, "launch", "-n", "2", "--restarts", "0", "--")
    table = run(MPIRUN, "-n", "2", PANDO, "bench", "network").stdout
    check(table.startswith("message ") and "2 workers on 1 host." in table and str(KEPT) in table, table)
    run(PANDO, "bench", "mlp", *DIGITS)
    together = json.loads(run(MPIRUN, "-n", "2", PANDO, "bench", "mlp", *DIGITS, "--workers", "auto", "--json").stdout)
    check(together["models"][0]["microseconds_per_step"] > 0, f"{together}")
    scaling = json.loads(run(PANDO, "explain", "mlp", *DIGITS, "--json").stdout)["scaling"]
    check([one["workers"] for one in scaling["updates"]] == [1, 2, 4, 8, 16, 32, 64], f"{scaling}")
    check("measured between 2 workers on 1 host" in scaling["network_source"], scaling["network_source"])
    check("pando bench mlp" in scaling["compute_source"], scaling["compute_source"])
    alone = run(MPIRUN, "-n", "1", PANDO, "bench", "network", expect=1)
    check("this process was started alone" in alone.stderr, alone.stderr)
    print("bench: steps of two workers; explain predicts from what was measured")


if __name__ == "__main__":
    main()
