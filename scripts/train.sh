#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Build Pando and train a network to read handwritten digits:
#
#   scripts/train.sh [OPTION...]     any option of `pando train`, e.g. --epochs 1 --dataset fashion_mnist --ipus 2
#
# Installs the missing Debian packages (as root or with sudo), builds the command, fetches MNIST, and trains. Where MNIST
# cannot be fetched, it trains on Fashion-MNIST, and without that on drawn digits. The model goes to a new folder,
# build/DATASET-DATE-TIME, which the last line names, and a page about the run to build/run.html, unless --save (or
# --checkpoint) and --report name other places.
# Everything that is there already is left alone, so that a second run starts at once.
# The exit code is that of the training: 0, 1 for a failure, 2 for wrong arguments, 3 if the loss is not a number at the end,
# 130 after Ctrl-C.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/build.sh pando_cli

# given NAME ARGUMENT...: whether the option is among the arguments; its value, if it has one, is in $value.
given() {
    local name=$1
    shift
    while (($# > 0)); do
        case $1 in
            "$name") value=${2:-}; return 0 ;;
            "$name="*) value=${1#*=}; return 0 ;;
        esac
        shift
    done
    return 1
}

# fetch_data.sh says what it could not get.
defaults=()
if given --help "$@"; then
    dataset=none
elif given --dataset "$@"; then
    dataset=$(basename "$value")
    [[ $value != mnist && $value != fashion_mnist ]] || scripts/fetch_data.sh "$value" || true
else
    dataset=synthetic_digits
    for name in mnist fashion_mnist; do
        ! scripts/fetch_data.sh "$name" || { dataset=$name; break; }
    done
    case $dataset in
        fashion_mnist) echo "Training on Fashion-MNIST, as MNIST is not there." >&2 ;;
        synthetic_digits) echo "Training on drawn digits, as neither MNIST nor Fashion-MNIST is there." >&2 ;;
    esac
    defaults+=(--dataset "$dataset")
fi
given --save "$@" || given --checkpoint "$@" || defaults+=(--save "build/$dataset-$(date +%Y%m%d-%H%M%S)")
given --report "$@" || defaults+=(--report build/run.html)

build/release/cli/pando train keras-cnn "${defaults[@]}" "$@"
