# SPDX-License-Identifier: Apache-2.0
"""What tools/document_api.py reads from headers and examples, and that every entry of the reference is complete."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import document_api  # noqa: E402

HEADER = """// Layers.
#pragma once

namespace pando {
class Other;
}

namespace pando::layers {

struct DenseOptions {
  // By name.
  Activation activation = {};
  double first = 0.5, second = 1;
};
// Fully connected.
struct PANDO_API Dense : Layer {
  explicit Dense(std::int64_t units, const DenseOptions& options = {});
};

// One line,
// then another.
PANDO_API Layer Flatten(int axis = 1);

template <class M>
Model<M> made(M& module) {
  return Model<M>(module);
}

}  // namespace pando::layers
"""

EXAMPLE = """TEST(Example, One) {
  std::vector<Layer> list = {
      layers::Flatten(
          2),
      layers::Dense(3),
  };
  // Dense(7) in a comment is not an example.
  Tensor x =
      layers::Made(1)(x);
}
"""


class DocumentApi(unittest.TestCase):
    def test_declarations_with_namespace_kind_and_comment(self):
        found = [(item.namespace, item.name, item.kind, item.comment) for item in document_api.declarations(HEADER)]
        self.assertEqual(found, [("pando::layers", "DenseOptions", "options", ""),
                                 ("pando::layers", "Dense", "class", "Fully connected."),
                                 ("pando::layers", "Flatten", "function", "One line, then another."),
                                 ("pando::layers", "made", "function", "")])

    def test_options_with_their_defaults(self):
        options, dense = list(document_api.declarations(HEADER))[:2]
        self.assertEqual(document_api.option_table(options).split("\n")[2:],
                         ["| `activation` | `Activation` | `\"linear\"` | By name. |",
                          "| `first` | `double` | `0.5` |  |", "| `second` | `double` | `1` |  |"])
        self.assertEqual(document_api.signatures(dense), ["Dense(std::int64_t units, const DenseOptions& options = {})"])

    def test_examples_are_statements_or_elements_of_lists(self):
        self.assertEqual(document_api.example_of("Made", EXAMPLE), "Tensor x =\n    layers::Made(1)(x);")
        self.assertEqual(document_api.example_of("Dense", EXAMPLE), "layers::Dense(3)")
        self.assertEqual(document_api.example_of("None", EXAMPLE), "")

    def test_broken_links_of_pages_are_found(self):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder) / "a.html"
            page.write_text('<a href="b.html">b</a> <a href="#here">c</a> <a href="#none">d</a> <p id="here">')
            self.assertEqual(list(document_api.check_links(pathlib.Path(folder))),
                             ["a.html: the link to b.html leads nowhere", "a.html: a.html has no #none"])

    def test_comments_become_doxygens(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "a.h"
            path.write_text("// SPDX-License-Identifier: Apache-2.0\n// The file.\nenum E {\n  a,  // the <first>\n};\n"
                            "class C {\n public:\n  // Public.\n  int f();\n\n private:\n  int x_;\n};\n")
            self.assertEqual(document_api.filtered(path),
                             "/// \\file\n/// The file.\nenum E {\n  a,  ///< the \\<first>\n};\n"
                             "class C {\n public:\n  /// Public.\n  int f();\n\n};\n")

    def test_every_entry_of_the_reference_has_a_comment_and_an_example(self):
        with tempfile.TemporaryDirectory() as folder:
            result = subprocess.run([sys.executable, ROOT / "tools/document_api.py", "--pages", folder],
                                    capture_output=True, text=True)
            self.assertEqual((result.stdout, result.stderr, result.returncode), ("", "", 0))


if __name__ == "__main__":
    unittest.main()
