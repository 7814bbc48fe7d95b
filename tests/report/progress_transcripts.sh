#!/usr/bin/env bash
# What the progress bar looks like on real terminals, in the middle of an epoch and at its end:
#
#   tests/report/progress_transcripts.sh PATH_OF_DRAW_PROGRESS
set -euo pipefail
(($# == 1)) || { echo "usage: progress_transcripts.sh PATH_OF_DRAW_PROGRESS" >&2; exit 2; }
program=$1

# shellcheck source=tests/report/terminal.sh
source "$(dirname "${BASH_SOURCE[0]}")/terminal.sh"

terminal_gate

# Some lines stand above the bar, as in any terminal that was used before.
# shellcheck disable=SC2016  # it is the inner shell that expands
start() { terminal_start "$1" bash -c 'seq -f "line %g above" 4; exec "$0" "$@"' "$program" bar "$gate"; }

# finish NAME: from the middle to the end.
finish() {
    next
    next
    terminal_wait
    terminal_expect "$1"
    terminal_end
}

for columns in 80 40; do
    start "$columns"
    next
    next
    terminal_expect "progress_${columns}_middle"
    finish "progress_${columns}_end"
done

# resized NAME FROM TO: the window changes between the first two updates.
resized() {
    start "$2"
    next
    terminal_expect "progress_$1_before"
    terminal_resize "$3"
    next
    terminal_expect "progress_$1_middle"
    finish "progress_$1_end"
}
resized narrowed 80 36
resized widened 40 80

echo "progress bar: as expected on every terminal"
