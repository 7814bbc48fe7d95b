# SPDX-License-Identifier: Apache-2.0
"""docs/performance.md has the figures of docs/performance/*.json, and a page that has others is found."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
ARM = {"date": "2026-01-02", "processor": "P", "compiler": "12.2", "instruction_set": "neon", "peak_gflops": 160.4, "models": [
    {"model": "mlp", "megaflops": 1234, "step_us": 80, "of_peak": 0.5, "mixed_bfloat16_us": 40, "others_us": {"torch": 100}}]}
TWO = ARM | {"models": [ARM["models"][0] | {"others_us": {"torch": 100, "jax": 200}}]}
SCALING = {"tiles": 4, "models": [{"model": "lenet", "times": [{"tiles": 1, "step_us": 12000}, {"tiles": 4, "step_us": 4000}]}]}
GPU = {"date": "2026-01-03", "command": "train_step --backend cuda", "steps_us": {
    "cuda float32": {"mlp": 6.25, "lenet": 30}, "cuda tf32": {"mlp": 5, "lenet": 30}, "torch graph": {"mlp": 12.5, "lenet": 60},
    "jax scan": {"mlp": 25, "lenet": 90}, "jax scan, tf32": {"mlp": 15, "lenet": 15}}}
MADE = """Before.

<!-- summary two.json scaling.json gpu.json -->
| training step | 2 cores | of peak | PyTorch | JAX | 4 cores | gain over 1 | H200 | PyTorch graph | JAX | JAX, both in tf32 |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
| `mlp` | 80 us | 50 % | 1.2 x | 2.5 x |  |  | 6.2 us | 2.0 x | 4.0 x | 3.0 x |
| `lenet` |  |  |  |  | 4.00 ms | 3.0 x | 30 us | 2.0 x | 3.0 x | 0.5 x |
<!-- end -->
Between.
<!-- processors arm.json -->
1. P, neon, multiply-add peak 160 GFLOP/s, g++ 12.2, 2026-01-02

| training step | MFLOP | 1: step | of peak | bf16 | PyTorch |
| --- | --- | --- | --- | --- | --- |
| `mlp` | 1,234 | 80 us | 50 % | 2.00 x | 1.2 x |
<!-- end -->
<!-- devices gpu.json -->
`train_step --backend cuda` (2026-01-03, us):

|  | `mlp` | `lenet` |
| --- | --- | --- |
| cuda float32 | 6.2 | 30.0 |
| cuda tf32 | 5.0 | 30.0 |
| torch graph | 12.5 | 60.0 |
| jax scan | 25.0 | 90.0 |
| jax scan, tf32 | 15.0 | 15.0 |
<!-- end -->
After.
"""
PAGE = """Before.

<!-- summary two.json scaling.json gpu.json -->
<!-- end -->
Between.
<!-- processors arm.json -->
An old table.
<!-- end -->
<!-- devices gpu.json -->
<!-- end -->
After.
"""


class DocumentPerformance(unittest.TestCase):
    def run_on(self, root, *options):
        return subprocess.run([sys.executable, ROOT / "tools/document_performance.py", *options, root],
                              capture_output=True, text=True)

    def test_the_page_is_made_from_the_measurements(self):
        ran = self.run_on(ROOT, "--check")
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))

    def test_a_table_of_the_page_is_made_of_every_measurement(self):
        page = (ROOT / "docs/performance.md").read_text()
        named = {word for found in re.findall(r"^<!-- (.*) -->$", page, re.MULTILINE) for word in found.split()[1:]}
        self.assertEqual({path.name for path in (ROOT / "docs/performance").iterdir()}, named)

    def test_tables_are_written_and_other_figures_are_found(self):
        with tempfile.TemporaryDirectory() as folder:
            docs = pathlib.Path(folder) / "docs"
            (docs / "performance").mkdir(parents=True)
            for name, run in {"two": TWO, "arm": ARM, "scaling": SCALING, "gpu": GPU}.items():
                (docs / "performance" / f"{name}.json").write_text(json.dumps(run))
            page = docs / "performance.md"
            page.write_text(PAGE)
            error = "docs/performance.md is not made from docs/performance/*.json; run tools/document_performance.py\n"
            ran = self.run_on(folder, "--check")
            self.assertEqual((ran.returncode, ran.stderr), (1, error))
            self.assertEqual(self.run_on(folder).returncode, 0)
            self.assertEqual(page.read_text(), MADE)
            self.assertEqual(self.run_on(folder, "--check").returncode, 0)
            page.write_text(MADE.replace("4.00 ms", "3.90 ms"))
            ran = self.run_on(folder, "--check")
            self.assertEqual((ran.returncode, ran.stderr), (1, error))


if __name__ == "__main__":
    unittest.main()
