#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs an example on a few images, without a data set on the machine, and compares what it says about its flags:
#
#   run_example.sh PROGRAM
#
# Exit status 0 only if everything is as it should be.
set -uo pipefail

program=$(realpath "$1")
name=$(basename "$program")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
# No MNIST here: the examples draw their own digits.
export XDG_CACHE_HOME=$work/nothing PANDO_DATA=$work/nothing
failures=0

fail() {
    echo "FAILED: $name $*"
    sed 's/^/  | /' out err
    failures=$((failures + 1))
}

# run EXIT_STATUS FLAG...: leaves what it says in the files out and err.
run() {
    local wanted=$1
    shift
    flags="$*"
    timeout 60 "$program" "$@" >out 2>err
    local status=$?
    [ "$status" = "$wanted" ] || fail "$flags: exit status $status instead of $wanted"
}

# says FILE TEXT: the file has this line.
says() { grep -qxF -- "$2" "$1" || fail "$flags: '$1' has no line '$2'"; }
# prints PATTERN: standard output has a line like it.
prints() { grep -qE -- "$1" out || fail "$flags: no line of the output is like '$1'"; }
# is_silent: there is nothing on standard error.
is_silent() { [ ! -s err ] || fail "$flags: there should be nothing on standard error"; }
# refuses MESSAGE FLAG...: says so, shows the usage, and exits with status 2 before it does anything.
refuses() {
    local message=$1
    shift
    run 2 "$@"
    [ "$(head -n 1 err)" = "$name: $message" ] || fail "$flags: the message is not '$name: $message'"
    grep -q "^usage: $name " err || fail "$flags: there is no usage"
    [ ! -s out ] || fail "$flags: there should be nothing on standard output"
}

case $name in
    completed_example) . "$(dirname "${BASH_SOURCE[0]}")/completed_example.sh" ;;
    train_digits)
        run 0 --data synthetic_digits --epochs 1 --help
        says out "usage: train_digits [--data NAME] [--epochs N] [--batch-size B] [--tiles T]"
        refuses "--epochs needs a whole number of at least 1, not '0'" --epochs 0
        refuses "unknown argument '--epoch'" --epoch 1
        ;;
    *)
        run 0 --epochs 1 --samples 130
        [ "$name" = session_fashion ] && data=fashion_mnist || data=mnist
        [ "$data" = fashion_mnist ] && [ -d /usr/share/datasets/fashion-mnist ] ||
            says out "The data set $data is not on this machine (scripts/fetch_data.sh gets it): using drawn digits instead."
        case $name in
            keras_*) prints '^(3/3|2/2|1/1) .*accuracy: [0-9.]+ - loss: [0-9.]+' ;;
            session_*) prints '^Epoch 1/1: loss [0-9.]+, [0-9.]+ s$' ;;
            poptorch_*) prints '^Accuracy on the test set: [0-9.]+ %$' ;;
        esac
        [ "$name" != keras_mnist_pipelined ] || [ -s keras_mnist_pipelined.html ] || fail "there is no page"

        if [ "$name" = poptorch_mnist ]; then
            # Two calls of 400 images, and one of the 203 that are left.
            run 0 --epochs 1 --samples 1003
            prints '^Accuracy on the test set: [0-9.]+ %$'
            grep -q '3/3' err || fail "$flags: standard error does not show 3 calls"
        fi

        run 0 --help
        is_silent
        says out "usage: $name [--epochs N] [--samples N]"
        says out "  --samples N  train on only N images, and test with a sixth as many (default: all)"
        refuses "--epochs needs a whole number of at least 1, not '0'" --epochs 0
        refuses "--epochs needs a whole number of at least 1, not '2x'" --epochs 2x
        refuses "--samples needs a whole number of at least 1, not ''" --samples
        refuses "unknown argument '--epoch'" --epoch 2
        ;;
esac
[ "$failures" = 0 ] && echo "$name: as it should be"
exit $((failures > 0))
