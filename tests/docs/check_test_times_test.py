# SPDX-License-Identifier: Apache-2.0
"""tools/check_test_times.py names tests that take too large a share of a landing, word for word."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

CHECK = pathlib.Path(__file__).resolve().parents[2] / "tools/check_test_times.py"

TESTS = """
add_test(fast "true")
add_test(slow "true")
add_test(slow_for_a_reason "true")
set_tests_properties(slow_for_a_reason PROPERTIES LABELS "quick;long")
"""


class CheckTestTimes(unittest.TestCase):
    def check(self, seconds):
        with tempfile.TemporaryDirectory() as folder:
            build = pathlib.Path(folder)
            (build / "CTestTestfile.cmake").write_text(TESTS)
            cases = "".join(f'<testcase name="{name}" time="{time}" status="run"/>' for name, time in seconds.items())
            (build / "times.xml").write_text(f"<testsuite>{cases}</testsuite>")
            result = subprocess.run([sys.executable, "-B", CHECK, build], capture_output=True, text=True)
            return result.returncode, result.stdout.splitlines()

    def test_only_the_slow_one_without_a_label_is_named(self):
        status, lines = self.check({"fast": 4, "slow": 6, "slow_for_a_reason": 90})
        self.assertEqual(status, 1)
        self.assertEqual(lines, [
            "The slowest tests, in seconds and as a share of all:",
            "    90.0   90%  slow_for_a_reason",
            "     6.0    6%  slow",
            "     4.0    4%  fast",
            "slow takes more than 5% of the time of all tests: divide it, make it faster, or label it `thorough`, so that only "
            "scripts/test.sh all runs it"])

    def test_a_slow_machine_changes_nothing(self):
        for factor in (1, 100):
            status, _ = self.check({"fast": 3 * factor, "slow": 4 * factor, "slow_for_a_reason": 93 * factor})
            self.assertEqual(status, 0)


if __name__ == "__main__":
    unittest.main()
