#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Run tests of the x86-64 kernels on a machine that is not x86-64, under emulation:
#
#   scripts/test_x86.sh avx2|avx512 TESTS [GTEST_FILTER]
#   scripts/test_x86.sh avx2 counts [--update] [MODEL...]
#
# TESTS is op, compiler, runtime or parity. avx2 runs under QEMU; avx512 boots a kernel under Bochs, about a hundred
# times slower than this machine, so give it a filter. Bochs 3.0 has AVX512_BF16 for `runtime 'Mixed*'`; 2.7 has not.
# counts compares the instructions of training steps with those stored; it takes minutes. Everything is cross-compiled
# statically, without optional dependencies.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
(($# >= 2)) || { echo "usage: scripts/test_x86.sh avx2|avx512 TESTS [GTEST_FILTER]" >&2; exit 2; }

scripts/install.sh g++-x86-64-linux-gnu cmake ninja-build libfmt-dev googletest

build=$PWD/build/x86
prefix=$build/prefix
if [ ! -f "$build/build.ninja" ]; then
    mkdir -p "$prefix/include" "$prefix/lib"
    # Only these headers: the whole of /usr/include belongs to another machine.
    ln -sfn /usr/include/fmt "$prefix/include/fmt"
    ln -sfn /usr/src/googletest/googletest/include/gtest "$prefix/include/gtest"
    # Debian's cross libm.a names its parts by paths that do not exist there.
    echo 'GROUP ( libm-2.36.a libmvec.a )' >"$prefix/lib/libm.a"
    for part in gtest-all gtest_main; do
        x86_64-linux-gnu-g++ -O1 -I/usr/src/googletest/googletest -I"$prefix/include" \
            -c "/usr/src/googletest/googletest/src/$part.cc" -o "$prefix/lib/$part.o"
    done
    mkdir -p "$prefix/cmake/fmt" "$prefix/cmake/GTest"
    cat >"$prefix/cmake/fmt/fmt-config.cmake" <<EOF
add_library(fmt::fmt INTERFACE IMPORTED)
target_include_directories(fmt::fmt INTERFACE $prefix/include)
target_compile_definitions(fmt::fmt INTERFACE FMT_HEADER_ONLY)
EOF
    cat >"$prefix/cmake/GTest/GTestConfig.cmake" <<EOF
add_library(GTest::gtest_main INTERFACE IMPORTED)
target_include_directories(GTest::gtest_main INTERFACE $prefix/include)
target_link_libraries(GTest::gtest_main INTERFACE $prefix/lib/gtest-all.o $prefix/lib/gtest_main.o)
EOF
    launcher=()
    ! command -v ccache >/dev/null || launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
    cmake --preset minimal -B "$build" -DCMAKE_BUILD_TYPE=Release "${launcher[@]}" -DCMAKE_TOOLCHAIN_FILE="$PWD/cmake/x86_64-linux-gnu.cmake" \
        -Dfmt_DIR="$prefix/cmake/fmt" -DGTest_DIR="$prefix/cmake/GTest" -DPANDO_BUILD_EXAMPLES=OFF \
        -DPANDO_BUILD_BENCHMARKS=ON \
        -DCMAKE_EXE_LINKER_FLAGS="-static -L$prefix/lib" >/dev/null
fi
if [ "$1 $2" = "avx2 counts" ]; then
    command -v qemu-x86_64 >/dev/null || scripts/install.sh qemu-user
    cmake --build "$build" --target one_step
    exec python3 benchmarks/instruction_counts.py --build "$build" "${@:3}"
fi
cmake --build "$build" --target "$2_tests"
binary=$(find "$build/tests" -name "$2_tests" -type f)
PANDO_INSTRUCTION_SET=$1 GTEST_FILTER=${3:-*} tools/run_x86.sh "$1" "$binary"
