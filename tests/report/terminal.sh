# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# For scripts to source: run a command in a terminal of a known size and compare what it shows with golden files.
#
#   terminal_start COLUMNS COMMAND...    begins; the terminal has 24 rows and remembers what scrolls away
#   terminal_resize COLUMNS              as if the user dragged the window's border
#   terminal_expect NAME                 waits until everything shown so far is golden/NAME.txt; fails after a while
#   terminal_wait                        until the command has ended; returns its exit status
#   terminal_end                         closes the terminal
#   terminal_gate                        makes a pipe, $gate, from which the command reads a line before each of its steps
#   next                                 lets it take a step
#   compare_with_golden NAME             compares standard input with golden/NAME.txt
#
# UPDATE_GOLDEN=1 writes the golden files instead; look at the difference before committing it.
# TERMINAL_FILTER, a sed -E script, replaces what differs from run to run, such as times. TERMINAL_CAPTURE=-J joins the
# rows of a line that was longer than the terminal.
# Without tmux the script that sources this ends with status 77, which ctest takes for "skipped".

# Without them a terminal shows Unicode and colours.
export LC_ALL=C.UTF-8
unset NO_COLOR PANDO_LOOK

golden_folder=${GOLDEN_FOLDER:-$(dirname "${BASH_SOURCE[0]}")/golden}
command -v tmux >/dev/null || { echo "skipped: tmux is not installed"; exit 77; }

terminal_folder=$(mktemp -d)
# Each terminal has its own server, because a server that is about to end refuses the next terminal.
terminal_number=0
terminal_tmux() { env -u TMUX TMUX_TMPDIR="$terminal_folder" tmux -L "$terminal_number" -f /dev/null "$@"; }
terminal_end() { terminal_tmux kill-server 2>/dev/null || true; }
trap 'terminal_end; rm -rf "$terminal_folder"' EXIT

terminal_start() {
    local columns=$1
    shift
    terminal_number=$((terminal_number + 1))
    rm -f "$terminal_folder/status"
    # The terminal stays open after the command, so that its last lines can be read.
    local line
    line="$(printf '%q ' "$@"); echo \$? >$terminal_folder/status.part"
    line+="; mv $terminal_folder/status.part $terminal_folder/status; exec sleep 600"
    terminal_tmux new-session -d -x "$columns" -y 24 "bash -c $(printf '%q' "$line")"
    terminal_tmux set-option -g status off \; resize-window -x "$columns" -y 24
}

terminal_resize() {
    local device
    device=$(terminal_tmux display-message -p '#{pane_tty}')
    terminal_tmux resize-window -x "$1" -y 24
    # The program learns of it a moment later.
    for _ in {1..100}; do
        [ "$(stty -F "$device" size)" != "24 $1" ] || return 0
        sleep 0.1
    done
    echo "the terminal keeps its size"
    return 1
}

# Everything from the first line on, without the empty rows below the last.
terminal_text() {
    local text
    # shellcheck disable=SC2086  # none or several words
    text=$(terminal_tmux capture-pane -p -S - ${TERMINAL_CAPTURE:-})
    printf '%s\n' "$text" | sed -E "${TERMINAL_FILTER:-}"
}

compare_with_golden() {
    local golden=$golden_folder/$1.txt
    if [ -n "${UPDATE_GOLDEN:-}" ]; then
        cat >"$golden"
    elif ! diff -u --label "$1.txt" --label "what was shown" "$golden" -; then
        echo "$1: not as expected"
        return 1
    fi
}

terminal_expect() {
    local golden=$golden_folder/$1.txt
    # What is written takes a moment to be shown.
    if [ -n "${UPDATE_GOLDEN:-}" ]; then
        sleep 1
    else
        for _ in {1..100}; do
            ! terminal_text | cmp -s - "$golden" || return 0
            sleep 0.1
        done
    fi
    terminal_text | compare_with_golden "$1"
}

terminal_wait() {
    for _ in {1..6000}; do
        [ ! -f "$terminal_folder/status" ] || return "$(cat "$terminal_folder/status")"
        sleep 0.1
    done
    echo "the command does not end"
    return 1
}

terminal_gate() {
    gate=$terminal_folder/gate
    mkfifo "$gate"
    # Open at both ends, so that neither end waits for the other.
    exec 3<>"$gate"
}
next() { echo >&3; }
