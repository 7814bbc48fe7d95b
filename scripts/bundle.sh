#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Make one archive that builds and tests Pando on a machine without package sources and without a network:
#
#   scripts/bundle.sh        of the last commit; writes build/pando-bundle.tar.gz
#
# In addition to the project it holds, in its folder bundle/, the headers of fmt, the source of GoogleTest and MNIST. The
# machine needs g++ 12 or clang 14 and CMake 3.25, or newer ones; scripts/offline.sh in it does the rest. RapidCheck is not in it:
# the test program random_graphs is left out, and compiler_tests check the same on graphs of fixed seeds.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { echo "bundle: $*" >&2; }

scripts/install.sh libfmt-dev googletest
scripts/fetch_data.sh mnist || { say "needs MNIST"; exit 1; }
header=$(echo '#include <fmt/format.h>' | g++ -E -M -x c++ - | tr ' ' '\n' | grep '/fmt/format\.h$')
for mnist in ${PANDO_DATA:+"$PANDO_DATA/mnist"} "${XDG_CACHE_HOME:-${HOME:-}/.cache}/pando/mnist"; do
    [ ! -d "$mnist" ] || break
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
name=pando-bundle
git archive --prefix="$name/" HEAD | tar -C "$work" -x

bundle=$work/$name/bundle
mkdir -p "$bundle/fmt/include" "$bundle/data/mnist"
cp -r "$(dirname "$header")" "$bundle/fmt/include"
cat >"$bundle/fmt/fmt-config.cmake" <<'END'
# fmt from its headers alone.
add_library(fmt::fmt INTERFACE IMPORTED)
target_include_directories(fmt::fmt INTERFACE ${CMAKE_CURRENT_LIST_DIR}/include)
target_compile_definitions(fmt::fmt INTERFACE FMT_HEADER_ONLY)
# g++ 13 and newer ones warn about memory inside fmt.
target_compile_options(fmt::fmt INTERFACE "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-array-bounds;-Wno-stringop-overflow>")
END
cp -r /usr/src/googletest "$bundle"
# Not compressed, so that a Pando without zlib can read it.
for file in {train-images-idx3,train-labels-idx1,t10k-images-idx3,t10k-labels-idx1}-ubyte; do
    gzip -dcf "$mnist/$file"* >"$bundle/data/mnist/$file"
done

mkdir -p build
tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner -c "$name" | gzip -n >"build/$name.tar.gz"
echo "build/$name.tar.gz: $(($(stat -c %s "build/$name.tar.gz") >> 20)) MiB; unpack it and run scripts/offline.sh"
