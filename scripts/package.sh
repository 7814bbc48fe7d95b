#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Make packages of Pando for machines like this one:
#
#   scripts/package.sh [BUILD_FOLDER]     of build/release, which is built first, or of a folder that is built already
#
# They are written to build/packages, whose old packages are removed:
#   libpando0.1_*.deb     the shared library          } on Debian and what is made of it; all are installed by
#   libpando-dev_*.deb    headers, static library,    } `apt install ./build/packages/*.deb` and removed by
#                         files for CMake, pkg-config } `apt purge pando pando-mpi python3-pando libpando0.1 libpando-dev`
#   pando_*.deb           the command                 }
#   pando-mpi_*.deb       the module for workers, which needs the MPI that Pando was built with, if it was
#   python3-pando_*.deb   the Python module, if built
#   pando-*.tar.gz        all of that in one folder, which works wherever it is unpacked, given the libraries that the
#                         last line names
#
# The maintainer of the .deb files is $DEBFULLNAME <$DEBEMAIL>, as for Debian's own tools, or the user of git.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { echo "package: $*" >&2; }

build=${1:-build/release}
if [ $# -eq 0 ]; then
    scripts/build.sh all
    scripts/install.sh --optional dpkg-dev
fi
[ -f "$build/cli/pando" ] || { say "$build is not built"; exit 1; }

version=$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$build/CMakeCache.txt")
series=${version%.*}
# The same commit gives the same bytes.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
export SOURCE_DATE_EPOCH
# Everybody may read what is installed.
umask 022
out=$PWD/build/packages
rm -rf "$out"
mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# install_components FOLDER COMPONENT...: what `cmake --install` would put there, without what only debuggers read
install_components() {
    local folder=$1 component
    shift
    for component; do cmake --install "$build" --prefix "$folder" --component "$component" >/dev/null; done
    find "$folder" -type f \( -name '*.so*' -o -path '*/bin/*' \) -exec strip --strip-unneeded --remove-section=.comment {} +
    find "$folder" -name '*.a' -exec strip --strip-debug --remove-section=.comment --enable-deterministic-archives {} +
    find "$folder" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
}

make_archive() {
    local name
    name=pando-$version-linux-$(uname -m)
    install_components "$work/$name" library development command mpi licence
    tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner -c "$name" | gzip -n >"$out/$name.tar.gz"
    needed=$(objdump -p "$work/$name/bin/pando" | awk '$1 == "NEEDED" {print $2}' | sort | tr '\n' ' ')
}

maintainer() {
    local name=${DEBFULLNAME:-$(git config user.name || true)} address=${DEBEMAIL:-$(git config user.email || true)}
    [[ -n $name && -n $address ]] || { say "set DEBFULLNAME and DEBEMAIL: a .deb names its maintainer"; return 1; }
    echo "$name <$address>"
}

# documents FOLDER PACKAGE: the copyright and the changelogs that a Debian package has
documents() {
    local folder=$1/usr/share/doc/$2
    mkdir -p "$folder"
    gzip -9nc CHANGELOG.md >"$folder/changelog.gz"
    gzip -9n >"$folder/changelog.Debian.gz" <<END
pando ($debian_version) unstable; urgency=medium

  * Made by scripts/package.sh; changelog.gz says what is new in Pando.

 -- $maintainer  $(date --utc --date="@$SOURCE_DATE_EPOCH" '+%a, %d %b %Y %T +0000')
END
    cat >"$folder/copyright" <<END
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Pando

Files: *
Copyright: $(date --utc --date="@$SOURCE_DATE_EPOCH" +%Y) the authors of Pando
License: Apache-2.0
 On Debian systems, the text of the Apache License 2.0 is in
 /usr/share/common-licenses/Apache-2.0.
END
}

# shared_libraries FILE: the packages that hold what it is linked with
shared_libraries() {
    mkdir -p "$work/control/debian"
    printf 'Source: pando\n\nPackage: pando\nArchitecture: any\n' >"$work/control/debian/control"
    (cd "$work/control" && dpkg-shlibdeps -O "$1" 2>/dev/null) | sed -n 's/^shlibs:Depends=//p'
}

# python_scripts PACKAGE FOLDER: what compiles the modules when a package is installed, and removes that before it
python_scripts() {
    local script
    printf '#!/bin/sh\nset -e\nif [ "$1" = configure ]; then py3compile -p %s; fi\n' "$1" >"$2/postinst"
    printf '#!/bin/sh\nset -e\npy3clean -p %s\n' "$1" >"$2/prerm"
    for script in postinst prerm; do chmod 755 "$2/$script"; done
}

# make_deb PACKAGE SECTION COMPONENT FIELDS SUMMARY
make_deb() {
    local package=$1 section=$2 component=$3 fields=$4 summary=$5 folder=$work/$1
    install_components "$folder/usr" "$component"
    documents "$folder" "$package"
    if [ "$component" = command ]; then
        gzip -9n "$folder/usr/share/man/man1/pando.1"
        # Debian's zsh leaves site-functions to /usr/local.
        mv "$folder/usr/share/zsh/site-functions" "$folder/usr/share/zsh/vendor-completions"
    fi
    mkdir "$folder/DEBIAN"
    if [ "$component" = python ]; then
        # Debian's Python finds the modules of packages there, whatever its version.
        mkdir -p "$folder/usr/lib/python3"
        [ -d "$folder/usr/lib/python3/dist-packages" ] ||
            mv "$folder"/usr/lib/python3.*/*-packages "$folder/usr/lib/python3/dist-packages"
        rmdir --ignore-fail-on-non-empty "$folder"/usr/lib/python3.* 2>/dev/null || true
        python_scripts "$package" "$folder/DEBIAN"
    fi
    if [ "$component" = library ]; then
        echo "libpando $series $package (>= $version)" >"$folder/DEBIAN/shlibs"
        echo "activate-noawait ldconfig" >"$folder/DEBIAN/triggers"
    fi
    (cd "$folder" && find usr -type f | LC_ALL=C sort | xargs -d '\n' md5sum) >"$folder/DEBIAN/md5sums"
    cat >"$folder/DEBIAN/control" <<END
Package: $package
Source: pando
Version: $debian_version
Architecture: $(dpkg --print-architecture)
Maintainer: $maintainer
Installed-Size: $(du -k --apparent-size --summarize "$folder/usr" | cut -f 1)
Section: $section
Priority: optional
$fields
Description: $summary
 Pando trains and runs neural networks the way Graphcore's IPU stack does: the
 whole training step is compiled into a static program, which runs on virtual
 IPUs made of CPU cores and GPUs. Models are written as in Keras, as PyTorch
 modules, as TensorFlow 1 computations or as graphs.
END
    dpkg-deb --build --root-owner-group "$folder" "$out" >/dev/null
}

# The module for workers, in the tree $1; only the same version opens it.
make_mpi_deb() {
    local module
    module=$(find "$1"/lib* -name pando_mpi.so)
    [ -n "$module" ] || { say "no pando-mpi: this build has no MPI"; return 0; }
    make_deb pando-mpi science mpi "Depends: $(shared_libraries "$module")
Recommends: openmpi-bin
Enhances: pando, libpando$series
Breaks: pando (<< $version), libpando$series (<< $version)" \
        "neural networks on virtual IPUs (workers on several machines)"
}

# The extension is for one version of Python.
make_python_deb() {
    local extension python
    extension=$(find "$build/python/pando" -maxdepth 1 -name '_core.*.so' 2>/dev/null | head -n 1)
    [ -n "$extension" ] || { say "no python3-pando: this build has no Python module"; return 0; }
    python=$(sed -E 's/.*cpython-3([0-9]+).*/\1/' <<<"${extension##*/}")
    make_deb python3-pando python python "Depends: $(shared_libraries "$extension"), python3 (>= 3.$python), python3 (<< 3.$((python + 1))), python3-numpy
Recommends: ca-certificates, python3-torch (>= 1.13), python3-torchvision
Suggests: python3-tqdm, python3-matplotlib" \
        "neural networks on virtual IPUs (Python module)"
}

make_debs() {
    local tree
    tree=$(echo "$work/pando-$version-"*)
    maintainer=$(maintainer)
    # One for each release of the distribution: they differ in what they depend on.
    debian_version=$version-1~$(. /etc/os-release && echo "$ID${VERSION_ID:-}")
    make_deb "libpando$series" libs library "Depends: $(shared_libraries "$tree"/lib*/libpando.so."$version")" \
        "neural networks on virtual IPUs (shared library)"
    make_deb libpando-dev libdevel development "Depends: libpando$series (= $debian_version)
Recommends: libcairo2-dev, libcurl4-openssl-dev, libfmt-dev, libjpeg62-turbo-dev, zlib1g-dev" \
        "neural networks on virtual IPUs (development files)"
    make_deb pando science command "Depends: $(shared_libraries "$tree/bin/pando")
Recommends: ca-certificates" \
        "neural networks on virtual IPUs (command)"
    make_mpi_deb "$tree"
    make_python_deb
}

make_archive
if command -v dpkg-shlibdeps >/dev/null; then
    make_debs
else
    say "no .deb files: dpkg-shlibdeps is missing (Debian: dpkg-dev)"
fi
ls "$out"
echo "The command in the archive needs these libraries: $needed"
