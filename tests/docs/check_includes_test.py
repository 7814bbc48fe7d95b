# SPDX-License-Identifier: Apache-2.0
"""tools/check_includes.py finds includes and imports that go up, and circles, word for word, in small made-up trees."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

CHECK = pathlib.Path(__file__).resolve().parents[2] / "tools/check_includes.py"
GOOD = (0, ["includes: every layer keeps to its own"])


class CheckIncludes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.write("__init__.py", "from pando import _core\nfrom pando.core import ops\n")
        for package in ("core", "tensors", "keras", "tf", "tf/compat"):
            self.write(f"{package}/__init__.py", "")
        self.write("core/ops.py", "from pando._core import Error\n")
        self.write("tensors/tensor.py", "from pando import _core\nfrom pando.core import ops\n")
        self.write("keras/layers.py", "from pando.tensors.tensor import Tensor\n")
        self.write("keras/models.py", "from pando.keras.layers import Dense\n")
        self.write("tf/nn.py", "def dropout():\n    from pando.keras.layers import Dropout\n")

    def write(self, file, text, folder="python/pando"):
        path = self.root / folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def check(self):
        result = subprocess.run([sys.executable, CHECK, self.root], capture_output=True, text=True)
        return result.returncode, result.stdout.splitlines()

    def test_imports_downwards_are_good(self):
        self.assertEqual(self.check(), GOOD)

    def test_an_import_upwards_is_found_wherever_it_is(self):
        wrong = (1, ["python/pando/keras/models.py:3: keras may not import tf (tf/nn.py)"])
        for text in ("import os\nclass Model:\n    from pando.tf import nn\n",
                     "\ndef summary():\n    from pando.tf.nn import relu\n",
                     "\nif True:\n    import pando.tf.nn as nn\n",
                     "\ndef summary():\n    from ..tf import nn\n",
                     "import typing\nif typing.TYPE_CHECKING:\n    from pando.tf import nn\n",
                     "import importlib\ndef summary():\n    importlib.import_module('pando.tf.nn')\n"):
            self.write("keras/models.py", text)
            self.assertEqual(self.check(), wrong, text)

    def test_no_package_imports_the_face_of_all(self):
        self.write("tf/errors.py", "from pando import Error\n")
        self.assertEqual(self.check(), (1, ["python/pando/tf/errors.py:1: tf may not import pando (__init__.py)"]))

    def test_a_circle_is_found_if_one_import_is_within_a_function(self):
        self.write("keras/layers.py", "def of_core():\n    from pando.keras import models\n")
        self.assertEqual(self.check(), (1, ["python/pando: these files import each other in a circle: "
                                            "keras/layers.py -> keras/models.py -> keras/layers.py"]))

    def test_a_circle_is_found_if_it_goes_through_the_face_of_a_package(self):
        self.write("tf/compat/__init__.py", "from pando.tf.compat import graph\n")
        self.write("tf/compat/graph.py", "from pando.tf import nn\n")
        self.write("tf/compat/names.py", "")
        self.write("tf/nn.py", "def gradient():\n    from pando.tf.compat.names import NAMES\n")
        self.assertEqual(self.check(), (1, ["python/pando: these files import each other in a circle: "
                                            "tf/compat/__init__.py -> tf/compat/graph.py -> tf/nn.py -> "
                                            "tf/compat/__init__.py"]))

    def test_what_type_checkers_read_and_what_faces_load_later_is_not_a_circle(self):
        self.write("keras/layers.py", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n"
                                      "    from pando.keras.models import Model\n")
        self.write("tf/__init__.py", "LAZY = {'later': 'pando.tf.later'}\n")
        self.write("tf/later.py", "import pando.tf as tf\n")
        self.assertEqual(self.check(), GOOD)

    def test_a_package_without_a_place_is_found(self):
        self.write("jax/__init__.py", "")
        self.assertEqual(self.check(), (1, ["python/pando/jax/__init__.py: there is no package 'jax' in "
                                            "tools/check_includes.py"]))

    def test_an_include_upwards_is_found(self):
        self.write("graph/graph.h", "#include \"base/shape.h\"\n", "src")
        self.write("base/shape.h", "", "src")
        self.assertEqual(self.check(), GOOD)
        self.write("base/shape.h", "#include \"graph/graph.h\"\n", "src")
        self.assertEqual(self.check(), (1, ["src/base/shape.h: base may not include graph (graph/graph.h)"]))


if __name__ == "__main__":
    unittest.main()
