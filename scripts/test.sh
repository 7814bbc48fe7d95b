#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Build Pando and run its tests:
#
#   scripts/test.sh          what guards a landing: checks, tests of the release build, the installed tree, readers of files
#                            with the address and undefined behaviour sanitizers
#   scripts/test.sh quick    the checks and the quick tests on the release build
#   scripts/test.sh all      everything: also long tests, the backend of the tests whose memory is far away, clang-tidy,
#                            instruction counts, packages, a wheel, programs, the API reference, a build without optional
#                            dependencies, all tests with each sanitizer, fuzzers, and `peers`
#   scripts/test.sh peers    Keras layers, losses and the like beside those of Keras 3, from the Python package index
#
# Installs the missing Debian packages (as root or with sudo). Says at the end how long each part took. Exit status 0 only
# if everything passed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

mode=${1:-landing}
case "$mode" in
    landing | quick | all) ;;
    peers) exec scripts/test_peers.sh ;;
    *) echo "usage: scripts/test.sh [quick|all|peers]" >&2; exit 2 ;;
esac

jobs=$(nproc)
titles=() starts=()

# title TEXT: begins a part
title() {
    titles+=("$*") starts+=("$SECONDS")
    printf '\n== %s (%s s)\n' "$*" "$SECONDS"
}

# say_times: how long each part took
say_times() {
    local i end
    printf '\n== Seconds of each part\n'
    for i in "${!titles[@]}"; do
        end=${starts[i + 1]:-$SECONDS}
        printf '%6d  %s\n' "$((end - starts[i]))" "${titles[i]}"
    done
    printf '%6d  in all\n' "$SECONDS"
}
trap say_times EXIT

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

# run_tests PRESET [CTEST_OPTION...]
run_tests() { ctest --preset "$1" -j "$jobs" --output-junit "$PWD/build/$1/times.xml" "${@:2}"; }

scripts/install.sh git g++ clang libclang-rt-dev cmake ninja-build python3 libfmt-dev libgtest-dev librapidcheck-dev clang-format clang-tidy \
    binutils pkg-config tmux
scripts/install.sh --optional zlib1g-dev libcurl4-openssl-dev libjpeg62-turbo-dev libcairo2-dev libopenmpi-dev openmpi-bin ccache chromium \
    valgrind dpkg-dev lintian python3-numpy python3-dev pybind11-dev python3-pytest python3-tqdm python3-matplotlib \
    jupyter-nbconvert python3-ipykernel python3-torch python3-torchvision

# A compiler cache, where there is one, makes the next clean clone quick, wherever it lies.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
! command -v ccache >/dev/null || export CMAKE_CXX_COMPILER_LAUNCHER=ccache CMAKE_CUDA_COMPILER_LAUNCHER=ccache

title "Checks"
python3 tools/check_includes.py
python3 tools/check_options.py
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
# Where a CUDA toolkit is found, its backend for the newest kind of GPU, and for the oldest one, too, in `all`.
architectures="90-real"
[ "$mode" != all ] || architectures="80-real;90-real"
build release -DPANDO_BUILD_TESTS=ON -DPANDO_BUILD_BENCHMARKS="$([ "$mode" = all ] && echo ON || echo OFF)" \
    "-DCMAKE_CUDA_ARCHITECTURES=$architectures"
tools/check_symbols.sh build/release

if [ "$mode" = quick ]; then
    title "Quick tests"
    run_tests release -L quick -LE thorough
    exit
fi

title "Data"
scripts/fetch_data.sh || echo "Tests that need real data are left out."

if [ "$mode" = landing ]; then
    title "Tests"
    run_tests release -LE thorough
    python3 tools/check_test_times.py build/release

    title "Installed tree"
    scripts/test_package.sh build/release

    title "Address and undefined behaviour sanitizers"
    # Compiled as quickly as can be; `all` runs every test with them, on kernels that are optimised.
    build asan "-DCMAKE_CXX_FLAGS_DEBUG=-O0 -g1" data_tests graph_tests io_tests
    run_tests asan -R '^(data|graph|io)$'

    title "Everything that guards a landing passed; scripts/test.sh all has more"
    exit
fi

title "Clang-tidy"
python3 tools/check_tidy.py build/release

title "Tests"
run_tests release

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
run_tests asan

title "Thread sanitizer"
build tsan
run_tests tsan

title "Fuzzing"
scripts/fuzz.sh 20s

title "pip and a wheel"
scripts/test_wheel.sh

title "Keras beside Keras 3"
scripts/test_peers.sh

title "Everything passed"
