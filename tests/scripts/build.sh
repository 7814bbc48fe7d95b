#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A build shows a few lines in a file, one line in a terminal, and every warning and error; it ends with the build's status:
#   build.sh PROJECT
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/scripts" "$work/programs"
cp "$1/scripts/build.sh" "$work/scripts"
# Nothing is installed, and what CMake prints is that of a build of 40 steps with a warning, which fails at the end.
printf '#!/bin/sh\n' >"$work/scripts/install.sh"
cat >"$work/programs/cmake" <<'END'
#!/usr/bin/env bash
[ "$1" = --build ] || exit 0
for step in {1..40}; do echo "[$step/40] Building CXX object src/CMakeFiles/pando_objects.dir/Unity/unity_${step}_cxx.cxx.o"; done
echo "array.cpp:10:3: warning: unused variable 'x'"
echo "[40/40] Linking CXX executable pando"
echo "FAILED: pando"
exit 1
END
chmod +x "$work/scripts/install.sh" "$work/programs/cmake"
export PATH=$work/programs:$PATH TERM=xterm

check() { # check WHAT GOT EXPECTED
    [ "$2" = "$3" ] || { printf '%s:\n%s\nshould be:\n%s\n' "$1" "$2" "$3"; exit 1; }
}

status=0
"$work/scripts/build.sh" pando_cli >"$work/out" 2>&1 || status=$?
check "the exit status" "$status" 1
check "the lines in a file" "$(sed 's/[0-9]* s$/T s/' "$work/out")" "Building Pando: step 1 of 40, T s
Building Pando: step 10 of 40, T s
Building Pando: step 20 of 40, T s
Building Pando: step 30 of 40, T s
Building Pando: step 40 of 40, T s
array.cpp:10:3: warning: unused variable 'x'
FAILED: pando"

command -v script >/dev/null || exit 0
script --quiet --return --command "$work/scripts/build.sh pando_cli" "$work/typescript" >/dev/null </dev/null || status=$?
# What is left on the screen of each line, after all that was drawn over.
check "the lines in a terminal" "$(sed '/^Script/d; s/\r$//; s/.*\r\x1b\[K//; s/[0-9]* s$/T s/' "$work/typescript")" \
"array.cpp:10:3: warning: unused variable 'x'
FAILED: pando
Building Pando: step 40 of 40, T s"
