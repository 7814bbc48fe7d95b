#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Build Pando and run its tests:
#
#   scripts/test.sh          everything: checks, all tests, instruction counts, the installed tree and packages, no optional
#                            dependency, sanitizers, fuzzers
#   scripts/test.sh quick    the checks and the quick tests on the release build
#
# Installs the missing Debian packages (as root or with sudo). Exit status 0 only if everything passed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

mode=${1:-all}
case "$mode" in
    all | quick) ;;
    *) echo "usage: scripts/test.sh [quick]" >&2; exit 2 ;;
esac

jobs=$(nproc)
title() { printf '\n== %s (%s s)\n' "$*" "$SECONDS"; }


# build PRESET [CMAKE_OPTION...] [TARGET...]
build() {
    local preset=$1 argument options=(-DPANDO_WARNINGS_ARE_ERRORS=ON) targets=()
    for argument in "${@:2}"; do
        case "$argument" in
            -*) options+=("$argument") ;;
            *) targets+=(--target "$argument") ;;
        esac
    done
    cmake --preset "$preset" "${options[@]}" >/dev/null
    cmake --build --preset "$preset" -j "$jobs" "${targets[@]}"
}

scripts/install.sh git g++ clang libclang-rt-dev cmake ninja-build python3 libfmt-dev libgtest-dev librapidcheck-dev clang-format clang-tidy \
    binutils pkg-config tmux
scripts/install.sh --optional zlib1g-dev libcurl4-openssl-dev libjpeg62-turbo-dev libcairo2-dev libopenmpi-dev openmpi-bin ccache chromium \
    valgrind dpkg-dev lintian python3-numpy python3-dev pybind11-dev python3-pytest python3-tqdm python3-matplotlib \
    jupyter-nbconvert python3-ipykernel

# A compiler cache, where there is one, makes the next clean clone quick, wherever it lies.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
! command -v ccache >/dev/null || export CMAKE_CXX_COMPILER_LAUNCHER=ccache CMAKE_CUDA_COMPILER_LAUNCHER=ccache

title "Checks"
python3 tools/check_includes.py
python3 tools/check_docs.py
python3 tools/check_spdx.py
# Each version formats a little differently.
if [[ $(clang-format --version) == *"version 14."* ]]; then
    git ls-files '*.h' '*.cpp' '*.cu' '*.cuh' | xargs clang-format --dry-run -Werror
    echo "format: as .clang-format says"
else
    echo "format: not checked, as this is not clang-format 14"
fi

title "Release build"
# Where a CUDA toolkit is found, its backend for the oldest and the newest kind of GPU.
build release -DPANDO_BUILD_TESTS=ON -DPANDO_BUILD_BENCHMARKS=ON "-DCMAKE_CUDA_ARCHITECTURES=80-real;90-real"
tools/check_symbols.sh build/release

if [ "$mode" = quick ]; then
    title "Quick tests"
    ctest --preset release -L quick -j "$jobs"
    exit
fi
title "Clang-tidy"
python3 tools/check_tidy.py build/release

title "Data"
scripts/fetch_data.sh || echo "Tests that need real data are left out."

title "Tests"
ctest --preset release -j "$jobs"

title "Instructions of a training step"
python3 benchmarks/instruction_counts.py --build build/release

title "Installed tree"
scripts/test_package.sh build/release

title "Packages"
scripts/test_debian.sh build/release

title "Programs"
scripts/test_programs.sh build/release

title "API reference"
scripts/docs.sh

title "Without any optional dependency, file by file, by clang; op tests on the portable kernels"
build minimal -DCMAKE_CXX_COMPILER=clang++ pando_shared pando_cli op_tests compiler_tests data_tests
PANDO_INSTRUCTION_SET=portable ctest --preset minimal -R '^(op|compiler|data)$'

title "Address and undefined behaviour sanitizers"
build asan
ctest --preset asan -j "$jobs"

title "Thread sanitizer"
build tsan
ctest --preset tsan -j "$jobs"

title "Fuzzing"
scripts/fuzz.sh 20s

title "Everything passed"
