#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One core gives the bits of all cores, and no run fails: one_core.sh PROGRAM
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
first=$(taskset -pc $$ | sed 's/.*: //; s/[,-].*//')
"$1" >"$folder/all"
taskset -c "$first" "$1" >"$folder/one"
if grep ERROR "$folder/all"; then exit 1; fi
[ "$(wc -l <"$folder/all")" -gt 100 ]
diff "$folder/all" "$folder/one"
