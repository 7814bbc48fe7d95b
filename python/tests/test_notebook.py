# SPDX-License-Identifier: Apache-2.0
"""The notebook runs from its first cell to its last, with bars in place, tables and curves."""
import json
import pathlib

import pytest

pytest.importorskip("nbconvert")
pytest.importorskip("ipykernel")
NOTEBOOK = pathlib.Path(__file__).parent.parent / "notebooks/first_network.ipynb"


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
