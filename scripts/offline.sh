#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Build and test Pando from the archive that scripts/bundle.sh makes; needs no network and installs nothing:
#
#   scripts/offline.sh [all]     runs the quick tests, or all of them
#
# Needs g++ 12 or clang 14 and CMake 3.25, or newer ones, and uses zlib, libcurl and cairo where their headers are there.
# Exit status 0 only if everything was built and passed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case "${1:-quick}" in
    quick) tests=(-L quick) ;;
    all) tests=() ;;
    *) echo "usage: scripts/offline.sh [all]" >&2; exit 2 ;;
esac
[ -d bundle ] || { echo "offline: there is no folder 'bundle' here; scripts/bundle.sh makes an archive that has it" >&2; exit 1; }

bundle=$PWD/bundle
jobs=$(nproc)
cmake -Wno-deprecated -S "$bundle/googletest" -B build/googletest -DCMAKE_BUILD_TYPE=Release -DBUILD_GMOCK=OFF \
    -DCMAKE_INSTALL_PREFIX="$PWD/build/googletest/installed" >/dev/null
cmake --build build/googletest -j "$jobs" --target install >/dev/null
cmake -S . -B build/release -DCMAKE_BUILD_TYPE=Release -DPANDO_UNITY_BUILD=ON -DPANDO_BUILD_BENCHMARKS=OFF \
    -Dfmt_DIR="$bundle/fmt" -DCMAKE_PREFIX_PATH="$PWD/build/googletest/installed" >/dev/null
cmake --build build/release -j "$jobs"
PANDO_DATA=$bundle/data ctest --test-dir build/release --output-on-failure -j "$jobs" "${tests[@]}"
echo "To train:"
echo "    PANDO_DATA=bundle/data build/release/cli/pando train keras-cnn"
