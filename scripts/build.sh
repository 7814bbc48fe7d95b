#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Build Pando for use in build/release, without its tests:
#
#   scripts/build.sh [TARGET...]     e.g. pando_cli, the command; everything by default
#
# Installs the missing Debian packages (as root or with sudo). A terminal shows one line of progress, a file or pipe a few
# lines; warnings and errors are shown in full. A folder that is configured already keeps its options.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case "${1:-}" in
    -*) echo "usage: scripts/build.sh [TARGET...]" >&2; exit 2 ;;
esac

scripts/install.sh g++ cmake ninja-build libfmt-dev
# zlib reads gzipped data sets and PNG images, libjpeg JPEG images; libcurl downloads data sets, certificates say from whom;
# cairo draws PNG files.
scripts/install.sh --optional zlib1g-dev libjpeg62-turbo-dev libcurl4-openssl-dev ca-certificates libcairo2-dev

terminal=
[ ! -t 2 ] || [ "${TERM:-dumb}" = dumb ] || terminal=1

# show_progress: draws one line out of those of Ninja, "[STEP/STEPS] ...", and passes the others on
show_progress() {
    local line part="" status step=0 steps=0 quarter=-1 clear=""
    [ -z "$terminal" ] || clear=$'\r\e[K'
    while true; do
        status=0
        IFS= read -r -t 1 line || status=$?
        # After a second without a whole line, what has come of it is kept.
        if ((status > 128)); then
            part+=$line
        elif ((status > 0)) && [ -z "$part$line" ]; then
            break
        else
            line=$part$line part=""
            if [[ $line =~ ^\[([0-9]+)/([0-9]+)\]\  ]]; then
                step=${BASH_REMATCH[1]} steps=${BASH_REMATCH[2]}
            elif [[ $line != "ninja: no work to do." ]]; then
                printf '%s%s\n' "$clear" "$line"
            fi
        fi
        ((steps > 0)) || continue
        if [ -n "$terminal" ]; then
            printf '%sBuilding Pando: step %d of %d, %d s' "$clear" "$step" "$steps" "$SECONDS"
        elif ((4 * step / steps > quarter)); then
            quarter=$((4 * step / steps))
            printf 'Building Pando: step %d of %d, %d s\n' "$step" "$steps" "$SECONDS"
        fi
    done
    [ -z "$terminal" ] || ((steps == 0)) || printf '\n'
}

build=build/release
if [ ! -f "$build/build.ninja" ]; then
    # Kernels for the GPUs that are here, if there are any: those for all kinds would take minutes.
    cuda=(-DPANDO_WITH_CUDA=OFF)
    [ ! -e /dev/nvidia0 ] || cuda=(-DPANDO_WITH_CUDA=AUTO -DCMAKE_CUDA_ARCHITECTURES=native)
    cmake --preset release -DPANDO_BUILD_TESTS=OFF -DPANDO_BUILD_EXAMPLES=OFF -DPANDO_BUILD_BENCHMARKS=OFF "${cuda[@]}" >/dev/null
fi
SECONDS=0
cmake --build "$build" --target "${@:-all}" -j "$(nproc)" 2>&1 | show_progress >&2
