# SPDX-License-Identifier: Apache-2.0
"""Workers: processes that mpirun starts train one model, with the bits of one process; copies are warned of."""
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

import pando

PACKAGES = str(pathlib.Path(pando.__file__).absolute().parent.parent)
MPIRUN = shutil.which("mpirun")
# For Open MPI in a container: more workers than cores, and the user root. Other MPIs ignore these.
ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
               "OMPI_MCA_btl_vader_single_copy_mechanism": "none", "PYTHONPATH": PACKAGES}

# Each process writes a file of its own: what several print may be mixed.
TRAIN = """
import os
import sys
import numpy as np
from pando import ipu, keras

workers = int(sys.argv[1])
config = ipu.config.IPUConfig()
config.auto_select_ipus = 2 // workers
config.configure_ipu_system()
strategy = ipu.ipu_multi_worker_strategy.IPUMultiWorkerStrategy if workers > 1 else ipu.ipu_strategy.IPUStrategy
x = np.sin(np.arange(53 * 4, dtype="float32")).reshape(53, 4)
with strategy().scope():
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.layers.Dense(8, activation="relu", input_shape=(4,)), keras.layers.Dropout(0.3),
                              keras.layers.Dense(2)])
    model.compile(optimizer="adam", loss="mse")
    model.fit(x, x[:, :2], batch_size=5, epochs=3, verbose=0)
    with open(os.path.join(sys.argv[2], str(os.getpid())), "wb") as file:
        file.write(b"".join(weight.tobytes() for weight in model.get_weights()))
"""

TORCH = """
import sys
from pando import poptorch
options = poptorch.Options()
options.Distributed.configureProcessId(int(sys.argv[1]), int(sys.argv[2]))
print(options.Distributed.processId, options.Distributed.numProcesses)
"""

needs_mpirun = pytest.mark.skipif(MPIRUN is None, reason="mpirun was not found")


def run_workers(count, program, *arguments, **environment):
    """What the workers print and say."""
    process = subprocess.run([MPIRUN, "-n", str(count), sys.executable, "-c", program, *arguments], text=True, capture_output=True,
                             env={**os.environ, **ENVIRONMENT, **environment}, timeout=300, check=False)
    if "workers need MPI, but there is no" in process.stderr:
        pytest.skip("this build has no MPI")
    assert process.returncode == 0, process.stdout + process.stderr
    return process


@needs_mpirun
def test_workers_train_one_model_with_the_bits_of_one_process(run_python, tmp_path):
    alone, together = tmp_path / "alone", tmp_path / "together"
    alone.mkdir()
    together.mkdir()
    run_python("-c", TRAIN, "1", str(alone))
    (weights,) = [file.read_bytes() for file in alone.iterdir()]
    assert len(weights) == 4 * (4 * 8 + 8 + 8 * 2 + 2)
    run_workers(2, TRAIN, "2", str(together))
    assert [file.read_bytes() for file in together.iterdir()] == [weights, weights]


@needs_mpirun
def test_copies_are_warned_of_once(tmp_path):
    text = "mpirun started 2 processes together, and each trains a model of its own"
    assert run_workers(2, TRAIN, "1", str(tmp_path)).stderr.count(text) == 1
    assert text not in run_workers(2, TRAIN, "1", str(tmp_path), PANDO_WORKERS="none").stderr


def test_one_process_is_no_worker(run_python):
    assert run_python("-c", TORCH, "0", "1").stdout == "0 1\n"
    refused = run_python("-c", TORCH, "1", "2", check=False)
    assert refused.returncode == 1
    assert "this process was started alone; start the program with mpirun -n COUNT PROGRAM" in refused.stderr
