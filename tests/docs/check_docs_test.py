# SPDX-License-Identifier: Apache-2.0
"""What tools/check_docs.py finds in a small project, word for word."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

CHECK = pathlib.Path(__file__).resolve().parents[2] / "tools/check_docs.py"

PAGE = """# Environment
## Environment variables
| `PANDO_DATA` | a folder |
## Exit codes
| 0 | done |
## Build options
| `PANDO_BUILD_CLI` | builds `pando` |
"""


class CheckDocs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.write("docs/environment.md", PAGE)
        self.write("src/data.cpp", 'const char* folder = std::getenv("PANDO_DATA");\n')
        self.write("CMakeLists.txt", 'option(PANDO_BUILD_CLI "Build the program" ON)\n')
        self.write("cli/every_command.cpp", 'const List& exit_statuses() {\n  return {{"0", "done"}};\n}\n')

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def check(self, *expected):
        result = subprocess.run([sys.executable, CHECK, self.root], capture_output=True, text=True)
        self.assertEqual(result.stdout.splitlines(), list(expected), result.stderr)
        return result.returncode

    def test_a_true_project_passes(self):
        self.write("README.md", "See [the page](docs/environment.md#exit-codes) and [there](https://example.org/x).\n")
        self.assertEqual(self.check("documents: links, tables and examples are true of the sources"), 0)

    def test_broken_links_are_named(self):
        self.write("README.md", "[a](docs/none.md), [b](docs/environment.md#none), [c](#none), `[d](none)`\n")
        self.assertEqual(self.check("README.md: the link to docs/none.md leads nowhere",
                                    "README.md: docs/environment.md has no heading #none",
                                    "README.md: the page has no heading #none"), 1)

    def test_variables_that_only_the_sources_or_only_the_page_know(self):
        self.write("src/data.cpp", 'const char* mirror = std::getenv("PANDO_MIRROR");\n')
        self.write("scripts/build.sh", 'echo "${JOBS:-2}"\n')
        self.assertEqual(self.check("docs/environment.md: the variable JOBS (scripts/build.sh) is missing",
                                    "docs/environment.md: the variable PANDO_MIRROR (src/data.cpp) is missing",
                                    "docs/environment.md: there is no variable PANDO_DATA"), 1)

    def test_build_options_and_exit_statuses(self):
        self.write("CMakeLists.txt", 'option(PANDO_BUILD_TESTS "Build the tests" ${TOP})\n')
        self.write("cli/every_command.cpp", 'const List& exit_statuses() {\n  return {{"0", "done"}, {"1", "failed"}};\n}\n')
        self.assertEqual(self.check("docs/environment.md: the build option PANDO_BUILD_TESTS is missing",
                                    "docs/environment.md: there is no build option PANDO_BUILD_CLI",
                                    "docs/environment.md: the exit status 1: failed is missing"), 1)

    def test_lines_of_tutorials_that_no_example_has(self):
        self.write("examples/train.cpp", "int main() {\n  train(1,\n        2);\n}\n")
        self.write("docs/examples/train.md", "```cpp\ntrain(1,\n      2);\ntest();\n```\n```\n$ train\n```\n")
        self.assertEqual(self.check("docs/examples/train.md: examples/ has no line 'test();'"), 1)


if __name__ == "__main__":
    unittest.main()
