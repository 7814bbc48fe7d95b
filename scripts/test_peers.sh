#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Keras beside Keras: install Keras 3 into a virtual environment, build/peers/venv, and compare what Pando computes with what
# it computes (python/tests/peers):
#
#   scripts/test_peers.sh [BUILD_FOLDER [ARGUMENT...]]     e.g. build/release -k Conv2D; the arguments are pytest's
#
# The build folder, build/release by default, gets the Python module. What Keras answers is kept in build/peers until it or the
# cases change. A machine that cannot reach the Python package index says so, and that is not an error.
#
# Exit codes: 0  both agree, but for what differs on purpose, or there is no Keras 3 here
#             1  they do not
#             2  wrong usage
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case "${1:-}" in
    -*) echo "usage: scripts/test_peers.sh [BUILD_FOLDER [ARGUMENT...]]" >&2; exit 2 ;;
esac
build=$(realpath -m "${1:-build/release}")
shift $(($# > 0))
folder=$PWD/build/peers
venv=$folder/venv
mkdir -p "$folder"

# The newest Keras 3 with PyTorch, whose CPU build is enough. An environment that is there already is used again.
install() {
    scripts/install.sh --optional python3-venv
    rm -rf "$venv"
    python3 -m venv "$venv" || return 1
    "$venv/bin/pip" install --quiet --retries 2 torch==2.13.0 || return 1
    "$venv/bin/pip" install --quiet --retries 2 keras || return 1
}
if ! KERAS_BACKEND=torch "$venv/bin/python" -c "import keras, torch" 2>/dev/null && ! install >"$folder.log" 2>&1; then
    echo "Keras 3 could not be installed from the Python package index, so nothing is compared:"
    grep -v "^WARNING" "$folder.log" | tail -n 1 || true
    exit 0
fi

scripts/install.sh g++ cmake ninja-build libfmt-dev python3-numpy python3-dev pybind11-dev python3-pytest
[ -f "$build/CMakeCache.txt" ] || cmake --preset release -B "$build" >/dev/null
cmake --build "$build" --target pando_python >/dev/null
python=$(sed -n 's/^PANDO_PYTHON_EXECUTABLE:[A-Z]*=//p' "$build/CMakeCache.txt")
"$python" -B python/tests/peers/differences.py
PYTHONPATH=$build/python "$python" -B -m pytest -q -p no:cacheprovider python/tests/peers/suite.py "$@"
echo "Keras beside Keras: $SECONDS s"
