#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Install Pando from a build folder into a temporary prefix, build the programs that fix its interface against it, and
# run them on the real data sets:
#
#   scripts/test_programs.sh BUILD_FOLDER [PROGRAM...]
#
# The programs lie beside the project, in ../shared/programs; where they are not, there is nothing to do.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

programs=../shared/programs
[ -d "$programs" ] || { echo "there is no $programs: nothing to do"; exit 0; }
build=$(realpath "$1")
shift
(($# > 0)) || set -- keras_padding mnist_sequential keras_demo keras_demo_ipu keras_demo_replicated \
    keras_demo_pipelining fashion_session poptorch_mnist
# Ten epochs, which it trains by itself, take minutes.
declare -A arguments=([poptorch_mnist]=2)

scripts/fetch_data.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/prefix" >/dev/null
cmake -S "$programs" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$work/prefix" >/dev/null
cmake --build "$work/build" --target "$@" >/dev/null
for program; do
    echo "-- $program"
    # Pictures are saved where it runs.
    (cd "$work" && "$work/build/$program" ${arguments[$program]:-})
done
