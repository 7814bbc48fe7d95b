#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Install those of the named Debian packages that are missing:
#
#   scripts/install.sh [--optional] PACKAGE...
#
# Needs root or sudo only if something is missing. With --optional a package that cannot be installed is not an error.
# On a system without dpkg nothing is installed: the packages are named, and what needs them will say so.
#
# Exit codes: 0  everything is there, or --optional
#             1  something is missing and could not be installed
#             2  wrong usage
set -euo pipefail

say() { echo "install: $*" >&2; }

failure=1
if [ "${1:-}" = --optional ]; then failure=0; shift; fi
case "${1:-}" in
    "" | -*) echo "usage: scripts/install.sh [--optional] PACKAGE..." >&2; exit 2 ;;
esac

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    say "this is not Debian: nothing is installed; the needed packages, by their Debian names: $*"
    exit 0
fi

missing=()
for package; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
done
[ "${#missing[@]}" -gt 0 ] || exit 0

as=()
if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null; then
        say "missing: ${missing[*]}; as root run: apt-get install ${missing[*]}"
        exit "$failure"
    fi
    as=(sudo)
fi

say "installing ${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
get=("${as[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq)
install() { "${get[@]}" install -y --no-install-recommends "${missing[@]}" </dev/null; }
# The lists of packages are fetched only if those that are here do not do.
if ! install >"$log" 2>&1 && ! { "${get[@]}" update && install; } >"$log" 2>&1; then
    say "could not install ${missing[*]}: $(tail -n 1 "$log")"
    exit "$failure"
fi
