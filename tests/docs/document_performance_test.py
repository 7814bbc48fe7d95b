# SPDX-License-Identifier: Apache-2.0
"""docs/performance.md has the figures of docs/performance/*.json, and a page that has others is found."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
RUN = {"date": "2026-01-02", "command": "scaling", "processor": "P", "tiles": 2, "instruction_set": "avx2", "models": [
    {"model": "mlp", "chosen_tiles": 2, "chosen_us": 81,
     "times": [{"tiles": 1, "step_us": 1200}, {"tiles": 2, "step_us": 80}]}]}
PAGE = "Before.\n\n<!-- scaling run.json -->\n<!-- end -->\nAfter.\n"
MADE = """Before.

<!-- scaling run.json -->
`scaling` on 2 cores (P, avx2), 2026-01-02:

| tiles | 1 | 2 | `tiles = 0` | gain |
| --- | --- | --- | --- | --- |
| `mlp` | 1,200 | **80** | 81 on 2 | 15.0 x |

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

    def test_tables_are_written_and_other_figures_are_found(self):
        with tempfile.TemporaryDirectory() as folder:
            docs = pathlib.Path(folder) / "docs"
            (docs / "performance").mkdir(parents=True)
            (docs / "performance" / "run.json").write_text(json.dumps(RUN))
            page = docs / "performance.md"
            page.write_text(PAGE)
            error = "docs/performance.md is not made from docs/performance/*.json; run tools/document_performance.py\n"
            ran = self.run_on(folder, "--check")
            self.assertEqual((ran.returncode, ran.stderr), (1, error))
            self.assertEqual(self.run_on(folder).returncode, 0)
            self.assertEqual(page.read_text(), MADE)
            self.assertEqual(self.run_on(folder, "--check").returncode, 0)
            page.write_text(MADE.replace("**80**", "**79**"))
            ran = self.run_on(folder, "--check")
            self.assertEqual((ran.returncode, ran.stderr), (1, error))


if __name__ == "__main__":
    unittest.main()
