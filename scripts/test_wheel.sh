#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Build the Python module by pip and use it in clean virtual environments as a stranger would:
#
#   scripts/test_wheel.sh [PYTHON]     with this interpreter, or the python3 of PATH
#
# Where the package index cannot be reached, only the messages about that are tested. The backend for GPUs is left out.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { echo "test_wheel: $*"; }

python=$(command -v "${1:-python3}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PYTHONDONTWRITEBYTECODE=1 CMAKE_ARGS="-DPANDO_WITH_CUDA=OFF"
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
! command -v ccache >/dev/null || export CMAKE_CXX_COMPILER_LAUNCHER=ccache

scripts/install.sh g++ libfmt-dev
[ "$python" != /usr/bin/python3 ] || scripts/install.sh python3-dev python3-venv

# expect TEXT COMMAND...: the command fails, and says this in a line of its own
expect() {
    local text=$1
    shift
    if "$@" >"$work/said" 2>&1; then say "this should have failed: $*"; return 1; fi
    tr -s ' \n' ' ' <"$work/said" | grep -qF -- "$text" || { cat "$work/said"; say "this was not said: $text"; return 1; }
}

# environment NAME [REQUIREMENT...]: a clean virtual environment with nothing but that
environment() {
    "$python" -m venv "$work/$1"
    [ $# -eq 1 ] || "$work/$1/bin/pip" install --quiet "${@:2}"
}

expect "wheel: cannot install auditwheel: is the package index within reach? Without it: pip install --no-build-isolation ." \
    env PIP_NO_INDEX=1 PIP_FIND_LINKS= scripts/wheel.sh "$python"
expect "Pando needs the library fmt, which was not found (Debian: apt install libfmt-dev)" \
    cmake -S . -B "$work/no_fmt" -G Ninja -DCMAKE_DISABLE_FIND_PACKAGE_fmt=ON
expect "or pybind11 were not found (Debian: apt install python3-dev pybind11-dev)" \
    cmake -S . -B "$work/no_pybind11" -G Ninja -DPANDO_PYTHON=ON -DPANDO_PYTHON_EXECUTABLE="$python" -DPANDO_WITH_CUDA=OFF \
    -DCMAKE_DISABLE_FIND_PACKAGE_pybind11=ON
say "what is missing is named"

environment index
if ! "$work/index/bin/pip" download --quiet --no-deps --dest "$work" pybind11 >"$work/log" 2>&1; then
    say "the package index cannot be reached, so no wheel is built: $(tail -n 1 "$work/log")"
    exit 0
fi

rm -rf build/wheels
scripts/wheel.sh "$python"
wheel=$(echo build/wheels/pando-*.whl)

# What a user does first, on MNIST if its files are here. The argument is when the program began.
data=mnist
scripts/fetch_data.sh mnist || { say "MNIST is not here; drawn digits take its place"; data=synthetic_digits; }
cat >"$work/train.py" <<END
import sys
import time

import numpy
import pando
from pando import keras


class FirstBar(keras.callbacks.Callback):
    seconds = None

    def on_train_batch_end(self, batch, logs=None):
        self.seconds = self.seconds or time.time() - float(sys.argv[1])


(x, y), (x_test, y_test) = keras.datasets.$data.load_data()
model = keras.Sequential([keras.layers.Flatten(input_shape=(28, 28)), keras.layers.Rescaling(1 / 255),
                          keras.layers.Dense(128, activation="relu"), keras.layers.Dense(10)])
model.compile(optimizer="adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
first = FirstBar()
model.fit(x, y, epochs=1, batch_size=64, callbacks=[first], verbose=0)
accuracy = model.evaluate(x_test, y_test, verbose=0)[1]
assert pando.__file__.startswith(sys.prefix), pando.__file__
assert accuracy > 0.9, accuracy
print(f"NumPy {numpy.__version__}: accuracy {accuracy:.3f}, the first bar after {first.seconds:.1f} s")
END

# train NAME: in this environment, in a folder that knows nothing of this one
train() { say "$1: $(cd "$work" && env -u PYTHONPATH "$work/$1/bin/python" "$work/train.py" "$(date +%s.%N)")"; }

# Its oldest NumPy is the first that pip finds in a file for this Python: older ones would have to be compiled.
oldest_numpy() {
    local version
    for version in 1.19.3 1.21.6 1.22.4 1.23.5 1.26.4; do
        if "$work/index/bin/pip" download --quiet --no-deps --only-binary :all: --dest "$work" "numpy==$version" >/dev/null 2>&1; then
            echo "$version"
            return
        fi
    done
}
environment newest "$wheel"
train newest
oldest=$(oldest_numpy)
[ -z "$oldest" ] || { environment oldest "$wheel" "numpy==$oldest"; train oldest; }

# What is left out says so, and what else there is to do.
cat >"$work/left_out.py" <<'END'
import os

from pando import keras

try:
    keras.datasets.mnist.load_data()
except ValueError as error:
    assert "it cannot be downloaded: this Pando was built without libcurl (libcurl4-openssl-dev); put the four files into a " \
        "folder and give it as the directory, or set PANDO_DATA to the folder that holds mnist/" in str(error), error
else:
    assert os.path.exists("/usr/share/datasets/mnist"), "there is no MNIST to be loaded"
END
env -u PANDO_DATA HOME="$work/home" XDG_CACHE_HOME="$work/cache" "$work/newest/bin/python" "$work/left_out.py"

# From the sources, with what pip brings for the build. With the wheel's options little is compiled again.
environment sources
CMAKE_ARGS="$CMAKE_ARGS -DPANDO_WITH_CURL=OFF -DPANDO_WITH_CAIRO=OFF" "$work/sources/bin/pip" install --quiet .
train sources
say "$(basename "$wheel") and pip install . train networks"
