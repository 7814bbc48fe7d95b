#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Run the tutorials that Pando implements, unchanged and with all data, and check what they must reach:
#
#   scripts/test_documents.sh BUILD_FOLDER [NUMBER...]     e.g. build/release 000 003; all five by default
#
# They lie beside the project, in ../shared/seeds; where they are not, there is nothing to do. It takes about ten minutes on
# two cores. The build folder has the Python module and, for 003, the C++ example session_fashion.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case "${1:-}" in
    "" | -*) echo "usage: scripts/test_documents.sh BUILD_FOLDER [NUMBER...]" >&2; exit 2 ;;
esac
[ -d ../shared/seeds ] || { echo "there is no ../shared/seeds: nothing to do"; exit 0; }
build=$(realpath "$1")
shift
cmake --build "$build" --target pando_python session_fashion >/dev/null
scripts/fetch_data.sh
python=$(sed -n 's/^PANDO_PYTHON_EXECUTABLE:[A-Z]*=//p' "$build/CMakeCache.txt")
PYTHONPATH=$build/python "$python" -B python/tests/whole_documents.py --build "$build" "$@"
