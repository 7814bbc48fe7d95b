#!/usr/bin/env bash
# Checks that code compiled for one instruction set cannot be called on a machine without it: the objects of the routines
# must define no weak symbol, because the linker keeps one of several equal ones, from whichever object it likes.
#
#   tools/check_symbols.sh BUILD_FOLDER
set -euo pipefail
status=0
while IFS= read -r object; do
  weak=$(nm -C --defined-only "$object" | awk '$2 ~ /^[WVu]$/' | grep -vE "pando::.*(portable|neon|avx2|avx512|avx512bf16|amx)::" || true)
  [ -z "$weak" ] || { printf '%s defines\n%s\n' "$object" "$weak"; status=1; }
done < <(find "$1/src/backends/cpu" -path '*pando_cpu_*' -name '*.o')
[ "$status" = 0 ] && echo "symbols: no instruction set leaks into another"
exit "$status"
