#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What nested tqdm bars look like on real terminals, in the middle of each epoch, at its end and after the program:
#
#   tests/report/tqdm_transcripts.sh PATH_OF_DRAW_TQDM
set -euo pipefail
(($# == 1)) || { echo "usage: tqdm_transcripts.sh PATH_OF_DRAW_TQDM" >&2; exit 2; }
program=$1

# shellcheck source=tests/report/terminal.sh
source "$(dirname "${BASH_SOURCE[0]}")/terminal.sh"

terminal_gate

# Some lines stand above the bars, as in any terminal that was used before.
# shellcheck disable=SC2016  # it is the inner shell that expands
start() { terminal_start "$1" bash -c 'seq -f "line %g above" 4; "$0" "$@"; echo done' "$program" "$gate"; }

for columns in 80 40; do
    start "$columns"
    for epoch in 1 2 3; do
        terminal_expect "tqdm_${columns}_epoch_$epoch"
        next
    done
    terminal_expect "tqdm_${columns}_epochs"
    next
    terminal_wait
    terminal_expect "tqdm_${columns}_end"
    terminal_end
done

start 80
terminal_expect tqdm_80_epoch_1
terminal_resize 50
next
terminal_expect tqdm_narrowed_epoch_2
for _ in 1 2 3; do next; done
terminal_wait
terminal_expect tqdm_narrowed_end

echo "tqdm: as expected on every terminal"
