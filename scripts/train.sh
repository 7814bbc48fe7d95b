#!/usr/bin/env bash
# Build Pando and train a network to read handwritten digits:
#
#   scripts/train.sh [--data mnist|fashion_mnist|synthetic_digits|auto] [--epochs N] [--batch-size B] [--tiles T]
#
# Installs the missing Debian packages (as root or with sudo), builds the release preset, fetches MNIST, and trains.
# Everything that is there already is left alone, so that a second run starts at once.
# The exit code is that of the training: 0, 1 for a failure, 2 for wrong arguments, 130 after Ctrl-C.
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
cmake --build "$build" --target train_digits -j "$(nproc)" >&2

# fetch_data.sh says what it could not get; without MNIST the example draws its own digits, and says so.
case " $* " in
    *" --help "* | *" synthetic_digits "*) ;;
    *) scripts/fetch_data.sh || true ;;
esac

"$build/examples/train_digits" "$@"

echo
echo "Try next: scripts/train.sh --data fashion_mnist --epochs 5"
