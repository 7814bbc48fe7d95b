#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# train.sh trains on MNIST, where that cannot be had on Fashion-MNIST, and on drawn digits where neither is there; options of
# the user count more:
#   train.sh PROJECT
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/scripts" "$work/build/release/cli"
cp "$1/scripts/train.sh" "$work/scripts"
printf '#!/bin/sh\n' >"$work/scripts/build.sh"
# In place are the sets that $SETS names.
printf '#!/bin/sh\ncase " $SETS " in *" $1 "*) ;; *) echo "no $1" >&2; exit 1 ;; esac\n' >"$work/scripts/fetch_data.sh"
printf '#!/bin/sh\necho "$*"\nexit 3\n' >"$work/build/release/cli/pando"
chmod +x "$work/scripts/"*.sh "$work/build/release/cli/pando"

check() { # check SETS EXPECTED OPTION...: what is printed, without the time
    local sets=$1 expected=$2 status=0 output
    shift 2
    output=$(SETS=$sets "$work/scripts/train.sh" "$@" 2>&1) || status=$?
    output=$(sed -E 's/[0-9]{8}-[0-9]{6}/TIME/' <<<"$output")
    [ "$status" = 3 ] || { echo "the exit status is $status, not that of the command"; exit 1; }
    [ "$output" = "$expected" ] || { printf '%s:\n%s\nshould be:\n%s\n' "$sets, $*" "$output" "$expected"; exit 1; }
}

check "mnist fashion_mnist" "train keras-cnn --dataset mnist --save build/mnist-TIME --report build/run.html"
check fashion_mnist "no mnist
Training on Fashion-MNIST, as MNIST is not there.
train keras-cnn --dataset fashion_mnist --save build/fashion_mnist-TIME --report build/run.html"
check "" "no mnist
no fashion_mnist
Training on drawn digits, as neither MNIST nor Fashion-MNIST is there.
train keras-cnn --dataset synthetic_digits --save build/synthetic_digits-TIME --report build/run.html"
check mnist "no fashion_mnist
train keras-cnn --report build/run.html --dataset fashion_mnist --save=here" --dataset fashion_mnist --save=here
check mnist "train keras-cnn --save build/photos-TIME --dataset=my/photos --report page.html" --dataset=my/photos --report page.html
check mnist "train keras-cnn --dataset mnist --report build/run.html --checkpoint run" --checkpoint run
