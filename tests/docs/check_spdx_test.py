# SPDX-License-Identifier: Apache-2.0
"""tools/check_spdx.py finds files without a licence line, word for word, and adds it where it belongs."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

CHECK = pathlib.Path(__file__).resolve().parents[2] / "tools/check_spdx.py"


class CheckSpdx(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "a.cpp").write_text("// What it is.\nint a;\n")
        (self.root / "b.sh").write_text("#!/bin/sh\necho b\n")
        (self.root / "CMakeLists.txt").write_text("# SPDX-License-Identifier: Apache-2.0\nproject(c)\n")
        (self.root / "d.txt").write_text("data\n")

    def check(self, *options):
        result = subprocess.run([sys.executable, CHECK, *options, self.root], capture_output=True, text=True)
        return result.returncode, result.stdout.splitlines()

    def test_files_without_the_line_are_named_and_completed(self):
        line = "SPDX-License-Identifier: Apache-2.0"
        self.assertEqual(self.check(), (1, [
            f"a.cpp: the first line is not '// {line}'; tools/check_spdx.py --write adds it",
            f"b.sh: the first line is not '# {line}'; tools/check_spdx.py --write adds it"]))
        self.assertEqual(self.check("--write"), (0, ["licence: 3 files name theirs"]))
        self.assertEqual((self.root / "a.cpp").read_text(), f"// {line}\n// What it is.\nint a;\n")
        self.assertEqual((self.root / "b.sh").read_text(), f"#!/bin/sh\n# {line}\necho b\n")
        self.assertEqual(self.check(), (0, ["licence: 3 files name theirs"]))


if __name__ == "__main__":
    unittest.main()
