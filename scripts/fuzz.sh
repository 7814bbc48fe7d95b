#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Build the fuzzers of everything that reads files, and run each of them:
#
#   scripts/fuzz.sh [20s]     for that many seconds in all
#   scripts/fuzz.sh 1000000   for that many runs each
#
# Needs clang with libFuzzer (Debian: clang, libclang-rt-dev). Each starts from tests/fuzz/corpus; inputs that reach new
# code are kept in build/fuzz/found, one that breaks a reader in build/fuzz/failed. Exit status 0 only if none did.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

limit=${1:-20s}
[[ $limit =~ ^[0-9]+s?$ ]] || { echo "usage: scripts/fuzz.sh [SECONDSs|RUNS]" >&2; exit 2; }

if ! echo 'extern "C" int LLVMFuzzerTestOneInput(const char*, unsigned long) { return 0; }' |
    clang++ -fsanitize=fuzzer -x c++ - -o /dev/null 2>/dev/null; then
    echo "fuzz: needs clang++ with libFuzzer; install clang and libclang-rt-dev" >&2
    exit 1
fi
if [ ! -f build/asan/build.ninja ]; then
    launcher=()
    ! command -v ccache >/dev/null || launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
    cmake --preset asan "${launcher[@]}" >/dev/null
fi
cmake --build --preset asan --target fuzzers -j "${JOBS:-$(nproc)}" >/dev/null

build=build/fuzz
mapfile -t names < <(sed -n 's/^pando_fuzz(\([a-z0-9_]*\).*)$/\1/p' tests/fuzz/CMakeLists.txt)
case $limit in
    *s) bound=(-max_total_time=$(((${limit%s} + ${#names[@]} - 1) / ${#names[@]}))) ;;
    *) bound=("-runs=$limit") ;;
esac
mkdir -p "$build/failed"
status=0
for name in "${names[@]}"; do
    fuzzer=build/asan/tests/fuzz/fuzz_$name kept=tests/fuzz/corpus/$name found=$build/found/$name
    mkdir -p "$found"
    if "$fuzzer" "${bound[@]}" -max_len=4096 -timeout=120 -rss_limit_mb=2048 -malloc_limit_mb=256 -print_final_stats=1 \
        -artifact_prefix="$build/failed/$name-" "$found" "$kept" >"$build/$name.log" 2>&1; then
        echo "fuzz: $name: $(sed -n 's/^Done \(.*\) runs in \(.*\) second(s)$/\1 runs in \2 s/p' "$build/$name.log"), nothing found"
    else
        tail -n 40 "$build/$name.log"
        echo "fuzz: $name: FAILED"
        status=1
    fi
done
exit "$status"
