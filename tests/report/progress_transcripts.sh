#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What the progress bar looks like on real terminals, in the middle of an epoch and at its end:
#
#   tests/report/progress_transcripts.sh PATH_OF_DRAW_PROGRESS
set -euo pipefail
(($# == 1)) || { echo "usage: progress_transcripts.sh PATH_OF_DRAW_PROGRESS" >&2; exit 2; }
program=$1

# shellcheck source=tests/report/terminal.sh
source "$(dirname "${BASH_SOURCE[0]}")/terminal.sh"

terminal_gate

# start COLUMNS [VARIABLE=VALUE...]: some lines stand above the bar, as in any terminal that was used before.
# shellcheck disable=SC2016  # it is the inner shell that expands
start() { terminal_start "$1" env "${@:2}" bash -c 'seq -f "line %g above" 4; exec "$0" "$@"' "$program" bar "$gate"; }

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
# looks NAME [VARIABLE=VALUE]: with colours, which are shown as what switches them on; tmux has several ways to switch
# them off.
looks() {
    TERMINAL_CAPTURE=-e
    TERMINAL_FILTER='s/\x1b\[(0|39|49|39;49)m//g'
    start 80 "${@:2}"
    next
    next
    terminal_expect "progress_$1_middle"
    finish "progress_$1_end"
    TERMINAL_CAPTURE=
    TERMINAL_FILTER=
}
looks colors
looks no_color NO_COLOR=1
looks keras_2 PANDO_LOOK=keras2
looks ascii LC_ALL=C

resized narrowed 80 36
resized widened 40 80

echo "progress bar: as expected on every terminal"
