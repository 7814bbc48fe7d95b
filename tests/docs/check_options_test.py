# SPDX-License-Identifier: Apache-2.0
"""tools/check_options.py finds the fields of option structs that src/ does not read, and those that no test sets."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

CHECK = pathlib.Path(__file__).resolve().parents[2] / "tools/check_options.py"
HEADER = """// What is made.
namespace pando {
struct CakeOptions {
  // How many.
  std::int64_t layers = 2, eggs = 3;
  std::vector<std::string> spices = {};
  std::optional<double> sugar = {};
};
struct Cake {
  explicit Cake(const CakeOptions& options = {});
};
struct BakeOptions {
  CakeOptions cake = {};
  // It says so itself.
  bool hot = false, warm = false;
  bool is_heated() const { return hot || warm; }
};
void bake(const BakeOptions& options);
}
"""


class CheckOptions(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.write("include/pando/frontends/kitchen/cake.h", HEADER)
        self.write("src/cake.cpp", "Cake::Cake(const CakeOptions& o) { mix(o.layers, o.eggs, o.spices, *o.sugar); }\n"
                                   "void bake(const BakeOptions& o) { Cake(o.cake); }\n")
        self.write("tests/cake_test.cpp", "Cake({.layers = 1, .eggs = 1, .sugar = 2});\n"
                                          "bake({.cake = {.spices = {}}, .hot = true, .warm = true});\n")

    def write(self, path, text):
        path = self.root / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def check(self):
        result = subprocess.run([sys.executable, "-B", CHECK, self.root], capture_output=True, text=True)
        return result.returncode, result.stdout.splitlines()

    def test_fields_that_are_read_and_tested_pass(self):
        self.assertEqual(self.check(), (0, ["options: 7 fields are read and tested"]))

    def test_a_field_that_is_not_read_is_named(self):
        self.write("src/cake.cpp", "Cake::Cake(const CakeOptions& o) { mix(o.layers, o.spices, *o.sugar); }  // o.eggs\n"
                                   "void bake(const BakeOptions& o) { Cake(o.cake); }\n")
        self.assertEqual(self.check(), (1, [
            "include/pando/frontends/kitchen/cake.h: CakeOptions.eggs is not read in src/: it would be ignored"]))

    def test_a_field_of_that_name_in_another_struct_does_not_count(self):
        self.write("src/cake.cpp", "Cake::Cake(const CakeOptions& o) { mix(o.layers, o.spices, *o.sugar); }\n"
                                   "void bake(const BakeOptions& o) { Cake(o.cake); }\n")
        self.write("src/omelette.cpp", "void fry(const Pan& pan) { pan.eggs.turn(); }\n")
        self.assertEqual(self.check(), (1, [
            "include/pando/frontends/kitchen/cake.h: CakeOptions.eggs is not read in src/: it would be ignored"]))

    def test_a_field_that_is_only_assigned_is_not_read(self):
        self.write("src/cake.cpp", "Cake::Cake(CakeOptions o) { o.eggs = 4; mix(o.layers, o.spices, *o.sugar); }\n"
                                   "void bake(const BakeOptions& o) { Cake(o.cake); }\n")
        self.assertEqual(self.check()[0], 1)

    def test_a_field_that_no_test_sets_is_named(self):
        self.write("tests/cake_test.cpp", "bake({.cake = {.layers = 1, .eggs = 1, .spices = {}}, .hot = true, .warm = true});\n")
        self.assertEqual(self.check(), (1, [
            "include/pando/frontends/kitchen/cake.h: no test sets CakeOptions.sugar; write one, or give a reason in EXCEPTIONS"]))


if __name__ == "__main__":
    unittest.main()
