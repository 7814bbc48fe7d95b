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

    def test_commits_are_found_and_numbers_and_words_are_not(self):
        self.write("README.md", "Since 4d8b8cb it takes 1443000 us.\n```\n$ git show 17a52e2deadbeef\n```\nmodel-00000042, effaced\n")
        self.write("docs/api/index.md", "(42027bf)\n")
        self.write("tests/notes.md", "4d8b8cb\n")
        advice = "looks like a commit; say what it brought, and leave the rest to git log"
        self.assertEqual(self.check(f"README.md:1: '4d8b8cb' {advice}", f"README.md:3: '17a52e2deadbeef' {advice}",
                                    f"docs/api/index.md:1: '42027bf' {advice}"), 1)

    def test_long_lines_are_found_outside_of_tables_code_and_targets_of_links(self):
        long, target = "x " * 65 + "y", "https://example.org/" + "x" * 130
        self.write("README.md", f"{long}\n\n| {long} |\n\n```\n{long}\n```\n[x]({target})\n{long[1:]}\n- {long}\n")
        self.assertEqual(self.check("README.md:1: 131 characters; break the line at 130 or before",
                                    "README.md:10: 133 characters; break the line at 130 or before"), 1)

    def test_pages_that_must_stay_short(self):
        self.write("docs/performance.md", "x\n" * 121)
        self.write("ARCHITECTURE.md", "x\n" * 131)
        self.write("README.md", "x\n" * 500)
        self.assertEqual(self.check("ARCHITECTURE.md: 131 lines; it may have 130, so move details to where they belong",
                                    "docs/performance.md: 121 lines; it may have 120, so move details to where they belong"), 1)
        self.write("docs/performance.md", "x\n" * 120)
        self.write("ARCHITECTURE.md", "x\n" * 130)
        self.assertEqual(self.check("documents: links, tables and examples are true of the sources"), 0)


if __name__ == "__main__":
    unittest.main()
