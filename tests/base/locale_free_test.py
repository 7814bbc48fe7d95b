# SPDX-License-Identifier: Apache-2.0
"""Nothing in the library or the program follows the locale of its process: files and results are the same everywhere.

A locale may write 0,5 for 0.5 and i for I; the functions below read, write or compare as it does.
"""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLLOWS_LOCALE = re.compile(
    r"\b(strto(d|f|ld)|wcsto(d|f|ld)|atof|sto(d|f|ld)|(v|s|f|vs|vf)?scanf|setlocale|imbue|std::locale"
    r"|to(lower|upper)|is(alpha|alnum|digit|space|print|punct|upper|lower)|strftime|strcoll)\s*\("
    r"|printf\s*\([^;]*%[-+ #0-9.*]*[aefgAEFG]|\{:[^}\"]*L\}")


def code_of(path):
    """Each line of a source file with its number, without comments."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        yield number, line.split("//")[0]


class LocaleFree(unittest.TestCase):
    def test_no_source_follows_the_locale(self):
        found, files = [], 0
        for folder in "include", "src", "cli":
            for path in sorted((ROOT / folder).rglob("*.*")):
                if path.suffix in (".h", ".cpp"):
                    files += 1
                    found += [f"{path.relative_to(ROOT)}:{number}: {line.strip()}" for number, line in code_of(path)
                              if FOLLOWS_LOCALE.search(line)]
        self.assertGreater(files, 100)
        self.assertEqual(found, [], "use std::from_chars, std::to_chars or fmt, which know no locale")

    def test_the_check_sees_what_it_looks_for(self):
        for line in ("strtod(text, nullptr)", "std::stod(text)", 'printf("%8.3f", x)', 'fmt::format("{:.2L}", x)',
                     "std::tolower(c)", "isdigit (c)", "stream.imbue(l)"):
            self.assertRegex(line, FOLLOWS_LOCALE)
        for line in ('printf("%d %s", i, s)', "from_chars(a, b, c)", 'fmt::format("{:.2f}", x)', "custom_strtod_free"):
            self.assertNotRegex(line, FOLLOWS_LOCALE)


if __name__ == "__main__":
    unittest.main()
