#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compare what two versions of the library compute, bit by bit:
#
#   scripts/same_bits.sh REVISION     that revision and the working tree
#
# Builds the release library of both, REVISION's in a worktree under build/ that is removed again, and runs
# tests/bits of the working tree with each of them, on all cores and on one. Prints the lines that differ from
# those of REVISION on all cores. A compiler cache, where there is one, makes it quick.
#
# Exit codes: 0  all lines are the same
#             1  some differ, or something could not be built
#             2  wrong usage
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case "${1:-}" in
    "" | -*) echo "usage: scripts/same_bits.sh REVISION" >&2; exit 2 ;;
esac
commit=$(git rev-parse --verify --quiet "$1^{commit}") || { echo "same_bits: there is no revision '$1'" >&2; exit 2; }

mkdir -p build
folder=$(mktemp -d "$PWD/build/same_bits.XXXXXX")
trap 'git worktree remove --force "$folder/tree" 2>/dev/null || true; rm -rf "$folder"; git worktree prune' EXIT

say() { echo "same_bits: $*" >&2; }

# build SOURCE_FOLDER NAME [CMAKE_OPTION...]: the library of the folder, and the program with it as $folder/NAME. Both
# folders are built in the same way and place, so that the compiler cache knows the files that they share.
build() {
    local source=$1 name=$2 launcher=()
    shift 2
    say "building $name"
    ! command -v ccache >/dev/null || launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
    (
        cd "$source"
        export CCACHE_BASEDIR=$source CCACHE_NOHASHDIR=1
        cmake --preset release "${launcher[@]}" "$@" >/dev/null
        cmake --build --preset release --target pando_shared -j "${JOBS:-$(nproc)}" >/dev/null
    )
    g++ -std=c++20 -O1 -I"$source/include" tests/bits/*.cpp "$source/build/release/src/libpando.so" \
        -Wl,-rpath,"$source/build/release/src" -pthread -o "$folder/$name"
}

# run NAME CORES [COMMAND...]: the lines of the program, into $folder/NAME.CORES. A crash is one of them.
run() {
    local name=$1 cores=$2 status=0
    shift 2
    "$@" "$folder/$name" >"$folder/$name.$cores" || status=$?
    [ "$status" = 0 ] || echo "the program ended with status $status" >>"$folder/$name.$cores"
}

git worktree add --detach --quiet "$folder/tree" "$commit"
build "$folder/tree" revision -DPANDO_BUILD_TESTS=OFF -DPANDO_BUILD_CLI=OFF -DPANDO_BUILD_EXAMPLES=OFF \
    -DPANDO_BUILD_BENCHMARKS=OFF
build "$PWD" working_tree
for name in revision working_tree; do
    run "$name" all_cores
    run "$name" one_core taskset -c 0
done

reference=$folder/revision.all_cores
! grep -h ' ERROR ' "$reference" || say "the runs above throw in $1 and test nothing"
status=0
for other in working_tree.all_cores working_tree.one_core revision.one_core; do
    diff -U0 --label "$1, all cores" --label "${other//[._]/ }" "$reference" "$folder/$other" | sed '/^@@/d' || status=1
done
[ "$status" != 0 ] || echo "same_bits: $(wc -l <"$reference") runs give the same bits as $1"
exit "$status"
