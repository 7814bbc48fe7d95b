#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Run a program in a terminal and compare all that it showed with a golden file:
#
#   tests/report/transcript.sh NAME COLUMNS COMMAND...     golden/NAME.txt, see terminal.sh for the environment
#   tests/report/transcript.sh NAME piped COMMAND...       its standard output is not a terminal
#
# Exit status 0 only if the command ended with 0 and showed what it should; 77 if there is no tmux.
set -euo pipefail
(($# >= 3)) || { echo "usage: transcript.sh NAME COLUMNS|piped COMMAND..." >&2; exit 2; }
name=$1 columns=$2
shift 2

# shellcheck source=tests/report/terminal.sh
source "$(dirname "${BASH_SOURCE[0]}")/terminal.sh"

if [ "$columns" = piped ]; then
    "$@" >"$terminal_folder/output"
    if grep -q $'\r' "$terminal_folder/output"; then
        echo "$name: there is a carriage return in output that is not for a terminal"
        exit 1
    fi
    sed -E "${TERMINAL_FILTER:-}" "$terminal_folder/output" | compare_with_golden "$name"
else
    terminal_start "$columns" "$@"
    terminal_wait
    terminal_expect "$name"
fi
echo "$name: as expected"
