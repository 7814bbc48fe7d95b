#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Install Pando from a build folder into a temporary prefix and use it as a stranger would:
#
#   scripts/test_package.sh BUILD_FOLDER
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT
cmake --install "$1" --prefix "$prefix" >/dev/null

cmake -S tests/package -B "$prefix/test" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" >/dev/null
cmake --build "$prefix/test" >/dev/null
"$prefix/test/use_shared"
"$prefix/test/use_static"
# A program that uses the shared library needs none of the packages that the library was built with.
cmake -S tests/package -B "$prefix/shared_only" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_DISABLE_FIND_PACKAGE_fmt=ON |
    grep -x -- '-- pando: pando::pando is there; pando::pando_static needs fmt'
cmake --build "$prefix/shared_only" >/dev/null
"$prefix/shared_only/use_shared"

# The program runs from anywhere; its manual page and completions are those that it writes.
(cd / && "$prefix/bin/pando" train mlp --dataset synthetic_digits --samples 100 --epochs 1 --quiet --save "$prefix/model")
texts=0
while read -r file options; do
    # shellcheck disable=SC2086  # the options are several words
    "$prefix/bin/pando" $options | cmp - "$prefix/share/$file"
    texts=$((texts + 1))
done <<'END'
man/man1/pando.1 --man
bash-completion/completions/pando --completions bash
zsh/site-functions/_pando --completions zsh
fish/vendor_completions.d/pando.fish --completions fish
END
[ "$texts" -eq 4 ]

# The whole programs of README and docs compile.
for page in README.md docs/styles.md; do
    awk -v name="$prefix/$(basename "$page" .md)" '
        /^```cpp/ {inside = 1; text = ""; next}
        /^```/ {if (inside && text ~ /int main\(/) printf "%s", text > (name "_" ++count ".cpp"); inside = 0}
        inside {text = text $0 "\n"}' "$page"
done
for program in "$prefix"/README_*.cpp "$prefix"/styles_*.cpp; do
    g++ -std=c++20 -fsyntax-only -Wall -Wextra -Werror -I"$prefix/include" "$program"
done

# The headers give no warnings in a project that asks for many.
for compiler in g++ clang++; do
    "$compiler" -std=c++20 -fsyntax-only -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast \
        -Wnon-virtual-dtor -Woverloaded-virtual -Werror -I"$prefix/include" tests/package/use_pando.cpp
done

pc=$(find "$prefix" -name pando.pc -printf '%h')
flags=$(PKG_CONFIG_PATH=$pc pkg-config --cflags --libs pando)
# shellcheck disable=SC2086  # the flags are several words
g++ -std=c++20 tests/package/use_pando.cpp $flags -o "$prefix/with_pkg_config"
library=$(find "$prefix" -name 'libpando.so' -printf '%h')
LD_LIBRARY_PATH=$library "$prefix/with_pkg_config"

[ "pando $(PKG_CONFIG_PATH=$pc pkg-config --modversion pando)" = "$("$prefix/bin/pando" --version)" ]

soname=$(objdump -p "$library/libpando.so" | awk '$1 == "SONAME" {print $2}')
[[ $soname =~ ^libpando\.so\.[0-9]+\.[0-9]+$ ]] || { echo "the SONAME is '$soname'"; exit 1; }
foreign=$(nm -DC --defined-only "$library/libpando.so" | awk '$2 == "T"' | grep -v ' pando::' || true)
[ -z "$foreign" ] || { echo "exported outside pando::"; echo "$foreign"; exit 1; }

# What is installed can be removed, down to the last folder.
cmake --install "$1" --prefix "$prefix/removed" >/dev/null
cmake --build "$1" --target uninstall >/dev/null
[ -z "$(find "$prefix/removed" -mindepth 1)" ] || { echo "uninstall left:"; find "$prefix/removed" -mindepth 1; exit 1; }

lines=$(echo '#include <pando/pando.h>' | g++ -std=c++20 -I"$prefix/include" -x c++ -E -P - | wc -l)
[ "$lines" -lt 60000 ] || { echo "pando.h is $lines lines preprocessed"; exit 1; }
echo "package: $soname, pando.h is $lines lines preprocessed"
