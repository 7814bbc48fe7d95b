#!/usr/bin/env bash
# Build Pando and train a network to read handwritten digits:
#
#   scripts/train.sh [OPTION...]     any option of `pando train`, e.g. --epochs 1 --dataset fashion_mnist --ipus 2
#
# Installs the missing Debian packages (as root or with sudo), builds the release preset, fetches MNIST, and trains. The model
# goes to a new folder, build/digits-DATE-TIME, which the last line names, and a page about the run to build/run.html, unless
# --save (or --checkpoint) and --report name other places.
# Everything that is there already is left alone, so that a second run starts at once.
# The exit code is that of the training: 0, 1 for a failure, 2 for wrong arguments, 3 if the loss is not a number at the end,
# 130 after Ctrl-C.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/install.sh g++ cmake ninja-build libfmt-dev
# zlib reads gzipped data sets, libcurl downloads them; cairo draws PNG files.
scripts/install.sh --optional zlib1g-dev libcurl4-openssl-dev libcairo2-dev

build=build/release
# A tree that was configured with the tests stays as it is.
if [ ! -f "$build/build.ninja" ]; then
    echo "Configuring $build" >&2
    cmake --preset release -DPANDO_BUILD_TESTS=OFF -DPANDO_BUILD_BENCHMARKS=OFF >/dev/null
fi
cmake --build "$build" --target pando_cli -j "$(nproc)" >&2

# given NAME ARGUMENT...: whether the option is among the arguments.
given() {
    local name=$1 argument
    shift
    for argument; do
        [[ $argument != "$name" && $argument != "$name="* ]] || return 0
    done
    return 1
}

defaults=()
given --save "$@" || given --checkpoint "$@" || defaults+=(--save "build/digits-$(date +%Y%m%d-%H%M%S)")
given --report "$@" || defaults+=(--report build/run.html)
if ! given --help "$@" && ! given synthetic_digits "$@"; then
    # fetch_data.sh says what it could not get.
    scripts/fetch_data.sh || true
fi
if ! given --dataset "$@" && ! "$build/cli/pando" datasets verify mnist >/dev/null 2>&1; then
    echo "MNIST is not there: training on drawn digits." >&2
    defaults+=(--dataset synthetic_digits)
fi

"$build/cli/pando" train keras-cnn "${defaults[@]}" "$@"
