# SPDX-License-Identifier: Apache-2.0
"""The notebook runs from its first cell to its last, with bars in place, tables and curves."""
import json
import pathlib
import re
import types

import pytest
from conftest import needs_mnist

from pando.keras import html

pytest.importorskip("nbconvert")
pytest.importorskip("ipykernel")
NOTEBOOK = pathlib.Path(__file__).parent.parent / "notebooks/first_network.ipynb"


@needs_mnist
def test_the_notebook_runs(run_python, tmp_path):
    run_python("-m", "jupyter", "nbconvert", "--to", "notebook", "--execute", "--output-dir", str(tmp_path), str(NOTEBOOK),
               PANDO_TEST_SAMPLES="2000", JUPYTER_CONFIG_DIR=str(tmp_path), IPYTHONDIR=str(tmp_path))
    cells = [cell for cell in json.loads((tmp_path / NOTEBOOK.name).read_text())["cells"] if cell["cell_type"] == "code"]
    outputs = [output for cell in cells for output in cell["outputs"]]
    assert not [output for output in outputs if output["output_type"] == "error"]
    bar = "".join("".join(output["text"]) for output in outputs if output.get("name") == "stdout")
    assert "Epoch 3/3" in bar and "\x1b[" not in bar
    shown = ["".join(output["data"].get("text/html", "")) for output in outputs if "data" in output]
    assert any("<table" in html for html in shown) and any("<svg" in html for html in shown)


def test_the_notebook_is_stored_without_outputs():
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    assert all(not cell.get("outputs") for cell in cells)


@pytest.mark.parametrize("curves", [
    {"loss": [0.5]}, {"loss": [1.0, 1.0]}, {"loss": [0.0, 0.0]}, {"loss": [float("nan"), 2.0, float("inf"), 1e-8]},
    {"loss": [3e5, 2.0], "val_loss": [-1.0, 4.0], "accuracy": [0.1, 0.2]}, {"loss": list(range(100))}])
def test_curves_stay_inside_their_picture(curves):
    shown = html.history_html(types.SimpleNamespace(history=curves))
    assert shown.count("<svg") == len({name.removeprefix("val_") for name in curves}) and "nan" not in shown
    for x, y in re.findall(r"(?:points='| )(-?[\d.]+),(-?[\d.]+)", shown):
        assert 0 <= float(x) <= html._Frame.width and 0 <= float(y) <= html._Frame.height
    # Text and grid take the colour of the page, light or dark.
    assert "currentColor" in shown and "black" not in shown


def test_curves_without_values_are_not_drawn():
    assert "<svg" not in html.history_html(types.SimpleNamespace(history={"loss": [float("nan")]}))
