#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks that code compiled for one instruction set cannot be called on a machine without it: the objects of the routines
# must define no weak symbol, because the linker keeps one of several equal ones, from whichever object it likes. Checks
# also that the shared library exports names of namespace pando only, and that no table of addresses stays writable.
#
#   tools/check_symbols.sh BUILD_FOLDER
set -euo pipefail
status=0
while IFS= read -r object; do
  weak=$(nm -C --defined-only "$object" | awk '$2 ~ /^[WVu]$/' | grep -vE "pando::.*(portable|neon|avx2|avx512|avx512bf16|amx)::" || true)
  [ -z "$weak" ] || { printf '%s defines\n%s\n' "$object" "$weak"; status=1; }
done < <(find "$1/src/backends/cpu" -path '*pando_cpu_*' -name '*.o')
library=$1/src/libpando.so
[ -f "$library" ] || { echo "$library is not there"; exit 1; }
foreign=$(nm -D --defined-only "$library" | awk '{print $3}' | grep -vE '^_Z(TV|TI|TS|TT|GV|Th[n0-9]+_|Tv[n0-9_]+_)?Z?N(K|O|R|KO|KR)?5pando' || true)
[ -z "$foreign" ] || { printf '%s exports\n%s\n' "$library" "$foreign"; status=1; }
for file in "$library" "$1/cli/pando"; do
  [ ! -f "$file" ] || { readelf -dW "$file" | grep -q 'BIND_NOW\|FLAGS.*NOW' && readelf -lW "$file" | grep -q GNU_RELRO; } ||
    { echo "$file has writable tables of addresses: link it with -z relro -z now"; status=1; }
done
[ "$status" = 0 ] && echo "symbols: no instruction set leaks into another, and only names of pando are exported"
exit "$status"
