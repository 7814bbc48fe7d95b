#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Make packages from a build folder and use them as a stranger would:
#
#   scripts/test_debian.sh BUILD_FOLDER
#
# The archive is unpacked somewhere. The .deb files are installed in a bare Debian of this machine's release, where a model is
# trained and used and a program compiled, and purged again, which must leave no trace. That needs root, debootstrap and some
# 150 MB of packages; otherwise they are only unpacked and used. lintian, where it is there, must find no error in them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { echo "test_debian: $*"; }

build=$(realpath "$1")
work=$(mktemp -d)
root=$work/root
trap 'rm -rf --one-file-system "$work"' EXIT
# A fresh machine knows no maintainer.
DEBFULLNAME="Pando's tests" DEBEMAIL=tests@pando.example scripts/package.sh "$build" >/dev/null
debs=(build/packages/*.deb)

# What a user does with the command and the library under the prefix $1.
cat >"$work/use.sh" <<'END'
set -eu
prefix=$1
PATH=$prefix/bin:$PATH
library=$(dirname "$(find "$prefix"/lib* -name libpando.so)")
[ "$prefix" = /usr ] || export LD_LIBRARY_PATH="$library"
pando train mlp --dataset synthetic_digits --samples 200 --epochs 1 --save model --quiet
pando predict --model model 0 1 2 | grep -q prediction
g++ -std=c++20 use_pando.cpp -I"$prefix/include" -L"$library" -lpando -o program
./program
[ -s "$prefix/share/bash-completion/completions/pando" ]
if command -v mpirun >/dev/null && [ -n "$(find "$prefix"/lib* -name pando_mpi.so)" ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
    pando launch -n 2 --restarts 0 -- pando train mlp --dataset synthetic_digits --samples 200 --epochs 1 --workers auto \
        --save together --quiet
    pando predict --model together 0 | grep -q prediction
fi
if [ -d "$prefix/lib/python3/dist-packages/pando" ]; then
    [ "$prefix" = /usr ] || export PYTHONPATH="$prefix/lib/python3/dist-packages"
    /usr/bin/python3 -m pando -c "
from tensorflow import keras
model = keras.Sequential([keras.layers.Dense(2, input_shape=(3,))])
assert model.predict([[1.0, 2.0, 3.0]], verbose=0).shape == (1, 2)"
fi
END
cp tests/package/use_pando.cpp "$work"

mkdir "$work/moved"
tar -C "$work/moved" --strip-components=1 -xzf build/packages/pando-*.tar.gz
(cd "$work" && sh use.sh "$work/moved")
say "the archive works where it is unpacked"

[ -e "${debs[0]}" ] || { say "no .deb files on this system"; exit 0; }
if command -v lintian >/dev/null; then
    lintian --allow-root --fail-on error "${debs[@]}"
    say "lintian finds no error"
fi

if [ "$(id -u)" != 0 ] || ! command -v debootstrap >/dev/null; then
    for deb in "${debs[@]}"; do dpkg-deb -x "$deb" "$root"; done
    (cd "$work" && rm -rf model together && sh use.sh "$root/usr")
    say "the .deb files work unpacked (no root or no debootstrap: not installed)"
    exit 0
fi

in_root() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive "$@"; }
apt() { in_root apt-get -qq -y --no-install-recommends "$@" >"$work/log" 2>&1 || { tail -n 5 "$work/log"; exit 1; }; }
# list_files FILE: what the bare Debian holds, without what package managers write down for themselves
list_files() {
    (cd "$root" && find . -xdev \( -path ./var/cache -o -path ./var/log -o -path ./var/lib/apt -o -path ./var/lib/dpkg \
        -o -path ./tmp -o -path ./etc/ld.so.cache \) -prune -o -print | sort) >"$1"
}

release=$(. /etc/os-release && echo "$VERSION_CODENAME")
debootstrap --variant=minbase "$release" "$root" >"$work/log" 2>&1 || { tail -n 5 "$work/log"; exit 1; }
cp "${debs[@]}" "$work/use.sh" tests/package/use_pando.cpp "$root/tmp"
# What the packages need is there before, so that all that changes then is theirs.
mapfile -t needs < <(for deb in "${debs[@]}"; do dpkg-deb -f "$deb" Depends; done | tr ',' '\n' | awk '!/pando/ {print $1}' | sort -u)
mapfile -t names < <(for deb in "${debs[@]}"; do dpkg-deb -f "$deb" Package; done)
apt install g++ openmpi-bin "${needs[@]}"
list_files "$work/before"
apt install "${debs[@]/#*\//\/tmp\/}"
list_files "$work/installed"
in_root sh -c 'cd /tmp && sh use.sh /usr'
apt purge "${names[@]}"
list_files "$work/after"
diff "$work/before" "$work/after" || { say "the packages left the files above"; exit 1; }
! in_root dpkg-query -W '*pando*' 2>/dev/null || { say "the packages left entries in dpkg"; exit 1; }
say "installed in a bare Debian ($release): $(($(wc -l <"$work/installed") - $(wc -l <"$work/before"))) files and folders, all removed again"
