#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Build the Python module and run a first program with it:
#
#   scripts/python.sh                       the example python/examples/keras_mnist.py
#   scripts/python.sh SCRIPT [ARGUMENT...]  a script that may import tensorflow, keras, torch, torchvision or poptorch,
#                                           unchanged, on Pando
#
# Installs the missing Debian packages (as root or with sudo). What it runs stays in build/release/python; the last line
# says how to use it.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

case "${1:-}" in
    -*) echo "usage: scripts/python.sh [SCRIPT [ARGUMENT...]]" >&2; exit 2 ;;
esac
if [ $# -gt 0 ] && [ ! -e "$1" ]; then
    echo "python: cannot find the script $1" >&2
    exit 2
fi

"$root/scripts/install.sh" python3 python3-dev python3-numpy pybind11-dev
"$root/scripts/install.sh" --optional python3-tqdm python3-matplotlib
"$root/scripts/build.sh" pando_python

python=$(sed -n 's/^PANDO_PYTHON_EXECUTABLE:[A-Z]*=//p' "$root/build/release/CMakeCache.txt")
export PYTHONPATH=$root/build/release/python${PYTHONPATH:+:$PYTHONPATH}
if [ $# -gt 0 ]; then
    "$python" -m pando "$@"
else
    "$python" "$root/python/examples/keras_mnist.py"
fi
echo "To go on:  PYTHONPATH=$root/build/release/python $python -m pando SCRIPT" >&2
